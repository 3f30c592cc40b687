"""Worker processes and what they hold; checks and tests of providers; keys, addresses and prices entered on a page."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from benchmarks.models.runs import Run


class Worker(models.Model):
    """A running worker process, busy or idle. One whose ``heartbeat_at`` is old is gone."""

    name = models.CharField(max_length=300, primary_key=True, help_text="host:pid:token of the process")
    threads = models.PositiveSmallIntegerField(help_text="Jobs that run at the same time")
    started_at = models.DateTimeField()
    heartbeat_at = models.DateTimeField()

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class Lease(models.Model):
    """A worker's hold on a run, or on another subject that has one worker at a time. See ``engine/lease.py``."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    run = models.ForeignKey(Run, null=True, blank=True, on_delete=models.CASCADE, related_name="leases")
    subject = models.CharField(max_length=80, help_text="What is worked on: run 12, canvas set 3, retention")
    worker = models.CharField(max_length=300, help_text="host:pid:token of the process, the token made at its start")
    slots = models.PositiveSmallIntegerField(
        default=0, help_text="Requests this lease may have in flight; 0 while it prepares a run"
    )
    started_at = models.DateTimeField(auto_now_add=True)
    heartbeat_at = models.DateTimeField()
    waits_until = models.DateTimeField(null=True, help_text="Until when the endpoint of the run asked to wait")
    reservation = models.UUIDField(null=True, help_text="Key of its latest reservation of the run's budget")

    class Meta:
        constraints = (
            # A run is shared by several workers, anything else has one.
            models.UniqueConstraint(fields=("subject",), condition=Q(run__isnull=True), name="one_lease_per_subject"),
        )
        indexes = (models.Index(fields=("heartbeat_at",), name="leases_by_heartbeat"),)

    def __str__(self) -> str:
        return f"lease on {self.subject} by {self.worker}"


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


class ProviderAddress(models.Model):
    """The address of a provider, entered on the page. Counts only where codeforge.yaml leaves it open, see
    ``engine/addresses.py``."""

    provider = models.CharField(max_length=100, unique=True)
    base_url = models.TextField()
    set_at = models.DateTimeField(auto_now=True)
    set_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    def __str__(self) -> str:
        return f"address of {self.provider}"


class EnteredSystem(models.Model):
    """A system under test of the kind `http`, entered on the page; see ``engine/configured.py``. ``sealed`` is the
    encrypted JSON of its headers and of the secret part of its URL's query; the rest is readable."""

    name = models.CharField(max_length=60, unique=True)
    base_url = models.TextField()
    options = models.JSONField(help_text="As in codeforge.yaml: path, method, body, answer, …")
    sealed = models.TextField()
    set_at = models.DateTimeField(auto_now=True)
    set_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    def __str__(self) -> str:
        return f"system {self.name}"


class ModelPrice(models.Model):
    """The price of a model, entered on the page: US dollars per million tokens. What codeforge.yaml says wins, see
    ``engine/prices.py``."""

    model = models.CharField(max_length=300, unique=True, help_text="provider/model")
    input_per_million = models.FloatField()
    output_per_million = models.FloatField()
    cached_input_per_million = models.FloatField(null=True, blank=True, help_text="None: as other input")
    set_at = models.DateTimeField(auto_now=True)
    set_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    def __str__(self) -> str:
        return f"price of {self.model}"
