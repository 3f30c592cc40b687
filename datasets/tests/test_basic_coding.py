"""Every reference passes the asserts of its task, and wrong answers as people and models write them do not."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from reading import tasks

from benchmarks.sandbox.sandbox import Limits, Sandbox

REFUSAL = Sandbox().refusal()
TASKS = tasks("basic-coding")

ERRORS: dict[str, list[tuple[str, str]]] = {
    "tidy-lines": [
        ('line.rstrip(" \\t")', "line.rstrip()"),
        ("line or (kept and kept[-1])", "line or kept"),
        ("if kept and not kept[-1]:", "if False:"),
        ('"\\n".join(kept) + "\\n" if kept else ""', '"\\n".join(kept) + "\\n"'),
    ],
    "parse-duration": [
        ("or not any(match.groups())", ""),
        (".fullmatch(text)", ".match(text)"),
        ("[0-9]+)h", "[0-9]+)[hH]"),
        ("days * 24", "days * 12"),
    ],
    "histogram-edges": [
        ("<= edges[-1]:", "< edges[-1]:"),
        ("bisect_right(edges, value) - 1", "bisect_right(edges, value - 1e-9) - 1"),
        ("low >= high", "low > high"),
        ("edges[0] <= value", "edges[0] < value"),
    ],
    "mask-card-numbers": [
        ("(?<![0-9])", ""),
        ("(?![0-9])", ""),
        ("[0-9]{4}([ -]?)[0-9]{4}\\1[0-9]{4}\\1", "[0-9]{4}([ -]?)[0-9]{4}[ -]?[0-9]{4}[ -]?"),
        ("(?<![0-9])[0-9]{4}([ -]?)", "(?<![0-9])\\d{4}([ -]?)\\d{0}|(?<!\\d)\\d{12}()(\\d{4})|[0-9]{4}([ -]?)"),
    ],
    "fix-lower-bound": [
        ("< target", "<= target"),
        ("0, len(items)", "0, len(items) - 1"),
        ("low = middle + 1", "low = low + 1"),
    ],
    "rotate-grid": [
        ("quarter_turns % 4", "abs(quarter_turns) % 4"),
        ("zip(*reversed(result))", "zip(*result)"),
        ("[list(column) for column in", "[column for column in"),
        ("[list(row) for row in grid]", "grid"),
    ],
    "merge-bookings": [
        ("<= gap:", "< gap:"),
        ("max(merged[-1][1], end)", "end"),
        ("sorted(bookings)", "bookings"),
        ("gap < 0 or", ""),
        ("start >= end for", "start > end for"),
    ],
    "latest-release": [
        ("numbers, not pre_release, ranks", "numbers, bool(pre_release), ranks"),
        ('(0, int(part), "") if part.isdigit() else (1, 0, part)', "(1, 0, part)"),
        ('version.partition("-")', 'version.rpartition("-")'),
        ("(1, 0, part)", "(1, 0, part.lower())"),
        ('tuple(int(number) for number in core.split("."))', "core"),
    ],
    "render-table": [
        ("and not isinstance(cell, bool)", ""),
        ("return bool(present) and all", "return all"),
        ('.rstrip(" ")', ""),
        ("any(len(row) > len(header) for row in rows)", "False"),
        ('"-" if cell is None else str(cell)', "str(cell)"),
    ],
    "config-changes": [
        ("type(old[key]) is not type(new[key]) or ", ""),
        ("key=lambda entry: entry[0]", "key=lambda entry: entry[0].split('.')[-1]"),
        ("and isinstance(new[key], dict)", ""),
        ("if key not in old:", "if old.get(key) is None:"),
        ('path + "."', "path"),
    ],
    "sliding-limiter": [
        ("<= now - self.window", "< now - self.window"),
        ("self._passed[key]", "self._passed['']"),
        ("recent[0] + self.window - now", "self.window"),
        ("            return False\n", "            recent.append(now)\n            return False\n"),
    ],
    "csv-record": [
        ("quoted.replace('\"\"', '\"')", "quoted"),
        ('if record[position] != ",":', "if False:"),
        ('|([^",]*)', "|([^,]*)"),
        ("plain if quoted is None", "plain.strip() if quoted is None"),
    ],
    "add-working-days": [
        ("abs(days) or 1", "abs(days)"),
        ("if days == 0 and works(start):", "if days == 0:"),
        ("day.weekday() < 5 and day not in holidays", "day.weekday() < 5"),
        ("days=-1 if days < 0 else 1", "days=1"),
        ("day.weekday() < 5", "day.weekday() < 6"),
    ],
    "human-size": [
        ("(20 * size + scale) // (2 * scale)", "int(size / scale * 10 + 0.5)"),
        ("(20 * size + scale) // (2 * scale)", "round(size * 10 / scale)"),
        ("tenths < 10240", "size < 1024 ** (power + 1)"),
        ("size < 1024:", "size <= 1024:"),
    ],
    "ttl-cache": [
        ("until <= now", "until < now"),
        ("        self._entries.move_to_end(key)\n        return self", "        return self"),
        ("        self._drop_expired(now)\n        self._entries[key] = (", "        self._entries[key] = ("),
        ("return self._entries[key][0]", "return self._entries[key][0] or None"),
        ("popitem(last=False)", "popitem()"),
    ],
    "apportion-seats": [
        ("-(votes[party] * seats % total)", "-(votes[party] * seats / total % 1)"),
        ("-votes[party], party)", "party)"),
        ("-votes[party], party)", "-votes[party])"),
        ("seats < 0 or", ""),
    ],
    "apply-edits": [
        ("(edit[0], edit[0] != edit[1])", "edit"),
        ("(edit[0], edit[0] != edit[1])", "edit[0]"),
        ("if start < position:", "if start <= position and position:"),
        ("if start < position:", "if False:"),
        ("0 <= start <= end <= len(text)", "0 <= start <= end"),
        ('"".join(pieces) + text[position:]', '"".join(pieces)'),
    ],
    "build-order": [
        ("for other in sorted(waiting[target])", "for other in sorted(waiting[target], reverse=True)"),
        ("(len(cycle), cycle)", "cycle"),
        ("heapq.heappop(ready)", "ready.pop()"),
        ("set(needs).union(*needs.values())", "set(needs)"),
        ("queue.popleft()", "queue.pop()"),
    ],
    "expand-braces": [
        ('re.match(r"-?0[0-9]", bound)', "bound.startswith('0')"),
        ("step = 1 if high >= low else -1", "step = 1"),
        ('["{" + text + "}" for text in inner[0]]', "inner[0]"),
        ("(_group(inner, source))", "(_group(inner, source.replace('\\\\', '')))"),
        ("and not top", ""),
        ("max(len(first), len(last))", "max(len(first.lstrip('-')), len(last.lstrip('-')))"),
    ],
    "evaluate-expression": [
        ("exponent = self.signed()", "exponent = self.atom()"),
        ("else -self.signed()", "else -self.atom()"),
        ("value *= self.power()", "value *= self.atom()"),
        ('and self.tokens[self.at - 1] == ")"', ""),
        ("if exponent.denominator != 1:", "if False:"),
        ("if parser.next is not None:", "if False:"),
        ("value / self.signed()", "value / self.product()"),
    ],
    "match-path": [
        ('and not segments[j].startswith(".")', ""),
        (
            'segment.startswith(".") and tokens[:1] != ["."]',
            'segment.startswith(".") and not pattern.startswith((".", "["))',
        ),
        ('pattern.find("]", first + 1)', 'pattern.find("]", first)'),
        ("!= negated", ""),
        ("at + 2 < len(body)", "True"),
        ("            if rest(i + 1, j):\n                return True\n", ""),
    ],
    "next-cron-time": [
        ("in_month or in_week if either else in_month and in_week", "in_month and in_week"),
        ("in_month or in_week if either else in_month and in_week", "in_month or in_week"),
        ("value % 7", "value"),
        ("+ datetime.timedelta(minutes=1)", ""),
        ("366 * 10", "366"),
        ('not day_field.startswith("*")', 'day_field != "*"'),
        ("int(last or first)", "int(last or highest)"),
        ("sorted(hours)", "list(hours)[::-1]"),
    ],
    "nested-transactions": [
        ("outer.setdefault(key, value)", "outer[key] = value"),
        ("self._undo[-1].setdefault(key, self._values.get(key))", "self._undo[-1][key] = self._values.get(key)"),
        ("if old is not None:", "if old:"),
        ("if self._undo:\n            outer", "if False:\n            outer"),
        ("return self._counts[value]", "return list(self._values.values()).count(value)"),
    ],
    "run-bounded": [
        ("if len(errors) == 1:", "if True:"),
        ("            if errors:\n                return\n", ""),
        ("raise errors[0]", "raise errors[-1]"),
        ("min(limit, len(makers))", "len(makers)"),
        ("        await asyncio.wait(workers)\n        raise\n", "        raise\n"),
        ("            cancel_all_but(None)\n", "            pass\n"),
        ("results[index] = await make()", "results.append(await make())"),
        ("if limit < 1:", "if limit < 0:"),
    ],
}


def run(answer: str, asserts: str) -> None:
    """Define the answer, then run the asserts and the test functions in its namespace."""
    namespace: dict[str, Any] = {"__name__": "answer", "beside_answer": lambda thing: thing}
    exec(compile(answer, "<answer>", "exec"), namespace)
    exec(compile(asserts, "<tests>", "exec"), namespace)
    for name in [name for name in namespace if name.startswith("test_")]:
        namespace[name]()


def test_the_reference_passes_its_tests() -> None:
    for task_id in TASKS:
        run(TASKS[task_id]["expected_output"], TASKS[task_id]["tests"])


@pytest.mark.skipif(bool(REFUSAL), reason=f"the sandbox cannot run: {REFUSAL}")
def test_code_tests_passes_the_reference_and_fails_a_wrong_answer() -> None:
    sandbox = Sandbox(Limits(wall_s=60, cpu_s=60))
    for task_id, task in TASKS.items():
        fragment, replacement = ERRORS[task_id][0]

        right = sandbox.run(task["expected_output"], task["tests"])
        wrong = sandbox.run(task["expected_output"].replace(fragment, replacement), task["tests"])

        assert (right.passed, wrong.passed) == (True, False), (task_id, right, wrong)


def test_a_plausible_error_fails_the_tests() -> None:
    for task_id, fragment, replacement in ((key, *error) for key, errors in ERRORS.items() for error in errors):
        reference = TASKS[task_id]["expected_output"]
        assert reference.count(fragment) == 1, f"{fragment!r} must occur once in the reference of {task_id}"
        wrong = reference.replace(fragment, replacement)
        compile(wrong, "<error>", "exec")
        try:
            run(wrong, TASKS[task_id]["tests"])
        except Exception:
            continue  # a wrong answer may fail an assert or raise anything of its own
        pytest.fail(f"{task_id} passes with {replacement!r} for {fragment!r}")


def test_every_task_has_at_least_three_wrong_answers() -> None:
    assert {task_id for task_id, errors in ERRORS.items() if len(errors) >= 3} == set(TASKS)


def test_an_empty_answer_fails_the_tests() -> None:
    for task_id in TASKS:
        with pytest.raises(NameError):
            run("", TASKS[task_id]["tests"])


def test_the_tests_hold_checks_that_the_sandbox_counts() -> None:
    for task_id in TASKS:
        body = ast.parse(TASKS[task_id]["tests"]).body
        checks = [node for node in body if isinstance(node, ast.Assert)]
        functions = [node for node in body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
        assert len(checks) >= 5 or functions, task_id


def test_the_input_names_what_the_reference_defines() -> None:
    for task_id in TASKS:
        tree = ast.parse(TASKS[task_id]["expected_output"])
        public = [node.name for node in tree.body if hasattr(node, "name") and not node.name.startswith("_")]
        assert len(public) == 1, task_id
        assert public[0] in TASKS[task_id]["input"], task_id


def test_functions_that_return_the_same_or_their_argument_solve_nothing() -> None:
    """A class in the reference is replaced too, by a function, so that its tests fail."""
    for task_id, task in TASKS.items():
        tree = ast.parse(task["expected_output"])
        names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        for value in ("None", "0", "1", "[]", "''", "{}", "True", "False", "given[0] if given else None"):
            shortcut = "\n".join(f"def {name}(*given, **named):\n    return {value}" for name in names)
            try:
                run(shortcut, task["tests"])
            except Exception:
                continue
            pytest.fail(f"{task_id} passes with {value}")
