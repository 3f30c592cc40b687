"""What is stored: datasets and their versions, runs, results and scores, schedules, workers, messages, access."""

from benchmarks.models.access import ApiToken, AuditEntry, IdempotencyKey
from benchmarks.models.calibrations import JudgeCalibration, JudgeVerdict
from benchmarks.models.datasets import Dataset, DatasetFile, DatasetVersion, Task
from benchmarks.models.results import CachedReply, Outcome, Result, ResultState, Score, Transcript
from benchmarks.models.runs import LIVE, TERMINAL, Run, RunStatus, Shift
from benchmarks.models.schedules import Schedule, ScheduledRun, ScoreNotice
from benchmarks.models.webhooks import WebhookDelivery
from benchmarks.models.workers import Worker

__all__ = [
    "LIVE",
    "TERMINAL",
    "ApiToken",
    "AuditEntry",
    "CachedReply",
    "Dataset",
    "DatasetFile",
    "DatasetVersion",
    "IdempotencyKey",
    "JudgeCalibration",
    "JudgeVerdict",
    "Outcome",
    "Result",
    "ResultState",
    "Run",
    "RunStatus",
    "Schedule",
    "ScheduledRun",
    "Score",
    "ScoreNotice",
    "Shift",
    "Task",
    "Transcript",
    "WebhookDelivery",
    "Worker",
]
