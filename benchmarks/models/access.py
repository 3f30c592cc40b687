"""Who may come in by token, who did what, and which requests were answered before."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class ApiToken(models.Model):
    """A named key of one account for the API. Only its digest is kept; the text is shown once, when it is made."""

    class Scope(models.TextChoices):
        READ = "read"
        LAUNCH = "launch"
        EDIT = "edit"

    account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    scopes = models.JSONField(help_text="What it may do of what its account may do: read, launch, edit")
    beginning = models.CharField(max_length=12, help_text="The first characters, to know it by")
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the text")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, help_text="To the minute")

    class Meta:
        ordering = ("-id",)
        verbose_name = "API token"
        constraints = (models.UniqueConstraint(fields=("account", "name"), name="token_names_are_unique_per_account"),)

    def __str__(self) -> str:
        return f"{self.name} ({self.beginning}…)"


class AuditEntry(models.Model):
    """One thing that somebody did. Entries are only ever added; they outlive the account and the thing."""

    at = models.DateTimeField(auto_now_add=True, db_index=True)
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    account_name = models.CharField(max_length=150, blank=True, help_text="Empty where nobody was logged in")
    token_name = models.CharField(max_length=100, blank=True)
    action = models.CharField(max_length=40, help_text="Such as run.cancel")
    subject = models.CharField(max_length=200, help_text="Such as run 12")
    detail = models.JSONField(default=dict, blank=True)
    request_id = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ("-id",)
        verbose_name_plural = "audit entries"
        indexes = (models.Index(fields=("subject", "id"), name="audit_of_a_subject"),)

    def __str__(self) -> str:
        return f"{self.action} of {self.subject}"


class IdempotencyKey(models.Model):
    """A request to start a run that was answered, so that sending it again does not start another run."""

    owner = models.CharField(max_length=20, blank=True, help_text="Id of the account; empty where nobody was logged in")
    key = models.CharField(max_length=200)
    fingerprint = models.CharField(max_length=64, help_text="SHA-256 of what was asked for")
    run = models.ForeignKey("Run", on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("owner", "key"), name="one_answer_per_idempotency_key"),)

    def __str__(self) -> str:
        return self.key
