"""What is stored: datasets and their versions, runs, results and scores, schedules, workers, messages, access."""

from benchmarks.models.access import ApiToken, AuditEntry, IdempotencyKey, SavedView, ShareLink
from benchmarks.models.datasets import EXAMPLE_SET, HIDDEN_KINDS, Dataset, DatasetFile, DatasetVersion, Task
from benchmarks.models.experiments import Experiment
from benchmarks.models.gates import GateCheck, GateSeries
from benchmarks.models.imports import PushedResult, PushedRun
from benchmarks.models.operations import (
    EnteredSystem,
    Lease,
    ModelPrice,
    ModelTest,
    ProviderAddress,
    ProviderCheck,
    ProviderKey,
    Worker,
)
from benchmarks.models.results import (
    ERRORS,
    LOST,
    TO_DO,
    UNSCORED,
    WAITING,
    CachedResponse,
    Outcome,
    Result,
    ResultState,
    Score,
    Transcript,
)
from benchmarks.models.reviews import Flag, Label, ReviewItem, ReviewQueue
from benchmarks.models.run_parts import (
    ACTIVE,
    COMPLETED,
    FIRST_START,
    LIVE,
    NAMED_THERE,
    OF_BASELINES,
    OF_MODELS,
    STOPPED,
    TERMINAL,
    RunKind,
    RunStatus,
)
from benchmarks.models.runs import Run
from benchmarks.models.schedules import Schedule, ScheduledRun, ScoreDrop
from benchmarks.models.steps import StoredStep
from benchmarks.models.webhooks import Webhook, WebhookDelivery

__all__ = [
    "ACTIVE",
    "COMPLETED",
    "ERRORS",
    "EXAMPLE_SET",
    "FIRST_START",
    "HIDDEN_KINDS",
    "LIVE",
    "LOST",
    "NAMED_THERE",
    "OF_BASELINES",
    "OF_MODELS",
    "STOPPED",
    "TERMINAL",
    "TO_DO",
    "UNSCORED",
    "WAITING",
    "ApiToken",
    "AuditEntry",
    "CachedResponse",
    "Dataset",
    "DatasetFile",
    "DatasetVersion",
    "EnteredSystem",
    "Experiment",
    "Flag",
    "GateCheck",
    "GateSeries",
    "IdempotencyKey",
    "Label",
    "Lease",
    "ModelPrice",
    "ModelTest",
    "Outcome",
    "ProviderAddress",
    "ProviderCheck",
    "ProviderKey",
    "PushedResult",
    "PushedRun",
    "Result",
    "ResultState",
    "ReviewItem",
    "ReviewQueue",
    "Run",
    "RunKind",
    "RunStatus",
    "SavedView",
    "Schedule",
    "ScheduledRun",
    "Score",
    "ScoreDrop",
    "ShareLink",
    "StoredStep",
    "Task",
    "Transcript",
    "Webhook",
    "WebhookDelivery",
    "Worker",
]
