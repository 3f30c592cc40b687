"""The form of a webhook."""

from __future__ import annotations

from typing import Any

from django import forms

from benchmarks.forms.datasets import ProblemForm
from benchmarks.models import Webhook
from benchmarks.presentation.labels import EVENT
from benchmarks.services.webhooks import add_webhook, change_webhook


class WebhookForm(ProblemForm):
    """A new webhook, or the events and the URL of ``webhook``. Its URL may be a secret, so it is not shown again."""

    name = forms.CharField(
        max_length=60,
        help_text="Lowercase letters, digits, - and _",
        widget=forms.TextInput({"autocomplete": "off", "spellcheck": "false"}),
    )
    url = forms.CharField(
        label="URL",
        max_length=2_000,
        help_text="Receives a signed POST request for each event",
        widget=forms.TextInput({"autocomplete": "off", "spellcheck": "false", "inputmode": "url"}),
    )
    events = forms.MultipleChoiceField(
        choices=[(event, f"{event}: {when}") for event, when in EVENT.items()],
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="None selected: all",
    )

    def __init__(self, data: Any = None, *, webhook: Webhook | None = None) -> None:
        super().__init__(data, initial={"events": webhook.events if webhook else []})
        self.webhook = webhook
        if webhook:
            del self.fields["name"]
            self.fields["url"].required = False
            self.fields["url"].help_text = "Empty: unchanged"

    def store(self, user: Any) -> Any:
        values = self.cleaned_data
        if self.webhook is None:
            return add_webhook(values["name"], values["url"], values["events"], user)
        return change_webhook(self.webhook, values["url"], values["events"], user)
