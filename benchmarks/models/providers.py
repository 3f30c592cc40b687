"""What is known of providers beyond the configuration: the latest check and tests, and keys entered on the page."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class ProviderCheck(models.Model):
    """The latest look at an endpoint, which costs no tokens: whether it responds, and which models it lists."""

    provider = models.CharField(max_length=100, unique=True)
    address = models.TextField(blank=True, help_text="A check of another address than the configured one is void")
    checked_at = models.DateTimeField()
    error_kind = models.CharField(max_length=20, blank=True, help_text="Empty if the endpoint listed its models")
    error = models.TextField(blank=True)
    listed = models.JSONField(default=list, help_text="Name and context length of each model, from the last good list")
    listed_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"check of {self.provider}"


class ModelTest(models.Model):
    """The latest test of a model: a tiny request, and what the model supports."""

    model = models.CharField(max_length=300, unique=True, help_text="provider/model")
    provider = models.CharField(max_length=100, db_index=True)
    address = models.TextField(blank=True)
    tested_at = models.DateTimeField()
    duration_ms = models.FloatField(null=True, blank=True)
    error_kind = models.CharField(max_length=20, blank=True, help_text="Empty if the model answered")
    error = models.TextField(blank=True)
    capabilities = models.JSONField(default=dict, help_text="Name → support (yes, ignored, refused, unknown), message")

    def __str__(self) -> str:
        return f"test of {self.model}"


class ProviderKey(models.Model):
    """An API key entered on the page. Only its encrypted form is stored, see ``engine/provider_keys.py``."""

    provider = models.CharField(max_length=100, unique=True)
    sealed = models.TextField()
    set_at = models.DateTimeField(auto_now=True)
    set_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    def __str__(self) -> str:
        return f"key of {self.provider}"
