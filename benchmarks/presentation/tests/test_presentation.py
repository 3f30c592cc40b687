from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from benchmarks.presentation import labels, numbers, sentences
from benchmarks.presentation.actions import allowed_actions, delete_question, done_sentence, refusal
from benchmarks.presentation.texts import cut_name, visible
from benchmarks.summary import Canvases, MetricNumbers, Readable

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def test_numbers_are_written_as_the_copy_deck_says() -> None:
    for written, expected in (
        (numbers.number(1_434), "1,434"),
        (numbers.number(-1_434.25, 1), "−1,434.2"),
        (numbers.number(-0.2), "0"),
        (numbers.number(None), "–"),
        (numbers.score(0.7041), "0.704"),
        (numbers.score(-0.12), "−0.120"),
        (numbers.score(0), "0.000"),
        (numbers.score(1234.4), "1,234"),
        (numbers.score(None), "–"),
        (numbers.points(0.117), "11.7"),
        (numbers.points(-0.042), "−4.2"),
        (numbers.points(-0.0001), "0.0"),
        (numbers.percent(0.9791), "97.9%"),
        (numbers.p_value(0.0004), "< 0.001"),
        (numbers.p_value(0.0456), "0.046"),
        (numbers.p_value(None), "–"),
        (numbers.p_words(0.0004), "p < 0.001"),
        (numbers.p_words(0.0083), "p = 0.008"),
        (numbers.p_words(0.32), "p = 0.32"),
        (numbers.interval(0.665, 0.74), "0.665 to 0.740"),
        (numbers.interval(-0.02, 0.042, numbers.points), "−2.0 to 4.2"),
        (numbers.interval(None, 0.74), "–"),
        (numbers.n_of(3, 1200), "3 of 1,200"),
    ):
        assert written == expected


def test_an_unknown_price_is_never_written_as_zero() -> None:
    for usd, expected in (
        (None, "unknown"),
        (0, "$0"),
        (0.00001, "< $0.0001"),
        (0.00012345, "$0.00012"),
        (0.0123, "$0.012"),
        (0.05, "$0.05"),
        (0.2658, "$0.27"),
        (0.4584, "$0.46"),
        (0.5, "$0.50"),
        (0.99996, "$1.00"),
        (12.5, "$12.50"),
        (1234.5, "$1,234.50"),
    ):
        assert numbers.money(usd) == expected, usd
    assert numbers.money_range(0.1, 0.2) == "$0.10 to $0.20"
    assert numbers.money_range(0.0, 0.0) == "$0"
    assert numbers.money_range(None, 0.2) == "unknown"


def test_of_an_unknown_cost_the_known_part_and_the_reason_are_stated() -> None:
    for model, judge, expected in (
        (0.25, 0.0, "$0.25"),
        (0.25, 0.1, "$0.35"),
        (0.25, None, "$0.25 + judge unknown"),
        (None, 0.1, "$0.10 + model unknown"),
        (None, 0.0, "unknown"),
        (None, None, "unknown"),
    ):
        assert sentences.total_cost(model, judge) == expected
    assert sentences.unknown_cost("loop/judge", 0.25, 10) == ""
    assert sentences.unknown_cost("loop/judge", None, 10) == "no price is configured for loop/judge"
    assert sentences.unknown_cost("loop/judge", None, None) == "the endpoint does not report tokens for every response"


def test_durations_and_sizes_have_a_no_break_space_before_the_unit() -> None:
    for seconds, expected in (
        (None, "–"),
        (0, "0 ms"),
        (0.412, "412 ms"),
        (0.9996, "1.0 s"),
        (3.4, "3.4 s"),
        (9.96, "10 s"),
        (42, "42 s"),
        (951, "15 min 51 s"),
        (3_600, "1 h"),
        (90_061, "1 d 1 h"),
    ):
        assert numbers.duration(seconds) == expected.replace(" ", "\u00a0"), seconds
    assert numbers.milliseconds(412) == "412\u00a0ms"
    for n_bytes, expected in ((512, "512 bytes"), (1536, "1.5 kB"), (2048, "2 kB"), (20 * 2**20, "20 MB")):
        assert numbers.size(n_bytes) == expected.replace(" ", "\u00a0"), n_bytes


def test_nouns_follow_their_number() -> None:
    for n, noun, expected in (
        (1, "task", "1 task"),
        (0, "task", "0 tasks"),
        (1024, "task", "1,024 tasks"),
        (2, "canvas", "2 canvases"),
        (2, "query", "2 queries"),
        (2, "day", "2 days"),
    ):
        assert numbers.plural(n, noun) == expected


def test_a_moment_is_written_relative_to_now() -> None:
    for seconds, expected in (
        (-5, "just now"),
        (30, "just now"),
        (60, "1 minute ago"),
        (7_300, "2 hours ago"),
        (90_000, "1 day ago"),
    ):
        assert numbers.ago(NOW - timedelta(seconds=seconds), NOW) == expected


def test_stored_values_have_one_label_each() -> None:
    assert labels.run_status("cancelled") == "Canceled"
    assert labels.run_status("completed_with_errors", 1) == "Completed, 1 error"
    assert labels.run_status("completed_with_errors") == "Completed with errors"
    assert labels.result_label("judging", "") == "Scoring"
    assert labels.result_label("error", "cancelled") == "Not sent"
    assert labels.metric_title("exact_match") == "Exact match"
    assert labels.metric_title("inspect:match") == "match (Inspect)"
    assert labels.metric_title("removed_metric") == "removed_metric"
    assert labels.prompt_variant("", few_shot=True) == "full, few-shot"
    assert labels.sentence_case("shuffle_tracking") == "Shuffle tracking"


def test_results_without_a_score_are_counted_by_reason() -> None:
    metric = MetricNumbers(
        mean=0.5,
        n=96,
        n_expected=100,
        readable=Readable(0.51, 94, 94 / 96),
        n_truncated=2,
        n_judge_error=1,
        n_pending=3,
    )
    expected = "96 of 100 (96%), including 2 cut off; not scored: 1 judge error, 3 not sent yet"
    assert sentences.sample(metric, live=False) == expected
    assert sentences.unscored(metric, live=True) == ["1 judge error", "3 not finished yet"]
    assert sentences.mean_of(0.5, 96, 100) == "0.500 · 96 of 100 (96%)"
    assert sentences.readable(metric) == "0.510 · 94 of 96 (97.9%)"
    complete = MetricNumbers(mean=0.7044, n=1_434, n_expected=1_434)
    assert sentences.sample(complete, live=False) == "1,434 of 1,434"
    assert sentences.mean_of(0.7044, 1_434, 1_434) == "0.704 · 1,434 of 1,434"
    assert sentences.readable(complete) == ""
    assert sentences.score_with_status(0.0, "truncated") == "0.000 (cut off)"
    assert sentences.score_with_status(None, "judge_error") == "Judge error"
    assert sentences.outcome_counts({"wrong": 2, "correct": 21, "provider_error": 1}) == (
        "21 correct, 2 wrong, 1 provider error"
    )
    assert sentences.outcome_counts({}) == "none yet"
    assert sentences.tokens(1234, 56) == "1,234 tokens in, 56 out"
    assert sentences.tokens(None, 56) == "tokens unknown"


def test_a_name_that_is_cut_keeps_what_tells_it_from_others() -> None:
    assert cut_name("gpt-4o (run 12)", 15) == "gpt-4o (run 12)"
    assert cut_name("openai/gpt-4o-mini-2024 (run 12)", 24) == "openai/gpt-4o-… (run 12)"
    assert cut_name("openai/gpt-4o-mini-2024-07-18", 24) == "openai/gpt-4o-mini-2024…"
    assert cut_name("a (a very long variant, run 12)", 24) == "a (a very long variant,…"
    assert cut_name(") (" * 20, 24) == ") () () () () () () () …"


def test_characters_that_hide_text_become_visible() -> None:
    for text, seen in (
        ("plain", "plain"),
        ("two\r\nlines\n\tkept", "two\nlines\n\tkept"),
        ("\x1b[31mred\x1b[0m", "⟨ESC⟩[31mred⟨ESC⟩[0m"),
        ("name\u202egnp.exe", "name⟨RLO⟩gnp.exe"),
        ("\u2066x\u2069", "⟨LRI⟩x⟨PDI⟩"),
        ("a\x00b\x07c\x7f", "a⟨NUL⟩b⟨BEL⟩c⟨DEL⟩"),
        ("over\rwritten", "over⟨CR⟩written"),
        ("\x9b2J", "⟨U+009B⟩2J"),
        ("שלום 😀", "שלום 😀"),
    ):
        assert visible(text) == seen


@dataclass
class Facts:
    status: str
    pk: int = 12
    total: int = 576
    errors: int = 0
    budget_usd: float | None = None
    has_seed: bool = False
    fresh_of_id: int | None = None
    texts_pruned_at: datetime | None = None
    import_tool: str = ""
    is_calibration: bool = False
    is_preference: bool = False
    include_doubtful: bool = False
    n_doubtful: int = 0
    subset: int | None = None
    target_half_width: float | None = None


def test_what_can_be_done_with_a_run_follows_from_its_facts() -> None:
    always = ["again", "export", "share"]
    for facts, possible in (
        (Facts("queued"), ["pause", "cancel"]),
        (Facts("running", errors=2, budget_usd=1.0), ["budget", "pause", "cancel"]),
        (Facts("paused"), ["resume", "cancel", "delete"]),
        (Facts("completed"), ["rescore", "delete"]),
        (Facts("completed", subset=20), ["delete"]),
        (Facts("completed", target_half_width=0.1), ["delete"]),
        (Facts("completed", has_seed=True), ["rescore", "check", "delete"]),
        (Facts("completed", has_seed=True, fresh_of_id=11), ["rescore", "delete"]),
        (Facts("completed", n_doubtful=15), ["rescore", "include_doubtful", "delete"]),
        (Facts("completed", include_doubtful=True), ["rescore", "leave_out_doubtful", "delete"]),
        (Facts("completed_with_errors", errors=3), ["rescore", "retry", "delete"]),
        (Facts("completed_with_errors", errors=3, texts_pruned_at=NOW), ["delete"]),
        (Facts("failed", errors=3), ["resume", "retry", "delete"]),
        (Facts("cancelled"), ["resume", "delete"]),
    ):
        assert sorted(allowed_actions(facts)) == sorted([*always, *possible]), facts
    assert allowed_actions(Facts("completed", import_tool="Inspect")) == {
        "rescore": "Rescore",
        "export": "Export",
        "share": "Share",
        "delete": "Delete run",
    }
    assert allowed_actions(Facts("failed", errors=3))["retry"] == "Retry 3 errors"


def test_a_refusal_says_why_and_what_to_do_instead() -> None:
    for name, facts, expected in (
        ("resume", Facts("running"), "Run 12 is running. Only canceled, failed or paused runs can be resumed."),
        ("retry", Facts("paused"), "Run 12 is paused. Wait until the run ends, then retry its errors."),
        ("retry", Facts("completed"), "Run 12 has no errors to retry."),
        ("delete", Facts("queued"), "Run 12 is queued. Cancel the run before you delete it."),
        ("budget", Facts("paused"), "Run 12 has no budget to raise."),
        (
            "cancel",
            Facts("completed_with_errors", errors=2),
            "Run 12 is completed with errors. Only queued, preparing, running or paused runs can be canceled.",
        ),
        (
            "resume",
            Facts("failed", texts_pruned_at=NOW),
            "The texts of run 12 were pruned on 2026-01-31. Start a new run with the same settings instead.",
        ),
        (
            "check",
            Facts("completed"),
            "Only runs on canvas sets and generated datasets can be checked: only their tasks come from a seed.",
        ),
        (
            "check",
            Facts("completed", has_seed=True, fresh_of_id=11),
            "Run 12 already uses fresh tasks and is compared with run 11.",
        ),
        (
            "retry",
            Facts("completed", import_tool="Inspect"),
            "Run 12 was imported from an Inspect file, so it cannot be retried here. "
            "Use Inspect and import the new file, or start a new run.",
        ),
    ):
        assert refusal(name, facts) == expected
    assert done_sentence("cancel", 12) == "Run 12 canceled."
    assert delete_question(12, 576) == "Delete run 12 and its 576 results?"


def test_the_canvases_of_a_run_are_named_by_their_numbers() -> None:
    even = [Canvases(n, 20, 0, 19) for n in range(3, 9)]
    assert sentences.canvases(even) == "120 canvases: 0 to 19 with 3 to 8 shapes"
    adaptive = [*even[:2], Canvases(5, 44, 0, 43)]
    assert sentences.canvases(adaptive) == "84 canvases: 0 to 19 with 3 to 4 shapes; 0 to 43 with 5 shapes"
    assert sentences.canvases([]) == ""


def test_a_sample_names_its_clusters_if_they_are_fewer_than_its_results():
    assert (
        sentences.sample(MetricNumbers(n=96, n_expected=100, n_clusters=12), live=False)
        == "96 of 100 (96%) in 12 clusters"
    )
    assert sentences.sample(MetricNumbers(n=96, n_expected=96, n_clusters=96), live=False) == "96 of 96"


def test_a_dataset_is_called_by_its_name_in_one_line_or_else_by_its_slug() -> None:
    for name, expected in (
        ("Reasoning", "Reasoning"),
        (" 3 to 8\nshapes,  seed 11", "3 to 8 shapes, seed 11"),
        ("推論", "推論"),
        ("a\u202eb", "a⟨RLO⟩b"),
        ("x" * 61, "x" * 59 + "…"),
        ("", "slug"),
        (" \u00a0—", "slug"),
    ):
        assert labels.dataset_title(name, "slug") == expected
