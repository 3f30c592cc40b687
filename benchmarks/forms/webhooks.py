"""The form of a webhook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms

from benchmarks.forms.datasets import ProblemForm
from benchmarks.forms.fields import described
from benchmarks.models import Webhook
from benchmarks.presentation.labels import EVENT, event_title
from benchmarks.services.webhooks import add_webhook, change_webhook


class WebhookForm(ProblemForm):
    """A new webhook, or the events and the URL of ``webhook``. Its URL may be a secret, so it is not shown again. All
    events are stored as none, which includes those of later versions."""

    name = forms.CharField(
        max_length=60,
        help_text="Lowercase letters, digits, - and _",
        widget=forms.TextInput({"autocomplete": "off", "spellcheck": "false", "placeholder": "team-chat"}),
    )
    url = forms.CharField(
        label="URL",
        max_length=2_000,
        help_text="Receives a signed POST request for each event",
        widget=forms.TextInput(
            {
                **{"autocomplete": "off", "spellcheck": "false", "inputmode": "url"},
                "placeholder": "https://hooks.example.com/codeforge",
            }
        ),
    )
    events = forms.MultipleChoiceField(
        choices=[described(event, when, event_title(event)) for event, when in EVENT.items()],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Select at least one event."},
    )

    def __init__(self, data: Any = None, *, webhook: Webhook | None = None, events: Sequence[str] = ()) -> None:
        super().__init__(data, initial={"events": (webhook and webhook.events) or events or [*EVENT]})
        self.webhook = webhook
        if webhook:
            del self.fields["name"]
            self.fields["url"].required = False
            self.fields["url"].help_text = "Empty: unchanged"

    def store(self, user: Any) -> Any:
        values = self.cleaned_data
        events = [] if len(values["events"]) == len(EVENT) else values["events"]
        if self.webhook is None:
            return add_webhook(values["name"], values["url"], events, user)
        return change_webhook(self.webhook, values["url"], events, user)
