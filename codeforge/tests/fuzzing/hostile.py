"""Hostile variants of a request, chosen by a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from urllib.parse import urlencode

from django.core.files.uploadedfile import SimpleUploadedFile

from codeforge.tests.fuzzing.reading import HANDLER, PROBE, Form

VALUES: tuple[str | bytes, ...] = (
    "",
    " ",
    "0",
    "-1",
    "1.5",
    "1e999",
    "NaN",
    "9" * 30,
    "0" * 5_000 + "1",
    "٣",
    "\x00",
    "a\r\nX-Injected: 1",
    b"\xed\xa0\x80",
    b"\xff\xfe",
    "x" * 70_000,
    f"<{PROBE}>",
    f"\"><{PROBE}>'><{PROBE}>",
    f"\" {HANDLER}=1 '{HANDLER}=1 {HANDLER}=1",
    f"</script></textarea></title></style><{PROBE}>",
    f"javascript:{PROBE}()",
    "//evil.example/\\evil.example",
    "https://evil.example/",
    "../../../../etc/passwd",
    "{{7*7}}{% debug %}",
    "%s%n%(x)s{0}{x}",
    "' OR 1=1 --",
    "null",
    "[]",
    "{}",
    '{"a": [1, {"b": null}]}',
    "[" * 5_000,
    "- &a [*a, *a]\n- !!python/object/apply:os.system [id]\n",
    "\u202e\u200b\ufeff\ufffd💥",
    "2026-02-30",
    "0000-00-00T25:61",
    "(a+)+$",
    "None",
    "true",
    "on",
    "-",
    ",",
    ",".join(["1"] * 3_000),
)
FILES = (
    b"",
    b"\x00" * 100,
    b"name: x\ntasks: [",
    b"a,b\n1,2,3\n",
    b"PK\x03\x04",
    b"\xff\xfe\x00",
    b"[" * 20_000,
    b"{}",
)
FILE_NAMES = ("x.yaml", "x.csv", "x.json", "x.jsonl", "x.zip", "../x.yaml", f"<{PROBE}>.yaml", "x" * 300)
LONGEST_IN_ADDRESS = 1_000
"""The web server refuses addresses of more than 4,094 bytes."""
KEPT = ("confirmed", "post", "csrfmiddlewaretoken", "action", "_selected_action")
"""Fields that are mostly left as they are, because a form goes no further without them."""


@dataclass
class Variant:
    """A request to send. A form with files is sent in several parts."""

    method: str
    path: str
    fields: dict[str, list[str | bytes]]
    files: dict[str, SimpleUploadedFile] = field(default_factory=dict)

    @property
    def encoded(self) -> str:
        return urlencode(self.fields, doseq=True)

    def __str__(self) -> str:
        shown = {name: [value[:80] for value in values] for name, values in self.fields.items()}
        return f"{self.method} {self.path} {shown} {list(self.files)}"


def variant(form: Form, dice: random.Random) -> Variant:
    """A form as it is filled in, but for one to three fields."""
    fields: dict[str, list[str | bytes]] = {name: list(given) for name, given in form.fields.items()}
    for name, options in form.options.items():
        if not fields.get(name) and options and dice.random() < 0.7:
            fields[name] = [dice.choice(options)]
    if form.method == "GET":
        # Links differ in their parameters, and each of these is only sometimes given.
        fields = {name: [dice.choice(given)] for name, given in fields.items() if given and dice.random() < 0.5}
    values = [value for value in VALUES if form.method != "GET" or len(value) <= LONGEST_IN_ADDRESS]
    names = [name for name in fields if name not in KEPT or dice.random() < 0.1]
    for name in dice.sample(names, min(len(names), dice.randint(0, 3))):
        change = dice.random()
        if change < 0.1:
            del fields[name]
        elif change < 0.2:
            fields[name] = [dice.choice(values), dice.choice(values)]
        else:
            fields[name] = [dice.choice(values)]
    if dice.random() < 0.1:
        fields[dice.choice(("x", "page", "pk", "__proto__", "next", "_popup", "_to_field", "o", "q"))] = [
            dice.choice(values)
        ]
    files = {
        name: SimpleUploadedFile(dice.choice(FILE_NAMES), dice.choice(FILES))
        for name in form.files
        if dice.random() < 0.9
    }
    return Variant(form.method, form.path, fields, files)
