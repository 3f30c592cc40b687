"""The Django project: wiring only. Importing it makes the Celery app the default one for ``shared_task``."""

from codeforge.celery import app as celery_app

__all__ = ["celery_app"]
