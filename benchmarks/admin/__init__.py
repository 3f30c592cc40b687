"""The admin: edit datasets and tasks, import runs, and manage what has no page on the dashboard yet."""

from django.contrib import admin

from benchmarks.admin import access, canvas_sets, datasets, files, members, runs, schedules, tasks, webhooks

__all__ = ["access", "canvas_sets", "datasets", "files", "members", "runs", "schedules", "tasks", "webhooks"]

admin.site.site_header = "CodeForge Benchmarks"
admin.site.site_title = "CodeForge Benchmarks"
admin.site.index_title = "Administration"
admin.site.site_url = "/"
