"""Small Python functions by a list of rules, with hidden tests. A higher level has more rules.

The tests' values come from the rules' own functions, not from the reference code, so that each checks the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, chain
from typing import Any, ClassVar, NamedTuple

from benchmarks.generators.base import Generator, Task
from tasks_app.canvas.random_source import KeyedRandom

RULES = (2, 4, 7)
"""How many rules a function has, by level."""
_WORDS = (
    "sea",
    "Apple",
    "lamp",
    "to",
    "go",
    "stone",
    "Tree",
    "a",
    "lamp",
    "window",
    "GO",
    "rain",
    "banana",
    "ox",
    "sky",
)


class _Rule(NamedTuple):
    text: str
    code: str
    apply: Callable[[list[Any]], list[Any]]


def _number_rules(random: KeyedRandom) -> list[_Rule]:
    k, n, m, r, s = (random.randint(low, high) for low, high in ((3, 6), (2, 30), (2, 30), (1, 3), (5, 40)))
    return [
        _Rule(
            f"Remove the numbers that are divisible by {k}.",
            f"values = [v for v in values if v % {k}]",
            lambda v: list(filter(lambda x: x % k != 0, v)),
        ),
        _Rule(f"Add {n} to every number.", f"values = [v + {n} for v in values]", lambda v: [x - -n for x in v]),
        _Rule(
            f"Replace every number by its distance from {m} (never negative).",
            f"values = [abs(v - {m}) for v in values]",
            lambda v: [max(x, m) - min(x, m) for x in v],
        ),
        _Rule(
            "Of equal numbers, keep only the first.",
            "values = list(dict.fromkeys(values))",
            lambda v: [x for i, x in enumerate(v) if x not in v[:i]],
        ),
        _Rule(
            "Sort by the last decimal digit of the absolute value; numbers with equal digits stay in their order.",
            "values = sorted(values, key=lambda v: abs(v) % 10)",
            lambda v: [x for digit in "0123456789" for x in v if str(x)[-1] == digit],
        ),
        _Rule("Sort from largest to smallest.", "values = sorted(values, reverse=True)", lambda v: sorted(v)[::-1]),
        _Rule("Reverse the order.", "values = values[::-1]", lambda v: list(reversed(v))),
        _Rule(
            "Replace every number by the sum of itself and all numbers before it.",
            "values = [sum(values[: i + 1]) for i in range(len(values))]",
            lambda v: list(accumulate(v)),
        ),
        _Rule(
            "Keep the first, third, fifth number and so on.",
            "values = values[::2]",
            lambda v: [x for i, x in enumerate(v) if i % 2 == 0],
        ),
        _Rule(
            "Replace every number but the first by its difference from the number before it (itself minus that one).",
            "values = values[:1] + [b - a for a, b in zip(values, values[1:])]",
            lambda v: [x - v[i - 1] if i else x for i, x in enumerate(v)],
        ),
        _Rule(
            f"Move the first {r} number{'s' * (r > 1)} to the end, in order (if there are fewer, nothing changes).",
            f"values = values[{r}:] + values[:{r}]",
            lambda v: v if len(v) < r else [*v[r:], *v[:r]],
        ),
        _Rule(
            f"Insert 0 after every number greater than {s}.",
            f"values = [w for v in values for w in ([v, 0] if v > {s} else [v])]",
            lambda v: [w for x in v for w in (x, 0)[: 1 + (x > s)]],
        ),
    ]


def _word_rules(random: KeyedRandom) -> list[_Rule]:
    k, c = random.randint(2, 4), random.randint(2, 3)
    return [
        _Rule(
            f"Remove words of fewer than {k} characters.",
            f"words = [w for w in words if len(w) >= {k}]",
            lambda v: [w for w in v if w[k - 1 :]],
        ),
        _Rule(
            "Reverse the letters of every word.",
            "words = [w[::-1] for w in words]",
            lambda v: ["".join(reversed(w)) for w in v],
        ),
        _Rule(
            "Exchange the first and the last letter of every word of two or more characters.",
            "words = [w[-1] + w[1:-1] + w[0] if len(w) > 1 else w for w in words]",
            lambda v: [w if len(w) < 2 else "".join([w[-1], *w[1:-1], w[0]]) for w in v],
        ),
        _Rule(
            "Write the second, fourth, sixth word and so on in capitals.",
            "words = [w.upper() if i % 2 else w for i, w in enumerate(words)]",
            lambda v: [(w, w.upper())[i & 1] for i, w in enumerate(v)],
        ),
        _Rule(
            "Sort by length, shortest first; words of equal length stay in their order.",
            "words = sorted(words, key=len)",
            lambda v: [w for n in range(max(map(len, v), default=0) + 1) for w in v if len(w) == n],
        ),
        _Rule("Move the first word to the end.", "words = words[1:] + words[:1]", lambda v: [*v[1:], *v[:1]]),
        _Rule(
            "Remove the letters a, e, i, o and u, small and capital, from words of more than three characters.",
            'words = ["".join(c for c in w if c not in "aeiouAEIOU") if len(w) > 3 else w for w in words]',
            lambda v: [w if len(w) < 4 else w.translate(dict.fromkeys(map(ord, "aeiouAEIOU"))) for w in v],
        ),
        _Rule(
            "Append its number of characters to every word, as in `sea3`.",
            "words = [w + str(len(w)) for w in words]",
            lambda v: [f"{w}{len(w)}" for w in v],
        ),
        _Rule(
            "Of words that are equal apart from case, keep only the first.",
            "words = [w for i, w in enumerate(words) if w.lower() not in [x.lower() for x in words[:i]]]",
            _first_of_each,
        ),
        _Rule(
            f"Put a hyphen after the first {c} characters of every word that has more.",
            f'words = [w[:{c}] + "-" + w[{c}:] if len(w) > {c} else w for w in words]',
            lambda v: [f"{w[:c]}-{w[c:]}" if w[c:] else w for w in v],
        ),
    ]


def _first_of_each(words: list[str]) -> list[str]:
    spellings: dict[str, str] = {}
    for word in words:
        spellings.setdefault(word.lower(), word)
    return list(spellings.values())


def _stack_rules(random: KeyedRandom) -> list[_Rule]:
    """Instructions of a machine with a stack; each rule works on a stack of two or more numbers."""
    n, m = random.randint(2, 9), random.randint(3, 9)
    words = random.sample(("blend", "crank", "drift", "fold", "grind", "hop", "knit", "lift", "mend", "nudge"), 10)
    effects: list[tuple[str, str, Callable[[list[int]], list[int]]]] = [
        (
            "replaces the top two numbers by their sum",
            "stack[-2:] = [stack[-2] + stack[-1]]",
            lambda v: [*v[:-2], sum(v[-2:])],
        ),
        (
            "replaces the top two numbers by the lower one minus the top one",
            "stack[-2:] = [stack[-2] - stack[-1]]",
            lambda v: [*v[:-2], v[-2] - v[-1]],
        ),
        ("exchanges the top two numbers", "stack[-2:] = [stack[-1], stack[-2]]", lambda v: [*v[:-2], v[-1], v[-2]]),
        ("puts a copy of the top number on top", "stack.append(stack[-1])", lambda v: [*v, v[-1]]),
        ("removes the top number", "stack.pop()", lambda v: v[:-1]),
        (f"multiplies the top number by {n}", f"stack[-1] *= {n}", lambda v: [*v[:-1], v[-1] * n]),
        ("puts a copy of the number below the top on top", "stack.append(stack[-2])", lambda v: [*v, v[-2]]),
        ("moves the bottom number to the top", "stack.append(stack.pop(0))", lambda v: [*v[1:], v[0]]),
        (
            f"replaces the top number by its remainder (0 to {m - 1}) on division by {m}",
            f"stack[-1] %= {m}",
            lambda v: [*v[:-1], v[-1] - v[-1] // m * m],
        ),
        ("changes the sign of the top number", "stack[-1] = -stack[-1]", lambda v: [*v[:-1], 0 - v[-1]]),
    ]
    return [_Rule(f"`{word}` {effect}", code, run) for word, (effect, code, run) in zip(words, effects, strict=True)]


def numbers(random: KeyedRandom, level: int) -> Task:
    inputs: list[list[int]] = [[], [random.randint(-9, 50)]]
    inputs += [[random.randint(-30, 60) for _ in range(size)] for size in (2, 3, 5, 8, 12, 20)]
    inputs.append([7, 7, 3, 7, 3, 12, 12])
    rules = _drawn(random, level, _number_rules(random), inputs)
    cases = [(repr(values), repr(_applied(rules, values))) for values in inputs]
    text = (
        "Write a Python 3.11 function `solve(values: list[int]) -> list[int]`. Without changing `values`, return the "
        f"list after:\n\n{_listed(rules)}"
    )
    return _finished("Lists", text, _function("values", [*(rule.code for rule in rules), "return values"]), cases)


def words(random: KeyedRandom, level: int) -> Task:
    sizes = (1, 2, 4, 6, 9, 14)
    texts = ["", "  ", *[" ".join(random.choice(_WORDS) for _ in range(size)) for size in sizes], " b  AA\taa "]
    rules = _drawn(random, level, _word_rules(random), [text.split() for text in texts])
    cases = [(repr(text), repr(" ".join(_applied(rules, text.split())))) for text in texts]
    text = (
        "Write a Python 3.11 function `solve(text: str) -> str`. Split the text into words at white space, and return "
        f"the words joined by single spaces after:\n\n{_listed(rules)}"
    )
    lines = ["words = text.split()", *(rule.code for rule in rules), 'return " ".join(words)']
    return _finished("Words", text, _function("text", lines), cases)


def _drawn(random: KeyedRandom, level: int, pool: list[_Rule], inputs: list[list[Any]]) -> list[_Rule]:
    """Rules of which each changes what comes out for some input."""
    while True:
        rules = random.sample(pool, RULES[level - 1])
        results = [_applied(rules, values) for values in inputs]
        without = ([_applied([r for r in rules if r is not rule], values) for values in inputs] for rule in rules)
        if results not in (inputs, *without):
            return rules


def machine(random: KeyedRandom, level: int) -> Task:
    rules = random.sample(_stack_rules(random), (4, 7, 10)[level - 1])
    names = [rule.text.split("`")[1] for rule in rules]
    cases = []
    for size in (0, 1, 2, 3, 6, 9, 14, 20):
        program = [random.choice([*names, str(random.randint(-9, 20))]) for _ in range(size)]
        if size > 1:
            program = [str(random.randint(-9, 20)), str(random.randint(1, 20)), *program]
        cases.append((repr(program), repr(_run(program, dict(zip(names, rules, strict=True))))))
    branches = [
        [f"    elif word == {name!r}:", f"        {rule.code}"] for name, rule in zip(names, rules, strict=True)
    ]
    lines = [
        *(
            "stack = []",
            "for word in program:",
            "    if word.lstrip('-').isdigit():",
            "        stack.append(int(word))",
        ),
        *("    elif len(stack) < 2:", "        return None", *chain.from_iterable(branches), "return stack"),
    ]
    text = (
        "Write a Python 3.11 function `solve(program: list[str]) -> list[int] | None` that runs a program on a stack, "
        "which is empty at first, and returns the stack as a list from bottom to top. A word of the program that is a "
        "whole number, such as `-4`, is put on the stack. The other words are:\n\n"
        + "\n".join(f"- {rule.text}." for rule in rules)
        + "\n\nIf a word that is no number is reached while the stack has fewer than two numbers, return `None`."
    )
    return _finished("A machine", text, _function("program", lines), cases)


def _run(program: list[str], rules: dict[str, _Rule]) -> list[int] | None:
    stack: list[int] = []
    for word in program:
        if word not in rules:
            stack = [*stack, int(word)]
        elif len(stack) > 1:
            stack = rules[word].apply(stack)
        else:
            return None
    return stack


def _applied(rules: list[_Rule], values: list[Any]) -> list[Any]:
    for rule in rules:
        values = rule.apply(values)
    return values


def _listed(rules: list[_Rule]) -> str:
    return "\n".join(f"{number}. {rule.text}" for number, rule in enumerate(rules, 1))


def _function(parameter: str, lines: Sequence[str]) -> str:
    return "\n".join([f"def solve({parameter}):", *(f"    {line}" for line in lines), ""])


def _finished(name: str, text: str, code: str, cases: list[tuple[str, str]]) -> Task:
    example, value = cases[4]
    return {
        "name": name,
        "input": f"{text}\n\nExample: `solve({example})` returns `{value}`. Reply with the code only.\n",
        "expected_output": code,
        "tests": "".join(f"assert solve({given}) == {expected}\n" for given, expected in cases),
    }


class BasicCoding(Generator):
    name = "basic-coding"
    shared: ClassVar = {"metrics": ["code_tests"]}
    composed = True
    kinds: ClassVar = {"machine": machine, "numbers": numbers, "words": words}
