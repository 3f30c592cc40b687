"""What the previous release left behind, which the code and the database of this one have to live with for a while.

While an update is rolled out, web servers and workers of the previous release run on a database that is migrated
already. Migrations after these must therefore not disturb them; ``codeforge/tests/test_upgrade.py`` holds that.
"""

from __future__ import annotations

from collections.abc import Mapping

PREVIOUS_MIGRATIONS: Mapping[str, str] = {
    "benchmarks": "0006_adaptive_and_fresh_runs",
    "tasks_app": "0001_initial",
}
"""App → the last migration of the previous release. Nothing is released yet: it is the first state that was published.
To be moved on with each release, as CONTRIBUTING.md says."""
