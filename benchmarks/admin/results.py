"""Results, to be looked at. The list reads indexed columns of one run; texts and scores are on a result's own page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from benchmarks.admin.base import ChoicesFilter, ReadOnlyAdmin, folded, link, shown_json, visible, whole
from benchmarks.models import Result, Run, Score, Task, Transcript


class RunFilter(admin.SimpleListFilter):
    """Results of one run, named by the address."""

    title = "run"
    parameter_name = "run"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        number = whole(request.GET.get("run"))
        return [] if number is None else [(str(number), f"run {number}")]

    def has_output(self) -> bool:
        return bool(self.lookup_choices)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        number = whole(self.value())
        return queryset if number is None else queryset.filter(run=number)


class DifficultyFilter(ChoicesFilter):
    title = "difficulty"
    parameter_name = "difficulty"
    options = Task.Difficulty.choices
    path = "difficulty"


@admin.register(Result)
class ResultAdmin(ReadOnlyAdmin):
    list_display = ("title", "run_number", "task_name", "repeat", "ended", "value", "error_kind", "finished_at")
    list_select_related = ("run", "task")
    search_fields = ("task__task_id",)
    search_help_text = "A task's exact id, once a run is chosen; otherwise a result's number"
    actions = None
    shown = (
        *("run__model", "task__task_id", "task__name", "repeat", "position", "state", "outcome", "value"),
        *("error_kind", "finished_at"),
    )
    in_a_run: ClassVar[tuple[Any, ...]] = ("outcome", DifficultyFilter)
    """Filters whose index begins with the run, so they are offered within one."""
    fieldsets = (
        (None, {"fields": ("title", "run_link", "task_link", "repeat", "state", "outcome", "value", "scores_table")}),
        ("Answer", {"fields": ("actual_text", "expected_text", "tool_calls_json", "reasoning_text")}),
        ("Error", {"fields": ("error_kind", "error_text", "attempts_json")}),
        ("Sent", {"fields": ("messages_text", "prompt_hash")}),
        (
            "Measured",
            {
                "fields": (
                    *("duration_ms", "tokens_in", "tokens_out", "cost_usd", "judge_cost_usd", "cached", "attempts"),
                    *("finish_text", "finished_at", "difficulty", "group", "n_shapes", "cluster"),
                )
            },
        ),
    )
    readonly_fields = (
        *("title", "run_link", "task_link", "scores_table", "actual_text", "expected_text", "tool_calls_json"),
        *("reasoning_text", "error_text", "attempts_json", "messages_text", "prompt_hash", "finish_text"),
    )

    change_form_template = "admin/benchmarks/result/view.html"

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        return ("position",) if whole(request.GET.get("run")) is not None else ("-id",)

    def get_list_filter(self, request: HttpRequest) -> tuple[Any, ...]:
        return (RunFilter, *self.in_a_run) if whole(request.GET.get("run")) is not None else (RunFilter,)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """No lookups but the filters offered: any other would read the whole table."""
        offered = request is not None and whole(request.GET.get("run")) is not None
        return lookup == "run" or (offered and lookup.partition("__")[0] in ("outcome", "difficulty"))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if not search_term:
            return queryset, False
        chosen, number = whole(request.GET.get("run")), whole(search_term)
        run = Run.objects.only("dataset_version").filter(pk=chosen).first() if chosen is not None else None
        if run is None:
            return (queryset.filter(pk=number) if number is not None else queryset.none()), False
        tasks = Task.objects.filter(version=run.dataset_version_id, task_id=search_term)
        return queryset.filter(task__in=tasks.values("pk")), False

    def get_view_on_site_url(self, obj: Any = None) -> str | None:
        return reverse("frontend:result", args=(obj.run_id, obj.pk)) if obj and obj.pk else None

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Result | None:
        number = whole(object_id)
        if number is None:
            return None
        return Result.objects.select_related("run", "task", "transcript").filter(pk=number).first()

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        context = {"title": f"Result {object_id}", "subtitle": None, **(extra_context or {})}
        return super().changeform_view(request, object_id, form_url, context)

    @admin.display(description="result")
    def title(self, result: Result) -> str:
        return f"result {result.pk}"

    @admin.display(description="run")
    def run_link(self, result: Result) -> str:
        return link(result.run, f"run {result.run_id} of {result.run.model}")

    @admin.display(description="run")
    def run_number(self, result: Result) -> str:
        return link(result.run)

    @admin.display(description="outcome")
    def ended(self, result: Result) -> str:
        return str(result.get_outcome_display() if result.outcome else result.get_state_display())

    @admin.display(description="task")
    def task_name(self, result: Result) -> str:
        return visible(f"{result.task.task_id}: {result.task.name}")

    @admin.display(description="task")
    def task_link(self, result: Result) -> str:
        return link(result.task, self.task_name(result))

    @admin.display(description="scores")
    def scores_table(self, result: Result) -> str:
        rows = format_html_join(
            "",
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            (
                (
                    score.metric,
                    score.get_status_display(),
                    "–" if score.value is None else score.value,
                    folded(score.reason),
                )
                for score in Score.objects.filter(result=result).defer("judge", "detail", "extracted")
            ),
        )
        head = "<tr><th>Metric</th><th>Status</th><th>Value</th><th>Reason</th></tr>"
        table = format_html('<table class="cf-problems"><thead>' + head + "</thead><tbody>{}</tbody></table>", rows)
        return table if rows else "none yet"

    @admin.display(description="answer")
    def actual_text(self, result: Result) -> str:
        said = _transcript(result)
        return result.run.texts_pruned or (folded(said.actual_output) if said else "none yet")

    @admin.display(description="expected")
    def expected_text(self, result: Result) -> str:
        return folded(result.task.expected_output)

    @admin.display(description="reasoning")
    def reasoning_text(self, result: Result) -> str:
        said = _transcript(result)
        return result.run.texts_pruned or (folded(said.reasoning) if said and said.reasoning else "–")

    @admin.display(description="tool calls")
    def tool_calls_json(self, result: Result) -> str:
        said = _transcript(result)
        return result.run.texts_pruned or shown_json(said.tool_calls if said else None)

    @admin.display(description="attempts")
    def attempts_json(self, result: Result) -> str:
        said = _transcript(result)
        return result.run.texts_pruned or shown_json(said.attempts if said else None)

    @admin.display(description="messages")
    def messages_text(self, result: Result) -> str:
        """Text as text, everything else of a message as JSON."""
        said = _transcript(result)
        if pruned := result.run.texts_pruned:
            return pruned
        return format_html_join("", "<h3>{}</h3>{}", _parts(said.messages)) if said and said.messages else "–"

    @admin.display(description="finish reason")
    def finish_text(self, result: Result) -> str:
        return visible(result.finish_reason) or "–"

    @admin.display(description="hash of the prompt")
    def prompt_hash(self, result: Result) -> str:
        said = _transcript(result)
        return said.prompt_hash if said else "–"

    @admin.display(description="message")
    def error_text(self, result: Result) -> str:
        return folded(result.error_message) if result.error_message else "–"


def _parts(sent: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for message in sent:
        content = message.get("content")
        text = folded(content) if isinstance(content, str) else shown_json(content)
        rest = {key: value for key, value in message.items() if key not in ("role", "content")}
        yield visible(str(message.get("role"))), text + shown_json(rest) if rest else text


def _transcript(result: Result) -> Transcript | None:
    return getattr(result, "transcript", None)
