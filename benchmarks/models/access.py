"""API tokens, the audit log, share links, saved views, and requests that must not be executed twice."""

from __future__ import annotations

from urllib.parse import parse_qsl

from django.conf import settings
from django.db import models
from django.utils import timezone


class ApiToken(models.Model):
    """A named API key of one account. Only its digest is stored; the text is shown once, when it is created."""

    class Scope(models.TextChoices):
        READ = "read"
        LABEL = "label"
        LAUNCH = "launch"
        EDIT = "edit"

    account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    scopes = models.JSONField(help_text="Permissions of the account that the token has: read, label, launch, edit")
    beginning = models.CharField(max_length=12, help_text="First characters, to identify the token")
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
    """One action of one account. Entries are only added, and outlive the account and the subject."""

    at = models.DateTimeField(auto_now_add=True, db_index=True)
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    account_name = models.CharField(max_length=150, blank=True, help_text="Empty if nobody was logged in")
    token_name = models.CharField(max_length=100, blank=True)
    action = models.CharField(max_length=40, help_text="For example, run.cancel")
    subject = models.CharField(max_length=200, help_text="For example, run 12")
    detail = models.JSONField(default=dict, blank=True)
    request_id = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ("-id",)
        verbose_name_plural = "audit entries"
        indexes = (models.Index(fields=("subject", "id"), name="audit_of_a_subject"),)

    def __str__(self) -> str:
        return f"{self.action} of {self.subject}"


class ShareLink(models.Model):
    """A page that a signed link shows to people without an account, until it expires or is revoked."""

    class Kind(models.TextChoices):
        RUN = "run"
        EXPERIMENT = "experiment"
        COMPARISON = "comparison"
        LEADERBOARD = "leaderboard"
        OVERALL = "overall", "Leaderboard over several datasets"

    kind = models.CharField(max_length=20, choices=Kind.choices)
    query = models.TextField(help_text="What it shows, as in an address: run=12")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        asked = self.asked
        if self.kind == self.Kind.COMPARISON:
            return f"comparison of runs {asked['runs'].replace(',', ', ')}"
        if self.kind == self.Kind.LEADERBOARD:
            return f"leaderboard of {asked['dataset']}"
        if self.kind == self.Kind.OVERALL:
            return f"leaderboard over {asked['datasets'].replace(',', ', ')}"
        return f"{self.kind} {asked[self.kind]}"

    @classmethod
    def valid(cls) -> models.QuerySet[ShareLink]:
        return cls.objects.filter(revoked_at=None, expires_at__gt=timezone.now())

    @property
    def asked(self) -> dict[str, str]:
        """``query`` by name."""
        return dict(parse_qsl(self.query))


class SavedView(models.Model):
    """A filtered list of runs and experiments under a name, for the account that saved it. Without an account, as in
    development mode, it is for everybody who has none."""

    class Tab(models.TextChoices):
        ALL = "runs"
        EXPERIMENTS = "experiments"
        RUNS = "single-runs"
        IMPORTED = "imported-runs"
        SCHEDULED = "scheduled-runs"

    name = models.CharField(max_length=60)
    tab = models.CharField(max_length=20, choices=Tab.choices, default=Tab.ALL)
    query = models.TextField(help_text="The filters, as in an address: status=failed&days=7")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name", "id")
        constraints = (
            models.UniqueConstraint(fields=("created_by", "name"), name="view_names_are_unique_per_account"),
            models.UniqueConstraint(
                fields=("name",), condition=models.Q(created_by=None), name="view_names_are_unique_without_account"
            ),
        )

    def __str__(self) -> str:
        return self.name


class IdempotencyKey(models.Model):
    """A request that started a run, so that the same request sent again does not start another one."""

    owner = models.CharField(max_length=20, blank=True, help_text="Id of the account; empty if nobody was logged in")
    key = models.CharField(max_length=200)
    fingerprint = models.CharField(max_length=64, help_text="SHA-256 of the request")
    run = models.ForeignKey("Run", on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("owner", "key"), name="one_answer_per_idempotency_key"),)

    def __str__(self) -> str:
        return self.key
