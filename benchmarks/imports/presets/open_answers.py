"""Benchmarks whose answers are written out: numbers, formulas, spans of a passage, words."""

from __future__ import annotations

import re

from benchmarks.imports.presets.base import Cells, LeftOutError, Preset, Task, accepted, labels
from benchmarks.imports.runs import ImportProblem

UNANSWERABLE = "unanswerable"
_LEVELS = {1: "easy", 2: "easy", 3: "medium", 4: "hard", 5: "hard"}
_BBH = (
    *("boolean_expressions", "causal_judgement", "date_understanding", "disambiguation_qa", "dyck_languages"),
    *("formal_fallacies", "geometric_shapes", "hyperbaton", "logical_deduction_five_objects"),
    *("logical_deduction_seven_objects", "logical_deduction_three_objects", "movie_recommendation"),
    *("multistep_arithmetic_two", "navigate", "object_counting", "penguins_in_a_table"),
    *("reasoning_about_colored_objects", "ruin_names", "salient_translation_error_detection", "snarks"),
    *("sports_understanding", "temporal_sequences", "tracking_shuffled_objects_five_objects"),
    *("tracking_shuffled_objects_seven_objects", "tracking_shuffled_objects_three_objects", "web_of_lies"),
    "word_sorting",
)
_FRACTION = re.compile(r"\\frac\{([^{}]+)\}\{([^{}]+)\}|\\frac(\d)(\d)")


def _gsm8k(cells: Cells) -> Task:
    _, mark, answer = cells.text("answer").rpartition("#### ")
    if not mark:
        raise ImportProblem("the column answer has no `#### ` before the final number")
    question = cells.text("question")
    return {
        "title": question,
        "input": f"Question: {question}\nAnswer:",
        "expected_output": answer.strip().replace(",", ""),
    }


def _gsm8k_shot(cells: Cells) -> str:
    return f"Question: {cells.text('question')}\nAnswer: {cells.text('answer')}"


def _spellings(answer: str) -> list[str]:
    """Ways to write a formula: as given, and without what LaTeX needs only for its look."""
    plain = re.sub(r"\\(?:left|right|!|,|;|:| )", "", answer).replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac")
    plain = re.sub(r"\\(?:text|mathrm|textbf|mbox)\{\s*([^{}]*?)\s*\}", r"\1", plain)
    plain = re.sub(r"\^\{?\\circ\}?|\\\$|\\?%|(?<=\d),(?=\d{3}\b)(?![^(\[]*[)\]])", "", plain).strip()
    braced = _FRACTION.sub(lambda match: rf"\frac{{{match[1] or match[3]}}}{{{match[2] or match[4]}}}", plain)
    sloped = _FRACTION.sub(
        lambda match: f"{match[1] or match[3]}/{match[2] or match[4]}", braced if braced.count("\\frac") == 1 else ""
    )
    return [answer, plain, braced, braced.replace("\\frac", "\\dfrac"), sloped]


def _math_500(cells: Cells) -> Task:
    problem, level = cells.text("problem"), cells.text("level")
    return {
        "id": cells.text("unique_id"),
        "title": problem,
        "input": f"Problem:\n{problem}\n\nEnd with the final answer alone in \\boxed{{}}.",
        "expected_output": accepted(_spellings(cells.text("answer"))),
        "difficulty": _LEVELS.get(int(level) if level.isdecimal() else 0, "medium"),
        "metadata": labels(subject=cells.text("subject"), level=f"level {level}"),
    }


def _truthfulqa(cells: Cells) -> Task:
    question, best = cells.text("question"), cells.text("best_answer")
    return {
        "title": question,
        "input": f"{question}\n\nAnswer in one sentence.",
        "expected_output": accepted([best, *cells.texts("correct_answers")]),
        "metadata": labels(category=cells.text("category"), kind=cells.text("type")),
    }


def _drop(cells: Cells) -> Task:
    spans = cells.nested("answers_spans").texts("spans")
    different = list(dict.fromkeys(spans))
    if not different:
        raise LeftOutError("without an answer")
    kinds = cells.nested("answers_spans").texts("types")
    question = cells.text("question")
    answers = [*different, ", ".join(different)] if len(different) > 1 else different
    return {
        "id": cells.text("query_id"),
        "title": question,
        "input": f"{cells.text('passage')}\n\n{question}\nAnswer with the number, date, name or names alone.",
        "expected_output": accepted(answers),
        "metadata": labels(answer=kinds[0] if kinds else "", source=cells.text("section_id").partition("_")[0]),
    }


def _squad2(cells: Cells) -> Task:
    texts = cells.nested("answers").texts("text")
    question = cells.text("question").strip()
    return {
        "id": cells.text("id"),
        "title": question,
        "input": (
            f"Title: {cells.text('title')}\n\nBackground: {cells.text('context')}\n\nQuestion: {question}\n\n"
            f"Answer with the words of the background alone, or with `{UNANSWERABLE}` if it has no answer."
        ),
        "expected_output": accepted(texts) or UNANSWERABLE,
        "metadata": labels(answerable=bool(texts)),
    }


def _bbh(cells: Cells) -> Task:
    question, target = cells.text("input"), cells.text("target").strip()
    return {
        "title": question,
        "input": f"{question}\n\nThink step by step, then end with a line `Answer: <answer>`.",
        # "(A)" is also written without parentheses.
        "expected_output": [target, target[1]] if re.fullmatch(r"\([A-Z]\)", target) else target,
        "metadata": labels(subtask=cells.config.replace("_", " ")),
        "tags": [cells.config.replace("_", " ")],
    }


PRESETS = (
    Preset(
        name="gsm8k",
        title="GSM8K",
        about="Word problems of primary school with a number as the answer.",
        repository="openai/gsm8k",
        revision="cc7b047b6e5bb11b4f1af84efc572db110a51b3c",
        license="MIT",
        path="main/{split}-*.parquet",
        size=1319,
        metrics=("numeric",),
        difference="the first five rows of the training split as examples, not five drawn; numbers are compared",
        task=_gsm8k,
        shots=5,
        shot_split="train",
        shot=_gsm8k_shot,
    ),
    Preset(
        name="math-500",
        title="MATH-500",
        about="Problems of mathematics competitions with a formula as the answer.",
        repository="HuggingFaceH4/MATH-500",
        revision="6e4ed1a2a79af7d8630a6b768ec859cb5af4d3be",
        license="MIT (license of MATH; the repository names none)",
        path="test.jsonl",
        size=500,
        metrics=("exact_match",),
        difference=(
            "no four examples; an answer counts if it is the reference in one of a few spellings, where `math_verify` "
            "proves that two formulas are equal: scores are lower"
        ),
        task=_math_500,
        group="subject",
    ),
    Preset(
        name="truthfulqa-gen",
        title="TruthfulQA (written answers)",
        about="Questions that many people answer wrongly.",
        repository="truthfulqa/truthful_qa",
        revision="741b8276f2d1982aa3d5b832d3ee81ed3b896490",
        license="Apache 2.0",
        path="generation/{split}-*.parquet",
        split="validation",
        size=817,
        metrics=("rouge_l", "bleu"),
        difference=(
            "similarity to the closest correct answer (`rougeL_max`, `bleu_max`), not its difference from the closest "
            "incorrect one; without the six example questions"
        ),
        task=_truthfulqa,
        group="category",
    ),
    Preset(
        name="drop",
        title="DROP",
        about="Counting, sorting and arithmetic over a passage.",
        repository="ucinlp/drop",
        revision="95cda593fae71b60b5b19f82de3fcf3298c1239c",
        license="CC BY-SA 4.0",
        path="data/{split}-*.parquet",
        split="validation",
        size=9535,
        metrics=("token_f1", "exact_match"),
        difference=(
            "each span is accepted alone and all of them in a list, because this repository does not say which belong "
            "together; words are compared as for SQuAD"
        ),
        task=_drop,
        group="source",
        limit=2000,
    ),
    Preset(
        name="squad2",
        title="SQuAD 2.0",
        about="Questions about a passage, half of which it does not answer.",
        repository="rajpurkar/squad_v2",
        revision="3ffb306f725f7d2ce8394bc1873b24868140c412",
        license="CC BY-SA 4.0",
        path="squad_v2/{split}-*.parquet",
        split="validation",
        size=11873,
        metrics=("token_f1", "exact_match"),
        difference="the model writes `unanswerable`, where the likelihood of this word is compared with a threshold",
        task=_squad2,
        group="answerable",
        limit=2000,
    ),
    Preset(
        name="bbh",
        title="BIG-Bench Hard",
        about="27 subtasks of reasoning that were hard for models of 2022.",
        repository="SaylorTwift/bbh",
        revision="b5306be6f827cfafbb545ff5a51f96916029b0fd",
        license="MIT (license of BIG-Bench Hard)",
        path="{config}/{split}-*.parquet",
        configs=_BBH,
        size=6511,
        metrics=("exact_match",),
        difference="as `bbh_cot_zeroshot`, without the sentence about each subtask, and with a line for the answer",
        task=_bbh,
        group="subtask",
    ),
)
