"""IFEval: each instruction that can be checked becomes one of the task's ``constraints``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.imports.presets.base import Cells, LeftOutError, Preset, Task, labels
from benchmarks.imports.runs import ImportProblem

Values = Mapping[str, object]


def _compared(count: str, relation: str) -> Callable[[Values], dict[str, int]]:
    """Bounds from a number and its relation, which is ``at least`` or ``less than``."""

    def bounds(values: Values) -> dict[str, int]:
        number = _whole(values, count)
        if values.get(relation) == "at least":
            return {"min": number}
        if values.get(relation) == "less than" and number:
            return {"max": number - 1}
        raise ImportProblem(f"kwargs: {relation} is neither `at least` nor `less than`")

    return bounds


def _whole(values: Values, name: str) -> int:
    number = values.get(name)
    if not isinstance(number, int | float) or isinstance(number, bool) or not 0 <= number <= 10**6 or number % 1:
        raise ImportProblem(f"kwargs: expected a whole number at {name}")
    return int(number)


def _words(values: Values, name: str) -> list[str]:
    words = values.get(name)
    if not isinstance(words, list) or not words or not all(isinstance(word, str) and word.strip() for word in words):
        raise ImportProblem(f"kwargs: expected a list of words at {name}")
    return list(dict.fromkeys(word.strip() for word in words))


def _phrase(values: Values, name: str) -> str:
    phrase = values.get(name)
    if not isinstance(phrase, str) or not phrase.strip():
        raise ImportProblem(f"kwargs: expected text at {name}")
    return phrase.strip()


def _letter(values: Values) -> list[dict[str, object]]:
    letter = _phrase(values, "letter")
    if len(letter) != 1:
        raise LeftOutError("that count a letter of several characters")
    return [{"letter": letter.lower(), **_compared("let_frequency", "let_relation")(values)}]


def _exactly(count: int) -> dict[str, int]:
    return {"min": count, "max": count}


_ANSWERS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
"""What IFEval's constrained responses choose from."""
_CONSTRAINTS: dict[str, Callable[[Values], dict[str, object]]] = {
    "keywords:existence": lambda values: {"include": _words(values, "keywords")},
    "keywords:forbidden_words": lambda values: {"exclude": _words(values, "forbidden_words")},
    "keywords:frequency": lambda values: {
        "occurrences": [{"text": _phrase(values, "keyword"), **_compared("frequency", "relation")(values)}]
    },
    "keywords:letter_frequency": lambda values: {"letters": _letter(values)},
    "length_constraints:number_sentences": lambda values: {"sentences": _compared("num_sentences", "relation")(values)},
    "length_constraints:number_words": lambda values: {"words": _compared("num_words", "relation")(values)},
    "length_constraints:number_paragraphs": lambda values: {
        "parts": {"divider": "***", **_exactly(_whole(values, "num_paragraphs"))}
    },
    "length_constraints:nth_paragraph_first_word": lambda values: {
        "paragraphs": _exactly(_whole(values, "num_paragraphs")),
        "nth_paragraph": {"number": _whole(values, "nth_paragraph"), "starts_with": _phrase(values, "first_word")},
    },
    "detectable_content:number_placeholders": lambda values: {
        "placeholders": {"min": _whole(values, "num_placeholders")}
    },
    "detectable_content:postscript": lambda values: {"include": [_phrase(values, "postscript_marker")]},
    "detectable_format:number_bullet_lists": lambda values: {"bullets": _exactly(_whole(values, "num_bullets"))},
    "detectable_format:constrained_response": lambda values: {"include_one": [*_ANSWERS]},
    "detectable_format:number_highlighted_sections": lambda values: {
        "highlights": {"min": _whole(values, "num_highlights")}
    },
    "detectable_format:multiple_sections": lambda values: {
        "sections": {"heading": _phrase(values, "section_spliter"), "min": _whole(values, "num_sections")}
    },
    "detectable_format:json_format": lambda values: {"json": True},
    "detectable_format:title": lambda values: {"title": True},
    "combination:two_responses": lambda values: {"parts": {"divider": "******", **_exactly(2), "differ": True}},
    "combination:repeat_prompt": lambda values: {"starts_with": _phrase(values, "prompt_to_repeat")},
    "startend:end_checker": lambda values: {"ends_with": _phrase(values, "end_phrase")},
    "startend:quotation": lambda values: {"quoted": True},
    "change_case:capital_word_frequency": lambda values: {
        "capital_words": _compared("capital_frequency", "capital_relation")(values)
    },
    "change_case:english_capital": lambda values: {"case": "upper"},
    "change_case:english_lowercase": lambda values: {"case": "lower"},
    "punctuation:no_comma": lambda values: {"no_commas": True},
    "language:response_language": lambda values: {"language": _phrase(values, "language")},
}
"""Instruction of IFEval → constraints from its arguments."""


def _ifeval(cells: Cells) -> Task:
    names, arguments = cells.texts("instruction_id_list"), cells.items("kwargs")
    if len(names) != len(arguments) or not all(isinstance(values, dict) for values in arguments):
        raise ImportProblem("kwargs: expected an object for each instruction")
    constraints: dict[str, Any] = {}
    for name, values in zip(names, arguments, strict=True):
        if name not in _CONSTRAINTS:
            raise LeftOutError(f"with the instruction {name.partition(':')[2].replace('_', ' ')[:60]}")
        for key, value in _CONSTRAINTS[name](values).items():
            if isinstance(value, list):
                before = constraints.get(key, [])
                constraints[key] = before + [each for each in value if each not in before]
            elif constraints.setdefault(key, value) != value:
                raise LeftOutError("with two instructions of one kind")
    prompt = cells.text("prompt")
    return {
        "id": f"ifeval-{cells.text('key')}",
        "title": prompt,
        "input": prompt,
        "expected_output": "",
        "constraints": constraints,
        "tags": list(dict.fromkeys(name.partition(":")[2].replace("_", " ") for name in names)),
        "metadata": labels(instructions=len(names)),
    }


PRESETS = (
    Preset(
        name="ifeval",
        title="IFEval",
        about="Instructions on length, form and words that a program can check.",
        repository="google/IFEval",
        revision="966cd89545d6b6acfd7638bc708b98261ca58e84",
        license="Apache 2.0",
        path="ifeval_input_data.jsonl",
        split="train",
        size=541,
        metrics=("constraints",),
        difference=(
            "languages are told apart by py3langid, which is optional, not langdetect, and capitals may be of any "
            "language; words are compared whole; a section begins a line"
        ),
        task=_ifeval,
    ),
)
