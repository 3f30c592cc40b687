"""What is stored: datasets and their versions, runs, results and scores, schedules, workers, messages, access."""

from benchmarks.models.access import ApiToken, AuditEntry, IdempotencyKey
from benchmarks.models.datasets import Dataset, DatasetFile, DatasetVersion, Task
from benchmarks.models.experiments import Experiment
from benchmarks.models.operations import Lease, Worker
from benchmarks.models.providers import ModelTest, ProviderCheck, ProviderKey
from benchmarks.models.results import ERRORS, UNSCORED, CachedResponse, Outcome, Result, ResultState, Score, Transcript
from benchmarks.models.runs import ACTIVE, COMPLETED, LIVE, TERMINAL, Run, RunStatus
from benchmarks.models.schedules import Schedule, ScheduledRun, ScoreDrop
from benchmarks.models.webhooks import WebhookDelivery

__all__ = [
    "ACTIVE",
    "COMPLETED",
    "ERRORS",
    "LIVE",
    "TERMINAL",
    "UNSCORED",
    "ApiToken",
    "AuditEntry",
    "CachedResponse",
    "Dataset",
    "DatasetFile",
    "DatasetVersion",
    "Experiment",
    "IdempotencyKey",
    "Lease",
    "ModelTest",
    "Outcome",
    "ProviderCheck",
    "ProviderKey",
    "Result",
    "ResultState",
    "Run",
    "RunStatus",
    "Schedule",
    "ScheduledRun",
    "Score",
    "ScoreDrop",
    "Task",
    "Transcript",
    "WebhookDelivery",
    "Worker",
]
