"""Benchmarks with choices. A model answers with a letter, where lm-evaluation-harness compares likelihoods."""

from __future__ import annotations

import re
from typing import Any

from benchmarks.imports.presets.base import Cells, Preset, Task, chosen, labels, options
from benchmarks.imports.runs import ImportProblem
from benchmarks.imports.table_columns import LETTERS
from benchmarks.imports.table_tasks import PICK_ONE

_GENERATIVE = "the model writes a letter, where the likelihood of each choice is compared"
_STEM = """abstract_algebra anatomy astronomy college_biology college_chemistry college_computer_science
college_mathematics college_physics computer_security conceptual_physics electrical_engineering elementary_mathematics
high_school_biology high_school_chemistry high_school_computer_science high_school_mathematics high_school_physics
high_school_statistics machine_learning"""
_SOCIAL_SCIENCES = """econometrics high_school_geography high_school_government_and_politics
high_school_macroeconomics high_school_microeconomics high_school_psychology human_sexuality professional_psychology
public_relations security_studies sociology us_foreign_policy"""
_HUMANITIES = """formal_logic high_school_european_history high_school_us_history high_school_world_history
international_law jurisprudence logical_fallacies moral_disputes moral_scenarios philosophy prehistory professional_law
world_religions"""
_CATEGORIES = {
    subject: category
    for category, subjects in (("STEM", _STEM), ("social sciences", _SOCIAL_SCIENCES), ("humanities", _HUMANITIES))
    for subject in subjects.split()
}
"""Subject of MMLU → category; the others are "other"."""


def _whole(cells: Cells, name: str) -> int:
    text = cells.text(name)
    if not re.fullmatch(r"[0-9]{1,3}", text):
        raise ImportProblem(f"column {name}: expected the position of a choice, found {text[:40]!r}")
    return int(text)


def _mmlu_question(cells: Cells) -> str:
    return f"{cells.text('question').strip()}\n{options(cells.texts('choices'))}\nAnswer:"


def _mmlu(cells: Cells) -> Task:
    subject = cells.text("subject")
    return {
        "title": cells.text("question"),
        "input": _mmlu_question(cells),
        **chosen(cells.texts("choices"), _whole(cells, "answer")),
        "metadata": labels(subject=subject.replace("_", " "), category=_CATEGORIES.get(subject, "other")),
    }


def _mmlu_shot(cells: Cells) -> str:
    return f"{_mmlu_question(cells)} {LETTERS[_whole(cells, 'answer')]}"


def _mmlu_header(cells: Cells) -> str:
    subject = cells.text("subject").replace("_", " ")
    return f"The following are multiple choice questions (with answers) about {subject}."


def _mmlu_pro_question(cells: Cells) -> str:
    texts = [text.strip() for text in cells.texts("options")]
    return f"Question:\n{cells.text('question')}\nOptions:\n{options(texts)}"


def _mmlu_pro(cells: Cells) -> Task:
    return {
        "id": f"mmlu-pro-{cells.text('question_id')}",
        "title": cells.text("question"),
        "input": f"{_mmlu_pro_question(cells)}\nAnswer: Let's think step by step.",
        **chosen(cells.texts("options"), _whole(cells, "answer_index")),
        "metadata": labels(category=cells.text("category")),
    }


def _mmlu_pro_shot(cells: Cells) -> str:
    reasoning = cells.text("cot_content").removeprefix("A: ").removeprefix("Answer: ")
    return f"{_mmlu_pro_question(cells)}\nAnswer: {reasoning}"


def _mmlu_pro_header(cells: Cells) -> str:
    return (
        f"The following are multiple choice questions (with answers) about {cells.text('category')}. Think step by "
        'step and then finish your answer with "the answer is (X)" where X is the correct letter choice.'
    )


def _arc(cells: Cells) -> Task:
    listed = cells.nested("choices")
    texts, names, answer = listed.texts("text"), listed.texts("label"), cells.text("answerKey")
    if len(texts) != len(names) or answer not in names:
        raise ImportProblem(f"the answer {answer[:40]!r} is not one of the labels")
    question = cells.text("question").strip()
    return {
        "id": cells.text("id"),
        "title": question,
        "input": f"Question: {question}\n{options(texts)}\n\n{PICK_ONE}",
        **chosen(texts, names.index(answer)),
        "difficulty": "easy" if cells.config == "ARC-Easy" else "hard",
    }


def _without_marks(text: str) -> str:
    """The text without the marks that the part from WikiHow has, as the harness removes them."""
    return re.sub(r"\[[^\]\n]{0,200}\]", "", text.strip().replace(" [title]", ". ")).replace("  ", " ")


def _hellaswag(cells: Cells) -> Task:
    activity = cells.text("activity_label")
    context = f"{activity}: {cells.text('ctx_a')} {cells.text('ctx_b').capitalize()}"
    endings = [_without_marks(ending) for ending in cells.texts("endings")]
    return {
        "id": f"hellaswag-{cells.text('ind')}-{cells.row.line}",
        "title": context,
        "input": f"{_without_marks(context)} …\n\nHow does it go on?\n{options(endings)}\n\n{PICK_ONE}",
        **chosen(endings, _whole(cells, "label")),
        "metadata": labels(source=cells.text("source_id").partition("~")[0], domain=cells.text("split_type")),
    }


def _truthfulqa(cells: Cells) -> Task:
    targets = cells.nested("mc1_targets")
    texts, marks = targets.texts("choices"), targets.items("labels")
    if marks.count(1) != 1 or len(texts) != len(marks):
        raise ImportProblem("expected exactly one label 1 in mc1_targets")
    correct = texts[marks.index(1)]
    order = cells.shuffled(texts)
    question = cells.text("question")
    return {
        "title": question,
        "input": f"{question}\n{options(order)}\n\n{PICK_ONE}",
        **chosen(order, order.index(correct)),
    }


def _gpqa(cells: Cells) -> Task:
    correct = cells.text("Correct Answer").strip()
    wrong = [cells.text(f"Incorrect Answer {number}").strip() for number in (1, 2, 3)]
    order = cells.shuffled([*wrong, correct])
    question = cells.text("Question").strip()
    return {
        "id": cells.text("Record ID"),
        "title": question,
        "input": (
            f"What is the correct answer to this question: {question}\nChoices:\n{options(order, '({}) ')}\n"
            "Think step by step, then end with a line `Answer: <letter>`."
        ),
        **chosen(order, order.index(correct)),
        "difficulty": "hard",
        "metadata": labels(domain=cells.text("High-level domain"), subdomain=cells.text("Subdomain")),
    }


_ARC_PRESET: dict[str, Any] = {
    "repository": "allenai/ai2_arc",
    "revision": "210d026faf9955653af8916fad021475a3f00453",
    "license": "CC BY-SA 4.0",
    "path": "{config}/{split}-*.parquet",
    "metrics": ("multiple_choice",),
    "task": _arc,
}

PRESETS = (
    Preset(
        name="mmlu",
        title="MMLU",
        about="Multiple choice over 57 subjects of school, university and professions.",
        repository="cais/mmlu",
        revision="c30699e8356da336a370243923dbaf21066bb9fe",
        license="MIT",
        path="all/{split}-*.parquet",
        size=14042,
        metrics=("multiple_choice",),
        difference=f"{_GENERATIVE} (`mmlu`); `mmlu_generative` writes too, but takes the first line only",
        task=_mmlu,
        group="subject",
        limit=1000,
        shots=5,
        shot_split="dev",
        shot=_mmlu_shot,
        header=_mmlu_header,
    ),
    Preset(
        name="mmlu-pro",
        title="MMLU-Pro",
        about="Multiple choice with up to ten choices over 14 categories.",
        repository="TIGER-Lab/MMLU-Pro",
        revision="b189ec765aa7ed75c8acfea42df31fdae71f97be",
        license="MIT",
        path="data/{split}-*.parquet",
        size=12032,
        metrics=("multiple_choice",),
        difference="the final answer is read in any common form, where only `answer is (X)` counts",
        task=_mmlu_pro,
        group="category",
        limit=500,
        shots=5,
        shot_split="validation",
        shot=_mmlu_pro_shot,
        header=_mmlu_pro_header,
    ),
    Preset(
        name="arc-easy",
        title="ARC Easy",
        about="Science questions of primary and secondary school.",
        configs=("ARC-Easy",),
        size=2376,
        difference=_GENERATIVE,
        **_ARC_PRESET,
    ),
    Preset(
        name="arc-challenge",
        title="ARC Challenge",
        about="Science questions of primary and secondary school that simple methods fail.",
        configs=("ARC-Challenge",),
        size=1172,
        difference=f"{_GENERATIVE} (`arc_challenge`); `arc_challenge_chat` writes too, with a prompt of its own",
        **_ARC_PRESET,
    ),
    Preset(
        name="hellaswag",
        title="HellaSwag",
        about="The most plausible continuation of an everyday scene.",
        repository="Rowan/hellaswag",
        revision="218ec52e09a7e7462a5400043bb9a69a41d06b76",
        license="MIT",
        path="data/{split}-*.parquet",
        split="validation",
        size=10042,
        metrics=("multiple_choice",),
        difference=f"{_GENERATIVE}, normalized by its length",
        task=_hellaswag,
        group="source",
        limit=2000,
    ),
    Preset(
        name="truthfulqa-mc1",
        title="TruthfulQA (one correct choice)",
        about="Questions that many people answer wrongly, with choices.",
        repository="truthfulqa/truthful_qa",
        revision="741b8276f2d1982aa3d5b832d3ee81ed3b896490",
        license="Apache 2.0",
        path="multiple_choice/{split}-*.parquet",
        split="validation",
        size=817,
        metrics=("multiple_choice",),
        difference=f"{_GENERATIVE}; choices in shuffled order, and without the six example questions",
        task=_truthfulqa,
    ),
    Preset(
        name="gpqa-diamond",
        title="GPQA Diamond",
        about="Questions of biology, physics and chemistry that experts write and agree on.",
        repository="Idavidrein/gpqa",
        revision="633f5ee89ab8ad4522a9f850766b73f62147ffdd",
        license="CC BY 4.0, with terms to accept",
        path="gpqa_diamond.csv",
        split="train",
        size=198,
        metrics=("multiple_choice",),
        difference="the order of choices depends on the seed and the row (`gpqa_diamond_cot_zeroshot` draws it anew)",
        task=_gpqa,
        group="domain",
    ),
)
