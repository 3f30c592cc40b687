"""Find the final answer in a model's reply. Replies are hostile input: reading takes linear time.

A reader gives `read_reply` a function that finds the values in a short text. The rules here are the same for all
readers: thinking is not part of the answer; a marked answer ("Answer: ...", `\\boxed{...}`, "the answer is ...")
comes before everything else; the last mark counts if text stands between it and the one before it, otherwise both
count and have to agree; of a JSON object, its "answer" or its only value is read. Without a mark, the only emphasized
value counts, or a first line that is nothing else, unless the last sentence has another; otherwise the beginning and
the last sentence with a value have to agree. Nothing is guessed: values that contradict each other are all returned,
and a sentence that says what may be has none.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Set
from dataclasses import dataclass
from functools import lru_cache

Find = Callable[[str], Set[str]]
"""Returns the different values in a text of at most `MAX_READ` characters."""

MAX_SEARCHED = 100_000
"""Characters at the end of a reply in which marks are searched."""
MAX_PASSAGE = 2_000
"""Characters after a mark that are read."""
MAX_READ = 8_000
"""Characters of a reply without a mark that are read: a quarter at its beginning, the others at its end."""
MAX_MARKS = 50
"""How many marks, counted from the end of a reply, are read."""

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]"
)
_LINE_END = re.compile("\r\n|[\r\x85\u2028\u2029]")
_THINKING_TAG = re.compile(r"<(/?)(?:think|thinking|reasoning|thought)>", re.IGNORECASE)

_ANSWER = r"(?<![^\W_])(?:answer|antwort|réponse|respuesta)(?![^\W_])(?:[ \t]to[ \t][^.:=\n]{1,60}?)?[ \t*_`]{0,8}"
_VERB = r"(?:is|ist|est|es|would[ \t]be|must[ \t]be|should[ \t]be|has[ \t]to[ \t]be)(?![^\W_])"
_CJK_ANSWER = r"(?:答案|答え|正解|解答|回答)[ \t*_`]{0,8}(?:[是为為は](?!不)[ \t*_`]{0,8}[:：]?|[:：])"
_MARK = re.compile(
    rf"(?P<line>(?:{_ANSWER}(?:{_VERB}[ \t*_`]{{0,8}})?[:：=]|{_CJK_ANSWER})[*_`]{{0,4}})"
    r"|(?P<box>\\(?:boxed|fbox)[ \t]{0,8}\{)"
    # "The answer is Not in the text" gives an answer that begins so; "is not" and "is NOT" give none.
    rf"|(?P<sentence>{_ANSWER}{_VERB}(?![ \t]{{0,8}}(?-i:not|NOT)\b))"
    r"|(?P<heading>^[ \t#*_]{0,8}(?:the[ \t])?(?:final[ \t])?answer[ \t*_#]{0,8}$)",
    re.IGNORECASE | re.MULTILINE,
)
_CONDITION = re.compile(
    r"\b(?:if|whether|unless|hope|that|assume|suppose|not) (?:the|my|this|your|an)(?: \w{1,10})? ?$", re.IGNORECASE
)
_BETWEEN_MARKS = frozenset(
    {"the", "my", "so", "and", "or", "is", "thus", "therefore", "final", "correct", "hence", "answer"}
)
_CJK = "\u3040-\u30ff\u3400-\u9fff"
CJK = re.compile(f"[{_CJK}]")
_CJK_BORDER = re.compile(rf"(?<=[{_CJK}])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9%])(?=[{_CJK}])")
_CJK_NEGATED = re.compile(
    r"(?:并?不是|并?非|而不是)[^，。、；！？\n]+|[^，。、；！？\n]{0,60}?(?:では(?:ありません|ない|なく)|じゃない)"
)
_CJK_COPULA = re.compile(r"(?:です|である|だ)?。")
_QUOTED_LINES = re.compile(r"^[ \t]{0,3}>[ \t]?", re.MULTILINE)
_TAGGED = re.compile(r"<(answer|final_answer)>([^<]{0,2000})</\1>", re.IGNORECASE)
_STRUCK = re.compile(r"~~[^~\n]{1,500}~~")
_LAST_OBJECT = re.compile(r"(?:\A|```(?:json)?\s*\n)\s*(\{[^`]{1,4000}\})\s*(?:\n```)?\s*\Z")
_ANSWER_KEYS = ("answer", "final_answer", "finalanswer", "final answer", "result", "choice")
# Not what a reply answers: "If there is one, the answer is yes.", "Yes would be wrong.", "I first thought of Tom".
_UNSTATED = re.compile(
    r"(?:^|(?<=[.!?]\s))(?:if (?!i\b|you\b|we\b)|suppose |assuming |let us assume |let's assume )"
    r"[^.!?\n]{1,300}(?:[.!?]|$)"
    r"|[^.,;:!?\n]{1,100} would (?:be|have been) (?:wrong|incorrect|false|a mistake|too|tempting)\b"
    r"(?: to (?:say|answer|claim|conclude)\b[^.,;:!?\n]{1,100})?"
    r"|(?:^|(?<=[.!?]\s))(?:initially|originally|at first),? [^.,;:!?\n]{1,100}, but\b"
    r"|\b(?:I (?:first|initially|originally)|(?:at )?first,? I|initially,? I) (?:thought|had|counted|got|said|guessed)"
    r"\b[^.,;!?\n]{1,200}"
    r"|(?:^|(?<=[.!?]\s))[^.,;:!?\n]{1,60} at first(?: glance)?\b(?=,)",
    re.IGNORECASE | re.MULTILINE,
)
_UNCERTAIN = re.compile(
    r"\b(?:might|could(?! (?:not|see|find))|may|maybe|perhaps|possibly|either|impossible|supposedly|would have"
    r"|(?:un|not )(?:sure|certain|clear)|(?:many|some|most)(?: people)? (?:think|believe|say|would)|claim(?:s|ed)?"
    r"|often|(?:at first|initially|originally)(?!.{0,200}\bbut\b)|mistaken\w*|misconception"
    r"|vielleicht|könnte|peut-être|pourrait|quizás?|tal vez|podría)\b"
    r"|可能|也许|かもしれ|おそらく",
    re.IGNORECASE,
)
_TAKES_BACK = re.compile(
    r"^\W{0,4}(?:no|but|however|although|or|rather|instead|alternatively|unless)\b"
    r"|\b(?:correct(?:ed)? (?:answer|amount|value|number|result)"
    r"|wait|actually|sorry|correction|hmm|oops|mistake|second thought|re-?check\w*|reconsider\w*)\b",
    re.IGNORECASE,
)
_TICKED, _CROSSED = re.compile(r"[✓✔✅☑]"), re.compile(r"[✗✘❌✕]")
INTRODUCTION = re.compile(
    r"^\W{0,4}(?:after|before|when|with|if|of|since|because|by|from|given|starting|out of|as|once|to|adding|taking"
    r"|subtracting|selling|in|at|for|on|nach|von|bei|après|sur|después|de)\b[^,;:\n]*,(?!\d)\s",
    re.IGNORECASE,
)
EMPHASIS = re.compile(r"\*\*([^*\n]{0,199}[^*\n:])\*\*(?!:)")
_BARE = re.compile(r"[^\s:]+(?: [^\s:]+)?")
_MAX_REMARK = 6
"""Words. A bare first line is an answer by itself, if what follows is a sentence of more than these."""
_CONCLUDES = re.compile(r"\W{0,4}(?:so|therefore|thus|hence|in total|in conclusion|finally|total)\b", re.IGNORECASE)
_SENTENCE_END = re.compile(
    r"(?<!\bi\.e)(?<!\be\.g)(?<!\b[DM]r)(?<!\bMrs)(?<!approx)(?<!\bca)(?<!\bSt)[.!?;]{1,8}[*_`\"”’')\]]{0,6}(?:\s+|$)|\n+"
)
QUESTION = re.compile(r"[^.!?\n]{0,300}\?")
_REMARK = re.compile(r"\((?!or\b)[^()]{0,500}\)")
_LIST_NUMBER = re.compile(r"^[ \t]*\(?\d{1,3}[.)][ \t]+(?=\S)", re.MULTILINE)
_BULLET = re.compile(r"^[ \t]*[-*•+][ \t]+(?=\S)", re.MULTILINE)
_CLAUSE_END = re.compile(r",(?!\d)|[:(]|\s[-–—]\s|\b(?:because|since|as)\b", re.IGNORECASE)
_ALTERNATIVE = re.compile(r"\W{0,4}(?:or|and|to|so|thus|hence|therefore)\b", re.IGNORECASE)
_LATEX_TEXT = re.compile(r"\\(?:text|textbf|mathrm|mathbf|textrm)\{([^{}]{0,200})\}")
_OWN_STOP = re.compile(r"(?:\.\.|(?<![^\W_])[^\W\d_]{1,2}(?:\.[^\W\d_]{1,2}){1,8}\.)$")
"""What at the end of a text has a stop that is not that of a sentence: "..." and "U.S."."""
_WRAPPERS = (
    *(("**", "**"), ("__", "__"), ("`", "`"), ("*", "*"), ("_", "_"), ('"', '"'), ("“", "”"), ("„", "“"), ("'", "'")),
    *(("「", "」"), ("『", "』"), ("<b>", "</b>"), ("<strong>", "</strong>")),
    *(("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]"), ("<", ">")),
)


@dataclass(frozen=True, slots=True)
class Reading:
    """The different values of a final answer, and the text that decides. Only one value is a readable answer.

    `is_open` says that the text is a sentence without a mark, so that other values in it may have been meant.
    """

    values: frozenset[str]
    text: str
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class MarkedAnswer:
    """The text after a mark, unwrapped and as it is `written`, and the place of both. `kind`: line, box, heading or
    sentence."""

    text: str
    written: str
    kind: str
    start: int
    end: int


def answer_body(output: str) -> str:
    """Return the answer without thinking blocks, control characters and bidirectional marks, in NFC, stripped."""
    text = _LINE_END.sub("\n", without_thinking(output))
    return unicodedata.normalize("NFC", without_invisible(text)).strip()


def without_invisible(text: str) -> str:
    """Return the text without control characters and bidirectional marks."""
    return _INVISIBLE.sub("", text)


@lru_cache(maxsize=2)  # readers of one reply come one after the other, and replies may be large
def deciding_body(output: str) -> str:
    """Return what of `answer_body` says the answer: inside `<answer>` tags, the answer of a JSON object, the ticked
    one of ticked and crossed lines; else all of it. Quotation marks of lines, text struck through, conditions and what
    a Chinese or Japanese clause negates are left out. A very long body is returned whole."""
    body = answer_body(output)
    if len(body) > MAX_SEARCHED:
        return body
    lines = [line for line in body.split("\n") if line.strip()]
    if lines and all(line.lstrip().startswith(">") for line in lines):
        body = _QUOTED_LINES.sub("", body).strip()
    if tagged := _TAGGED.findall(body):
        body = tagged[-1][1].strip()
    if (answer := _answer_of_object(body)) is not None:
        body = answer
    ticked = [line for line in body.split("\n") if _TICKED.search(line)]
    if len(ticked) == 1 and _CROSSED.search(body) and not _CROSSED.search(ticked[0]):
        body = _TICKED.sub("", ticked[0]).strip()
    if len(body) <= MAX_READ:  # the patterns look ahead up to hundreds of characters at each place
        body = _UNSTATED.sub(" ", _STRUCK.sub(" ", body)).strip()
    if not (CJK.search(body) or "。" in body):
        return body
    body = _CJK_COPULA.sub(". ", _CJK_NEGATED.sub(" ", body))
    return _CJK_BORDER.sub(" ", re.sub(r"です$", "", body.strip())).strip()


def _answer_of_object(body: str) -> str | None:
    """The answer in the JSON object that a body is or ends with, in a fence; None if there is none."""
    found = _LAST_OBJECT.search(body)
    if found is None:
        return None
    try:
        data = json.loads(found.group(1))
    except (ValueError, RecursionError):
        return None
    folded = {str(key).strip().casefold(): value for key, value in data.items()}
    keys = [key for key in _ANSWER_KEYS if key in folded]
    if not keys and len(folded) != 1:
        return None
    value = folded[keys[0]] if keys else next(iter(folded.values()))
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, list) and not any(isinstance(entry, dict | list) for entry in value):
        return ", ".join(map(str, value))
    return None if isinstance(value, dict | list) else "" if value is None else str(value).strip()


def without_thinking(output: str) -> str:
    """Drop `<think>` blocks. An unclosed one extends to the end; a closing tag without an opening one drops all
    before it."""
    kept: list[str] = []
    position = depth = 0
    for tag in _THINKING_TAG.finditer(output):
        if not tag.group(1):
            if depth == 0:
                kept.append(output[position : tag.start()])
            depth += 1
        elif depth == 0:
            kept.clear()
        else:
            depth -= 1
        position = tag.end()
    if depth == 0:
        kept.append(output[position:])
    return "".join(kept)


def marked_answers(body: str) -> list[list[MarkedAnswer]]:
    """Return the marked answers of a body in groups, the last one first. Nothing stands between those of a group."""
    groups: list[list[MarkedAnswer]] = []
    following: MarkedAnswer | None = None
    marks = _MARK.finditer(body, max(0, len(body) - MAX_SEARCHED))
    for mark in reversed(list(marks)[-MAX_MARKS:]):
        answer = _after_mark(body, mark, following)
        if answer is None:
            continue
        between = body[answer.end : following.start] if following else ""
        if groups and len(between) < 100 and set(re.findall(r"\w+", between.lower())) <= _BETWEEN_MARKS:
            groups[-1].insert(0, answer)
        else:
            groups.append([answer])
        following = answer
    return groups


def read_reply(output: str, find: Find, question: str = "") -> Reading:
    """Return the final answer of a reply, by the rules at the top of this module."""
    body = deciding_body(output)
    for group in marked_answers(body):
        values = frozenset[str]().union(*(_values_of_passage(answer.text, find) for answer in group))
        if values or group[-1].kind != "sentence":  # "the answer is" may begin any sentence, "Answer:" announces one
            return Reading(values, "\n".join(answer.text for answer in group))
    return _read_unmarked(body, find, question)


def unwrap(text: str) -> str:
    """Remove surrounding white space, emphasis, quotes, math delimiters and the full stop of a sentence."""
    return layers(text)[-1]


def layers(text: str) -> list[str]:
    """The text, then what is left of it each time that `unwrap` removes something: `"'a'."`, `'a'.`, `'a'`, `a`."""
    found, before = [text.strip()], ""
    if found[0][:1].isalnum() and found[0][-1:].isalnum() and "\\" not in text:
        return found  # most words: nothing is around them
    while found[-1] != before:
        before = found[-1]
        found.append(without_stop(before))
        for opening, closing in _WRAPPERS:
            inner = found[-1][len(opening) : -len(closing)]
            is_around = found[-1].startswith(opening) and found[-1].endswith(closing)
            if inner and is_around and opening not in inner and closing not in inner:
                found.append(inner.strip())
    return list(dict.fromkeys([*found, _LATEX_TEXT.sub(r"\1", before).strip()]))


def without_stop(text: str) -> str:
    """The text without the full stop at its end; "U.S." and "..." keep their dots."""
    return text if _OWN_STOP.search(text[-30:]) else text.removesuffix("。").removesuffix(".").rstrip()


def is_uncertain(text: str) -> bool:
    """Whether a text says that something is possible, or what others say, rather than that it is so."""
    return bool(_UNCERTAIN.search(text))


def takes_back(sentence: str) -> bool:
    """Whether a sentence may correct the one before it."""
    return bool(_TAKES_BACK.search(sentence))


def sentences(text: str) -> list[str]:
    return [sentence for part in _SENTENCE_END.split(text) if (sentence := part.strip())]


def _after_mark(body: str, mark: re.Match[str], following: MarkedAnswer | None) -> MarkedAnswer | None:
    """Return the answer between a mark and the following one; None if there is none, or the mark is a quotation."""
    kind = str(mark.lastgroup)
    start, position = mark.span()
    passage = body[position : position + MAX_PASSAGE]
    if kind == "box":
        passage = _inside_braces(passage)
    else:
        before = body[max(0, start - 200) : start].rpartition("\n")[2]
        if _is_quoted(before, passage.partition("\n")[0]) or (kind == "sentence" and _CONDITION.search(before)):
            return None
        line_start = len(passage) - len(passage.lstrip())
        passage = passage[: line_start + len(passage[line_start:].partition("\n")[0])]
        if kind == "sentence":
            passage = passage[: line_start + len(_SENTENCE_END.split(passage[line_start:], maxsplit=1)[0])]
        if following and following.start < position + len(passage):
            if following.kind == "box":
                return None
            passage = passage[: max(0, following.start - position)]
    written = _without_open_emphasis(passage.strip())
    text = unwrap(written)
    if not any(character.isalnum() for character in text):
        return None
    return MarkedAnswer(text, written, kind, start, position + len(passage))


def _is_quoted(before: str, after: str) -> bool:
    """Whether a mark with this text before and after it is quoted. Quotes around the whole line do not count."""
    is_open = before.count('"') % 2 == 1 or before.count("“") > before.count("”")
    whole_line = before.lstrip(" \t*_#>-")[:1] in {'"', "“"} and after.rstrip(" \t*_.")[-1:] in {'"', "”"}
    return is_open and not whole_line


def _inside_braces(text: str) -> str:
    """Return the text before the brace that closes an opened one; empty if there is none."""
    depth = 1
    for brace in re.finditer(r"[{}]", text):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return text[: brace.start()]
    return ""


def _without_open_emphasis(text: str) -> str:
    """Remove emphasis at the end that began before the text: the last two stars of `**Answer: Yes**`."""
    for mark in ("**", "__", "`", '"'):
        if text.count(mark) % 2 == 1:
            text = text.removesuffix(".").removesuffix(mark)
    return text


def _values_of_passage(text: str, find: Find) -> Set[str]:
    """Return the values after a mark; if they disagree, those outside remarks in parentheses, or of the first clause.

    "2 (one red, one blue)" and "yes, because no other is left" begin with the answer; "2 or 3" has alternatives.
    """
    values = find(text)
    if len(values) <= 1:
        return values
    outside = _REMARK.sub(" ", text)
    if len(remaining := find(outside)) == 1:
        return remaining
    return _opening(outside, find) or values


def _opening(text: str, find: Find) -> Set[str]:
    """Return the value of the first clause, unless an alternative follows at once: "2 or 3", "yes, no"."""
    end = _CLAUSE_END.search(text)
    if end is None:
        return frozenset()
    values, rest = find(text[: end.start()]), text[end.end() :]
    next_word = rest.split(maxsplit=1)[:1] if end.group() == "," else []
    alternative = _ALTERNATIVE.match(rest) or (next_word and find(next_word[0]))
    return values if len(values) == 1 and not alternative else frozenset()


def _read_unmarked(body: str, find: Find, question: str) -> Reading:
    """Return the value that stands out, or that of the last sentence with one; where they differ, both."""
    if len(body) > MAX_READ:
        body = f"{body[: MAX_READ // 4]}\n{body[-3 * MAX_READ // 4 :]}"
    if len(_LIST_NUMBER.findall(body)) > 1:  # "3. There are three circles" alone is an answer, not a list
        body = _LIST_NUMBER.sub("", body)
    if len(_BULLET.findall(body)) > 1:  # "- 5" alone is a number
        body = _BULLET.sub("", body)
    body = QUESTION.sub(" ", body)
    prose = _read_sentences(unwrap(body), find, question)
    lines = [line for line in body.split("\n") if line.strip()]
    emphasized = [text for text in EMPHASIS.findall(body) if find(text)]
    values = frozenset[str]().union(*map(find, emphasized))
    if len(values) == 1:
        line = next((line for line in reversed(sentences(body)) if emphasized[-1].rstrip(".!?; ") in line), body)
        values = values if find(line) >= values else frozenset()
        is_apart = line in lines[0] or line in lines[-1]
    elif len(lines) > 1 and _BARE.fullmatch(lines[0]) and len(values := frozenset(find(lines[0]))) == 1:
        line = lines[0]
        is_apart = len(prose.text.split()) > _MAX_REMARK and body.strip().startswith(f"{line}\n\n")
    else:
        return prose
    if is_uncertain(line):
        return Reading(frozenset(), line)
    is_final = not is_apart or _CONCLUDES.match(prose.text) or any(map(takes_back, sentences(body.rpartition(line)[2])))
    return Reading(values | prose.values if is_final else values, line)


def _read_sentences(body: str, find: Find, question: str) -> Reading:
    """Return the value of the last sentence with one; a reply that begins with a value has to end with the same.

    A first sentence that has more words of the question is the answer, unless the last one concludes or corrects it.
    """
    outside = _REMARK.sub(" ", body)
    body = outside if find(outside) else body
    everywhere = frozenset(find(body))
    parts = sentences(body)
    if not parts:
        return Reading(everywhere, "")
    in_parts = ((part, find(_REMARK.sub(" ", part)) or find(part)) for part in reversed(parts))
    last, closing = next(((part, values) for part, values in in_parts if values), (body, everywhere))
    first = _REMARK.sub(" ", parts[0])
    opening = find(first)
    is_corrected = any(map(takes_back, parts[1:])) or _CONCLUDES.match(last)
    if len(opening) == 1 and not is_corrected and shared_words(first, question) > shared_words(last, question):
        last, closing = parts[0], opening
    if is_uncertain(last):
        return Reading(frozenset(), last)
    if len(everywhere) <= 1:
        return Reading(everywhere, last, is_open=True)
    if len(opening) > 1:
        opening = _opening(first, find)
    # "2. The first is at (3, 4)" begins with its answer; "The first is small" only mentions something.
    if len(opening) == 1 and "/" not in (word := first.split(maxsplit=1)[0]) and opening == find(word):
        agree = len(closing) != 1 or closing == opening or last == parts[0]
        return Reading(frozenset(opening if agree else opening | closing), parts[0], is_open=True)
    return Reading(frozenset(closing), last, is_open=True)


def shared_words(text: str, question: str) -> int:
    """How many words of three letters or more a text has in common with the last sentence of a question that asks.

    Words are compared by their first six letters.
    """
    asking = re.findall(r"[^.!?\n]*\?", question)
    return len(_long_words(text) & _long_words(asking[-1] if asking else question))


def _long_words(text: str) -> set[str]:
    return {word[:6] for word in re.findall(r"[^\W\d_]{3,}", text.lower())}
