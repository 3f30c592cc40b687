"""The admin: datasets, tasks and members are edited here; other lists lead to the dashboard."""

from django.contrib import admin

from benchmarks.admin import access, canvas_sets, datasets, files, members, on_dashboard, tasks

__all__ = ["access", "canvas_sets", "datasets", "files", "members", "on_dashboard", "tasks"]

admin.site.site_header = "CodeForge Benchmarks"
admin.site.site_title = "CodeForge Benchmarks"
admin.site.index_title = "Administration"
admin.site.site_url = "/"
