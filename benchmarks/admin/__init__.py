"""The admin: datasets and tasks edited as people would, runs and results looked at and acted on."""

from django.contrib import admin

from benchmarks.admin import access, canvas_sets, datasets, files, results, runs, schedules, tasks, versions, webhooks

__all__ = [
    "access",
    "canvas_sets",
    "datasets",
    "files",
    "results",
    "runs",
    "schedules",
    "tasks",
    "versions",
    "webhooks",
]

admin.site.site_header = "CodeForge Benchmarks"
admin.site.site_title = "CodeForge Benchmarks"
admin.site.index_title = "Administration"
admin.site.site_url = "/"
