"""curl commands as people write and browsers copy them."""

from __future__ import annotations

import pytest

from benchmarks.providers.systems.curl import curl_request
from benchmarks.providers.systems.pointing import escaped, parts_of, path_for, path_of, replaced, steps_of

TAKEN_APART = {
    "a plain request": ("curl http://h/ask?q=a", ("GET", "http://h/ask?q=a", {}, None)),
    "JSON over several lines": (
        "curl -X PUT 'https://h/ask' \\\n  -H 'X-Key: s3cret' \\\n  -d '{\"q\": \"it'\\''s\"}'",
        ("PUT", "https://h/ask", {"X-Key": "s3cret"}, {"q": "it's"}),
    ),
    "--json and no scheme": ('curl h:9/ask --json "{\\"q\\": 1}"', ("POST", "http://h:9/ask", {}, {"q": 1})),
    "flags together, a value attached": (
        "curl -sSLXPATCH -H'A: b' h --data-raw '[1]'",
        ("PATCH", "http://h", {"A": "b"}, [1]),
    ),
    "a user": ("curl -u a:b h -d '{}'", ("POST", "http://h", {"Authorization": "Basic YTpi"}, {})),
    "a user in the URL": ("curl https://a:b@h/x", ("GET", "https://h/x", {"Authorization": "Basic YTpi"}, None)),
    "a browser's copy": (
        "curl 'https://h/chat' \\\n  -H 'accept: */*' \\\n  -H 'content-type: application/json' \\\n"
        "  -b 'session=1' \\\n  -H 'sec-fetch-mode: cors' \\\n  -H 'origin: https://h' \\\n"
        '  --data-raw $\'{"q":"Don\\\'t\\u0021 \\ud83d\\ude00\\\\n"}\' \\\n  --compressed',
        ("POST", "https://h/chat", {"accept": "*/*", "Cookie": "session=1"}, {"q": "Don't! 😀\n"}),
    ),
    "line ends of Windows": ("curl \\\r\n h \\\r\n -d '1'", ("POST", "http://h", {}, 1)),
}


@pytest.mark.parametrize("case", TAKEN_APART)
def test_a_command_is_taken_apart_as_curl_reads_it(case: str) -> None:
    command, expected = TAKEN_APART[case]
    taken = curl_request(command)
    assert (taken.method, taken.url, taken.headers, taken.body) == expected


REFUSED = {
    "wget http://h": "not a curl command",
    "": "not a curl command",
    "curl": "no URL",
    "curl http://a http://b": "2 URLs",
    "curl h -d @body.json": "reads the file body.json",
    "curl h --json @body.json": "reads the file body.json",
    "curl h -H @headers": "reads the file headers",
    "curl h -F a=b": "form",
    "curl h -d a=b": "not JSON",
    "curl h -H 'Content-Type: application/x-www-form-urlencoded' -d '{}'": "body is JSON",
    "curl h -k": "Certificates",
    'curl h -H "Authorization: Bearer $TOKEN"': "$TOKEN is for the shell",
    "curl h -H X:$(cat key)": "for the shell",
    "curl h | jq .": "Paste the curl command alone",
    "curl h; rm -rf /": "Paste the curl command alone",
    "curl 'h": "not closed",
    'curl "h': "not closed",
    "curl $'h": "not closed",
    "curl h -X": "has no value",
    "curl h --upload-file x": "--upload-file cannot be taken over",
    "curl h -H nothing": "is not a header",
    'curl ^"http://h^" ^\n -H ^"a: b^"': "cURL (bash)",
    "curl h " + "x" * 200_000: "Shorten",
}


@pytest.mark.parametrize("command", REFUSED, ids=lambda command: command[:30])
def test_what_no_system_can_be_sent_is_refused_with_what_to_do(command: str) -> None:
    with pytest.raises(ValueError, match=REFUSED[command].replace("$", r"\$").replace("(", r"\(").replace(")", r"\)")):
        curl_request(command)


def test_pointing_at_a_part_gives_the_expression_that_finds_it() -> None:
    assert path_of(("choices", 0, "message", "x-text")) == 'choices[0].message."x-text"'
    assert path_of(()) == "@"
    assert path_for("answer", ("a", 0)) == "a[0]"
    assert path_for("retrieved", ("reply", "sources", 1, "text")) == "reply.sources[].text"
    assert path_for("retrieved", ("sources", 1)) == "sources[]"
    assert path_for("retrieved", (0, "text")) == "@[].text"
    assert path_for("retrieved", ("sources",)) == "sources"
    assert path_for("tool_calls", ("choices", 0, "calls", 2, "name")) == "choices[0].calls"


def test_a_large_or_deep_document_shows_a_bounded_part_of_itself() -> None:
    deep: object = "end"
    for _ in range(500):
        deep = [deep]
    assert len(parts_of(list(range(10_000)))) == 300
    assert max(part.depth for part in parts_of(deep)) == 20
    assert max(len(part.text) for part in parts_of(["x" * 10_000])) == 200


def test_a_value_of_the_body_becomes_the_question() -> None:
    body = {"messages": [{"role": "user", "content": "How high?"}], "n": 1}
    steps = steps_of(parts_of(body)[4].pointer)
    assert replaced(body, steps, "{input}") == {"messages": [{"role": "user", "content": "{input}"}], "n": 1}
    with pytest.raises(ValueError, match="no such part"):
        replaced(body, ("messages", 4), "{input}")
    for pointer in ("7", '{"a": 1}', "[[1]]", "[true]", "no"):
        with pytest.raises(ValueError, match=r"."):
            steps_of(pointer)
    assert escaped({"a{": ["{b}", 1]}) == {"a{{": ["{{b}}", 1]}
