"""Every task class there is. A new one is a line here; `README.md` says how to write it."""

from __future__ import annotations

from tasks_app.tasks.coordinate_task import CoordinateTask
from tasks_app.tasks.count_task import CountTask
from tasks_app.tasks.existence_task import ExistenceTask
from tasks_app.tasks.existence_tracking_task import ExistenceTrackingTask
from tasks_app.tasks.shuffle_tracking_task import ShuffleTrackingTask
from tasks_app.tasks.task import Task
from tasks_app.tasks.transitivity_task import TransitivityTask

REGISTERED_TASKS: dict[str, type[Task]] = {
    "existence": ExistenceTask,
    "count": CountTask,
    "transitivity": TransitivityTask,
    "coordinate": CoordinateTask,
    "existence_tracking": ExistenceTrackingTask,
    "shuffle_tracking": ShuffleTrackingTask,
}
