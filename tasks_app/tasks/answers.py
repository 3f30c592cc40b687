"""Readers of answers, by kind of answer. `reply.py` finds the final answer; the functions here find values in a text.

"Not enough information" scores 0. A reply with no answer, or with several that disagree, is unparsable, which is not
the same as wrong. What is negated ("not left", "isn't 5") is not an answer. The corpus in `tests/answers` has examples.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence, Set
from functools import partial

from tasks_app.tasks.numerals import cjk_number, numbers_in
from tasks_app.tasks.reply import CJK, MAX_SEARCHED, Find, Reading, deciding_body, marked_answers, read_reply, sentences
from tasks_app.tasks.verdict import Verdict

ABSTENTION = re.compile(
    r"\bnot enough information\b|\binsufficient information\b|\b(?:can ?not|can't|could not|couldn't) (?:be )?"
    r"(?:determined?|tell|say|answer(?:ed)?|know)\b|\b(?:do not|don't) know\b(?! why| how)|\bun(?:known|determined)\b|"
    r"\bimpossible to (?:tell|say|determine|know)\b|\b(?:i am|i'm) not (?:sure|certain)\b|\bno (?:idea|way to)\b"
)
_ABSTAINED = "not enough information"

_MARKUP = str.maketrans({"*": None, "`": None, "#": None, "$": None, "_": " ", "{": " ", "}": " ", "\\": " "})
_PUNCTUATION = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "−": "-", "–": "-", "—": ","})
_INNER_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*|-?\d+(?:,\d{3})*(?:\.\d+)?")
# From a negation to the end of its clause; "not left but right" keeps "but right".
_NEGATED = re.compile(
    r"(?:\b(?:not|never|neither|nor|cannot|rather than|instead of)\b|n't\b)[^.,;:!?\n]*?(?=\bbut\b|[.,;:!?\n]|$)"
)
_NOUN = r"(?:circle|square|triangle|shape)s?\b"
# A shape with up to four words before it, such as "small red circles".
_KIND = rf"(?:[a-z]+,? ){{0,4}}?{_NOUN}"
# "No other circle" does not say that there is none.
_OTHER = r"(?!other|more|further|additional)"
_CONCLUSION = re.compile(r"(?:so|therefore|thus|hence|in conclusion|finally|in the end|after all)\b")

_YES = re.compile(
    r"\b(?:yes|yeah|yep|yup)\b|^(?:ja|oui|sí)\b"
    r"|(?:^|[.!?\n]\s{0,4})(?:correct|true|affirmative|y)(?=\W{0,4}(?:[.,;!?\n]|$))"
    r"|\b(?:that|this|it|statement)(?:'s| is) (?:correct|true)\b"
)
_NO = re.compile(
    r"\b(?:no|nope)\b(?=\s{0,4}(?:[.,;:!?\n)/\"'-]|$|(?:there|it|i|the|because|since|as|or|and)\b))"
    r"|^(?:nein|non)\b|^(?:\w+ )?not\W*$|(?:^|[.!?\n]\s{0,4})(?:incorrect|false|negative|n)(?=\W{0,4}(?:[.,;!?\n]|$))"
    r"|(?:\bnot|n't)\b[^.,;:!?\n]{0,20}\byes\b"
    r"|\b(?:that|this|it|statement)(?:'s| is) (?:not (?:correct|true)|incorrect|false)\b"
)
# "There is a small red circle", "the circle is still present"; not "whether there is".
_PRESENT = re.compile(
    rf"(?<!whether )(?<!if )(?:\bthere (?:is|are|exists?|remains?)|\bthere's"
    rf"|\b(?:canvas|it|list|picture|image|scene) (?:\w+ )?(?:has|contains|includes|shows)"
    rf"|\bi (?:can |could )?(?:see|find|found|count|spot)|\b(?:shape|one|entry \d{1, 3}) is)"
    rf"(?: (?!no\b|not\b)\w+){{0,2}}? (?:an?|one|two|three|four|\d{{1,2}}) {_KIND}"
    rf"|{_NOUN} (?:is|are) (?:indeed |still |also |now )?(?:present|there|visible|left|listed|(?:in|on) the canvas)\b"
    rf"|\b(?:an?|one) {_KIND} (?:exists|remains|appears|can be (?:seen|found))\b"
    rf"|^indeed,? there (?:is|are)\b|^there (?:is|are) (?:indeed )?(?:one|such (?:a|an) \w+)\W*$"
    rf"|^there (?:is|are) (?:indeed )?one(?:[:,] | \()(?:the|an?) {_KIND}|^(?:es gibt eine?n?|il y a une?|hay una?)\b"
)
# "No red circle", "there isn't a circle", "does not contain a circle", "the circle is not in the canvas".
_ABSENT = re.compile(
    rf"\bno {_OTHER}{_KIND}(?! (?:was|were|is|are|has been|have been) (?:removed|changed|deleted|missing))"
    rf"|{_NOUN} (?:does not|doesn't|no longer) exist"
    rf"|\bnone of (?:the |these |those )?(?:\w+ )?{_NOUN} (?:is|are)\b|\bthere (?:is|are) none\b"
    rf"|\b(?:so )?none (?:remains?|exists?|(?:is|are) (?:left|there|present))\b|\bbut not (?:an?|any) {_KIND}"
    rf"|\b(?:all|every|the only) {_KIND} (?:was|were|has been|have been|is|are) (?:removed|deleted|gone)\b"
    rf"|(?:there (?:is|are)(?: not|n't)|(?:not|n't|cannot) (?:\w+ )?(?:see|find|contain|have|include|show|spot))"
    rf" (?:an?|any) {_OTHER}{_KIND}"
    rf"|{_NOUN} (?:is|are)(?: not|n't) (?:\w+ )?(?:present|there|listed|visible|left|(?:in|on) the canvas)\b"
    r"|^(?:es gibt keine?n?|il n'y a (?:pas|aucune?)|no hay)\b"
)

# Numbers that are not counts: coordinates, sizes, ordinals, sums without a result, bounds.
_MEASURE = re.compile(
    r"\([^()\n]{0,30}\d[^()\n]{0,30},[^()\n]{0,60}\)|\b(?:radius|length|step|x|y)(?: of| is|=|:)? ?-?\d+(?:\.\d+)?"
    r"|\b\d+(?:st|nd|rd|th)\b|\b\d+(?: ?[+/×] ?\d+){1,20}"
    r"|\b(?:at least|at most|more than|less than|fewer than|up to) \w+"
)
_NONE_OF = re.compile(
    rf"\bnone of (?!the (?:other|rest))(?:the |these |those |them )?(?:\w+ )?|\bno {_OTHER}{_KIND}"
    rf"|(?:\bnot|n't) (?:\w+ )?any {_KIND}|\bthere (?:is|are)(?: not|n't) any\b(?! other)"
)
_NOTHING = re.compile(r"\b(?:none|nothing|nil)\b")
# "3 of the 7": the first number is the count.
_PART = re.compile(r"\b(\w+)(?:,? out)? of (?:the |these |those |all )?(?:the )?(\w+)\b")
# "1 of them" and "these 3 circles" are not counts if there is another number.
_SOME_OF = re.compile(rf"\b\w+ of (?:them|which|these|those)\b|\b(?:the|these|those|all) \w+ {_KIND}")
_ALL_SHAPES = re.compile(r"\b(?:\w+ty )?\w[\w-]{0,30} shapes?\b")
# "One" that is not a number: "the red one", "one is red"; but "one circle", "there is one".
_PRONOUN = re.compile(
    r"\b(?:(?:this|that|each|every|another|other|which|no|any|the|red|blue|yellow|green|small|large) ones?\b"
    rf"|one\b(?!\s{{0,4}}(?:[.,;:!?)\n]|$)| {_KIND}| such\b))"
)
_TOTAL = re.compile(
    r"\btotal(?: number)?(?: of)?(?: [a-z]+){0,4}?(?: is| are|:)? (\w+)|\b(\w+) (?:in total|altogether|in all)\b"
)
_STATES = re.compile(
    r"\W*(?:there (?:are|is)|(?:i|we) (?:can )?(?:see|find|found|count|counted|have)|the canvas has)\b"
)
_CONCLUDING = re.compile(r"=|, (?:so|hence|thus|therefore|making)\b")
_LIMITS = re.compile(r"\b(?:only|so|of which)\b")
_CLAUSE_END = re.compile(r",(?!\d)|[:(]")

_DIRECTION_WORDS = {
    "above": "above", "over": "above", "top": "above", "upper": "above", "up": "above", "higher": "above",
    "north": "above", "below": "below", "under": "below", "beneath": "below", "underneath": "below", "bottom": "below",
    "lower": "below", "down": "below", "south": "below", "left": "left", "leftward": "left", "west": "left",
    "right": "right", "rightward": "right", "east": "right", "oben": "above", "über": "above", "oberhalb": "above",
    "unten": "below", "unter": "below", "unterhalb": "below", "links": "left", "rechts": "right", "dessus": "above",
    "haut": "above", "dessous": "below", "bas": "below", "gauche": "left", "droite": "right", "arriba": "above",
    "encima": "above", "abajo": "below", "debajo": "below", "izquierda": "left", "derecha": "right",
}  # fmt: skip
_COMPOUND = re.compile(r"\b(above|top|upper|north|below|bottom|lower|south)(left|right|west|east)")
# "That's right", "right angle", "a higher x": words of directions with another meaning.
_NOT_A_DIRECTION = re.compile(
    r"\b(?:that's|that is|you're|you are|all|is) right\b(?=\W{0,4}(?:$|[.!,:]))"
    r"|\bright (?:answer|triangle|angle)\b|\bleft over\b|^right,? (?=(?:the|so|it|it's|that|there|this|i)\b)"
    r"|\b(?:higher|lower|bigger|smaller|greater) [xy]\b|\b[xy]\b[^.,;\n]{0,40}?\b(?:higher|lower|up|down)\b"
)
# The reason or relative clause after an answer, which may name other directions.
_REASON = re.compile(r"\b(?:because|since|as (?:its?|the)|given|which)\b[^.;!?\n]*")
_OPPOSITES = ({"above", "below"}, {"left", "right"})
_OPPOSITE = {"above": "below", "below": "above", "left": "right", "right": "left"}


# Words of Chinese and Japanese answers, the longer ones first; those without a meaning here are left out.
_CJK_WORDS = {
    **dict.fromkeys(("画布上", "图上", "画面上", "キャンバス上", "以上", "以下", "上記", "下記", "上述", "如下"), " "),
    **dict.fromkeys(("没有", "沒有", "不存在", "いいえ", "ありません", "不是", "不对"), " no, "),
    **dict.fromkeys(("是的", "存在する", "存在します", "存在", "あります", "はい", "对的", "正确"), " yes, "),
    **dict.fromkeys(("左边", "左側", "左侧"), " left "), **dict.fromkeys(("右边", "右側", "右侧"), " right "),
    **dict.fromkeys(("上方", "上边", "上側"), " above "), **dict.fromkeys(("下方", "下边", "下側"), " below "),
    "左": " left ", "右": " right ", "上": " above ", "下": " below ",
    **dict.fromkeys(("大きな", "大きい", "大的", "大"), " large "),
    **dict.fromkeys(("小さな", "小さい", "小的", "小"), " small "),
    **dict.fromkeys(("红色", "紅色", "赤色", "赤い", "红", "赤"), " red "),
    **dict.fromkeys(("蓝色", "藍色", "青色", "青い", "蓝", "青"), " blue "),
    **dict.fromkeys(("黄色い", "黄色", "黄"), " yellow "),
    **dict.fromkeys(("绿色", "緑色", "緑の", "绿", "緑"), " green "),
    **dict.fromkeys(("圆形", "圓形", "円形", "圆", "円"), " circle "),
    **dict.fromkeys(("正方形", "方形", "四角形", "四角"), " square "), "三角形": " triangle ", "三角": " triangle ",
}  # fmt: skip
_CJK_WORD = re.compile("|".join(sorted(_CJK_WORDS, key=len, reverse=True)))
_CJK_ALONE = {"有": "yes", "是": "yes", "对": "yes", "否": "no", "无": "no", "不": "no", "没": "no"}
_CJK_NUMBER = re.compile(
    r"([一二三四五六七八九十两零]{1,3})(?=[个個つ人枚只块]|\W|$)|(?<!\w)(?:没有|ありません|なし|ない)(?=\W|$)"
)

_FULL_NAME = re.compile(r"\b(?:small|large|big) (?:red|blue|yellow|green) (?:circle|square|triangle)\b")
_ASKED_KIND = re.compile(rf"\bis there an? ({_KIND})")
_ASKED_COUNT = re.compile(rf"\bhow many ({_KIND})")
_ASKED_PAIR = re.compile(r"\bwhere is the ([a-z ]{3,60}?) (?:relative to|from) the ([a-z ]{3,60}?)\?")

_SIZES = {"small": "small", "large": "large", "big": "large"}
_COLORS = frozenset({"red", "blue", "yellow", "green"})
_SHAPES = frozenset({"circle", "square", "triangle"})
_ATTRIBUTES = (frozenset(_SIZES.values()), _COLORS, _SHAPES)
_COUNTED = re.compile(rf"\b\w+ {_KIND}")


def judge_contained(expected: str, actual: str) -> Verdict:
    """1 if the reply, all of it, contains the expected answer, in upper or lower case."""
    if not actual.strip():
        return Verdict.unparsable("The answer is empty.", failure="Empty answer")
    if str(expected).lower() in actual.lower():
        return Verdict.of(1.0, None, f"Contains {expected!r}.")
    return Verdict.of(0.0, None, f"Does not contain {expected!r}.")


def judge_phrase(expected: str, actual: str) -> Verdict:
    """1 if the reply's answer contains the expected one, word by word; number words count as numbers."""
    body = deciding_body(actual)
    marked = next((group for group in marked_answers(body) if group[-1].kind != "sentence"), [])
    texts = [answer.text for answer in marked] or [body[-MAX_SEARCHED:]]
    answers = [
        _phrase(text if _NEGATED.search(_plain(expected)) else _NEGATED.sub(" ", _plain(text))) for text in texts
    ]
    if not any(answer.strip() for answer in answers):
        return Verdict.unparsable("The answer is empty.", failure="Empty answer")
    wanted = _phrase(expected)
    shown = answers[-1].strip()
    if all(wanted in answer for answer in answers):
        return Verdict.of(1.0, shown, f"Contains {expected!r}.")
    return Verdict.of(0.0, shown, f"Does not contain {expected!r}.")


def judge_yes_no(expected: str, actual: str, question: str = "") -> Verdict:
    """1 if the reply says Yes or No, whichever is expected; "there is a circle" is Yes, "there is no circle" No.

    If the question asks for a kind of shape, presence of another kind says nothing.
    """
    asked = _ASKED_KIND.search(question.lower())
    kind = _kind(asked.group(1)) if asked else None
    return _judge_single(expected.lower(), actual, partial(yes_or_no, kind=kind), "yes or no", _swapped_answer)


def judge_count(expected: str, actual: str, question: str = "") -> Verdict:
    """1 if the reply's number, in digits or words, is the expected one; "none" and "no circles" are 0.

    If the question asks for a kind of shape, numbers of other kinds say nothing.
    """
    asked = _ASKED_COUNT.search(question.lower())
    find = partial(counts, kind=_kind(asked.group(1)) if asked else frozenset())
    return _judge_single(expected, actual, find, "a number", _miscount, all_values=lambda text: _numbers(_plain(text)))


def judge_shape(expected: str, actual: str, question: str = "") -> Verdict:
    """1 if the reply names the expected shape by size, color and shape, in any order of the first two."""
    return _judge_single(expected.lower(), actual, shape_names, "a shape", _other_shape, question=question)


def judge_directions(expected: str, actual: str, question: str = "") -> Verdict:
    """Each expected direction is an equal share of 1; a wrong one subtracts ½; the score is at least 0.

    If the question names two shapes, a sentence about the second one's place is turned round, and one about others says
    nothing.
    """
    asked = _ASKED_PAIR.search(question.lower())
    reading = read_reply(actual, partial(directions, pair=asked.groups() if asked else None))
    if problem := _unreadable(reading, "a direction"):
        return problem
    (answer,) = reading.values
    wanted, given = set(" ".join(directions(expected)).split()) or {expected}, set(answer.split())
    hits, misses = wanted & given, given - wanted
    value = max(0.0, len(hits) / len(wanted) - len(misses) / 2)
    reason = f"{len(hits)} of {len(wanted)} directions correct, {len(misses)} wrong."
    return Verdict.of(value, answer, reason, "" if value == 1 else _other_direction(wanted, given))


def _judge_single(
    expected: str,
    actual: str,
    find: Find,
    what: str,
    failure_of: Callable[[str, str], str],
    *,
    all_values: Find = lambda _: frozenset(),
    question: str = "",
) -> Verdict:
    reading = read_reply(actual, find, question)
    if problem := _unreadable(reading, what):
        return problem
    (answer,) = reading.values
    if answer == expected:
        return Verdict.of(1.0, answer, f"Found {answer!r}.")
    if reading.is_open and expected in all_values(reading.text):
        reason = f"The answer mentions {expected!r} and {answer!r}, and does not certainly give either."
        return Verdict.unparsable(reason, f"{expected}, {answer}", "Several answers")
    return Verdict.of(0.0, answer, f"Found {answer!r}, expected {expected!r}.", failure_of(expected, answer))


def _swapped_answer(expected: str, answer: str) -> str:
    return f"Said {answer} instead of {expected}"


def _miscount(expected: str, answer: str) -> str:
    difference = float(answer) - float(expected)
    return f"Counted {'one' if abs(difference) <= 1 else 'two or more'} too {'many' if difference > 0 else 'few'}"


def _other_shape(expected: str, answer: str) -> str:
    wanted, given = expected.split(), answer.split()
    if set(given) < set(wanted):
        return "Named the shape incompletely"
    wrong = [what for what, a, b in zip(("size", "color", "shape"), wanted, given, strict=False) if a != b]
    return f"Wrong {wrong[0]}" if len(wrong) == 1 and len(wanted) == len(given) == 3 else "Named a different shape"


def _other_direction(wanted: Set[str], given: Set[str]) -> str:
    swapped = {name for name in given - wanted if _OPPOSITE[name] in wanted}
    if len(swapped) > 1:
        return "Both directions swapped"
    if swapped:
        return "Left and right swapped" if swapped & {"left", "right"} else "Above and below swapped"
    if given < wanted:
        return "A direction is missing"
    return "One direction too many" if given > wanted else "Different direction"


def _unreadable(reading: Reading, what: str) -> Verdict | None:
    """The verdict on a reply that abstains, or contains no answer or several; None if it has exactly one."""
    if ABSTENTION.search(_plain(reading.text)):
        reason = "The answer says that there is not enough information."
        return Verdict.of(0.0, _ABSTAINED, reason, "Said there is not enough information")
    if len(reading.values) == 1:
        return None
    if reading.values:
        several = ", ".join(sorted(reading.values))
        return Verdict.unparsable(f"The answer contains more than one of: {what}.", several, "Several answers")
    return Verdict.unparsable(f"The answer does not contain {what}.", failure="No answer found")


def words(text: str) -> list[str]:
    """Return the words and numbers of a text, in lower case and without punctuation; "above-left" is two words."""
    return _WORD.findall(text.lower())


def _plain(text: str) -> str:
    """Lower case, without markup, with ASCII punctuation; "AboveLeft" is two words."""
    if CJK.search(text):
        text = _CJK_ALONE.get(text.strip(" .。!！"), text)
        text = _CJK_WORD.sub(lambda match: _CJK_WORDS[match.group()], text.replace("，", ", ").replace("、", ", "))
    text = _INNER_CAPITAL.sub(" ", unicodedata.normalize("NFKC", text).translate(_PUNCTUATION))
    return text.translate(_MARKUP).lower()


def _phrase(text: str) -> str:
    """Return words with numbers in digits, spaces around each, so that containment means whole words."""
    parts: list[str] = []
    for number, text_part in numbers_in(words(_plain(text))):
        parts.append(text_part if number is None else str(number))
    return f" {' '.join(parts)} "


def yes_or_no(text: str, kind: frozenset[str] | None = None) -> set[str]:
    """Find "yes" and "no" where they are answers: not the "no" of "no doubt".

    One sentence, or a conclusion ("So there is no circle"), may also say it by presence of a shape with all attributes
    of the `kind` that is asked for, or by absence of shapes with no others.
    """
    text = _plain(text)
    stated = _NEGATED.sub(" ", text)
    answers = {"yes"} if _YES.search(stated) else set()
    if _NO.search(text):
        answers.add("no")
    parts = sentences(text)
    deciding = parts if answers or len(parts) == 1 else [part for part in parts if _CONCLUSION.match(part)]
    wanted = frozenset[str]() if kind is None else kind
    absent = any(kind is None or _kind_of(match) <= wanted for part in deciding for match in _ABSENT.finditer(part))
    stating = [_ABSENT.sub(" ", part) for part in deciding]
    present = any(
        wanted <= _kind_of(match) or not re.search(_NOUN, part) for part in stating for match in _PRESENT.finditer(part)
    )
    if absent and not present:
        return answers | {"no"}
    return answers or ({"yes"} if present and not absent else set())


def _kind_of(match: re.Match[str]) -> frozenset[str]:
    """The attributes of the shape in a statement of presence or absence; none in "so none remains"."""
    return _kind(match.string[: match.end()]) if re.search(_NOUN, match.group()) else frozenset()


def _kind(text: str) -> frozenset[str]:
    """The attributes of the last shape in a text; none for one without any, or for no shape."""
    attributes = set[str]()
    named = False
    for word in reversed(words(text)):
        noun = word.removesuffix("s")
        if not named and (noun in _SHAPES or noun == "shape"):
            named = True
            attributes |= {noun} & _SHAPES
        elif named and (word in _SIZES or word in _COLORS):
            attributes.add(_SIZES.get(word, word))
        elif named:
            break
    return frozenset(attributes)


def counts(text: str, kind: Set[str] = frozenset()) -> set[str]:
    """Find the numbers that are counts: no coordinates, bounds, or "one" as a pronoun, and no number of shapes with
    another size, color or shape than the `kind` that is asked for.

    "7 shapes" is how many there are in all, which no question asks: it counts only if there is no other number.
    """
    if CJK.search(text):
        text = _CJK_NUMBER.sub(lambda match: f" {cjk_number(match[1]) if match[1] else 0} ", text)
    text = _COUNTED.sub(lambda match: " " if _is_other(match.group(), kind) else match.group(), _plain(text))
    return _counts_in(_ALL_SHAPES.sub(_without_number, text)) or _counts_in(text)


def _is_other(text: str, kind: Set[str]) -> bool:
    """Whether a text has a number, and a shape that differs from the kind in an attribute that both fix."""
    found = _kind(text)
    differs = any(found & values and kind & values and found & values != kind & values for values in _ATTRIBUTES)
    return differs and bool(_numbers(text))


def _without_number(match: re.Match[str]) -> str:
    return " shapes " if _numbers(match.group()) else match.group()


def _counts_in(text: str) -> set[str]:
    return set[str]().union(*map(_counts_of_sentence, sentences(text)))


def _counts_of_sentence(sentence: str) -> set[str]:
    text = _NONE_OF.sub(" zero ", _MEASURE.sub(" ", _concluded(sentence)))
    text = _PRONOUN.sub(" ", _NEGATED.sub(" ", text))
    text = _PART.sub(lambda match: match[1] if _numbers(match[1]) and _numbers(match[2]) else match[0], text)
    numbers = _numbers(text)
    if len(numbers) > 1:
        numbers = _numbers(_SOME_OF.sub(" ", text)) or numbers
        if total := _TOTAL.search(text):
            return _numbers(total[1] or total[2]) or numbers
        first = _numbers(_CLAUSE_END.split(text)[0])
        if _STATES.match(text) and not _LIMITS.search(text) and len(first) == 1 and "0" not in numbers:
            return first
    return numbers


def _concluded(sentence: str) -> str:
    """What follows "=" or ", so", if there is a number."""
    conclusion = _CONCLUDING.split(sentence)[-1]
    return conclusion if _numbers(conclusion) else sentence


def _numbers(text: str) -> set[str]:
    return {str(number) for number, _ in numbers_in(words(_NOTHING.sub(" zero ", text))) if number is not None}


def directions(text: str, pair: tuple[str, ...] | None = None) -> set[str]:
    """Find directions: "above left" is one value; opposite ones are two, as are those of different sentences.

    `pair` are the two shapes that the question names.
    """
    by_sentence = [named for part in sentences(_plain(text)) if (named := _directions_of_sentence(part, pair))]
    together = frozenset[str]().union(*by_sentence)
    if any(pair <= together for pair in _OPPOSITES):
        return {name for named in by_sentence for name in _joined(named)}
    return {" ".join(sorted(together))} if together else set()


def _joined(named: frozenset[str]) -> Set[str]:
    """Return directions as one value, and opposite ones each as its own."""
    return named if any(pair <= named for pair in _OPPOSITES) else {" ".join(sorted(named))}


def _directions_of_sentence(sentence: str, pair: tuple[str, ...] | None) -> frozenset[str]:
    clause = re.split(r",? (?:so|hence|thus|therefore),? ", sentence)[-1]
    named = _directions_named(clause) or _directions_named(sentence)
    shapes = [match.group().replace("big ", "large ") for match in _FULL_NAME.finditer(clause)]
    if pair is None or len(set(shapes)) < 2:
        return named
    if not set(shapes) <= set(pair):
        return frozenset()
    return named if shapes[0] == pair[0] else frozenset(_OPPOSITE[name] for name in named)


def _directions_named(sentence: str) -> frozenset[str]:
    text = _NEGATED.sub(" ", _REASON.sub(" ", _NOT_A_DIRECTION.sub(" ", sentence)))
    return frozenset(
        _DIRECTION_WORDS[word] for word in words(_COMPOUND.sub(r"\1 \2", text)) if word in _DIRECTION_WORDS
    )


def shape_names(text: str) -> set[str]:
    """Find shapes: each shape word with the size and color right before it, or all of the only ones in the text.

    A less specific name is left out: "the square is the large blue square" names one shape.
    """
    text = _NEGATED.sub(" ", _plain(text))
    names, attributes = set[str](), list[str]()
    all_words = words(text)
    for word in all_words:
        noun = word.removesuffix("s")
        if noun in _SHAPES:
            names.add(_shape_name(attributes, noun))
            attributes = []
        elif word in _SIZES or word in _COLORS:
            attributes.append(word)
        elif word != "and":
            attributes = []
    nouns = {noun for word in all_words if (noun := word.removesuffix("s")) in _SHAPES}
    sizes = {_SIZES[word] for word in all_words if word in _SIZES}
    colors = {word for word in all_words if word in _COLORS}
    if len(nouns) == len(sizes) == len(colors) == 1:
        return {_shape_name(all_words, *nouns)}
    parts = {name: set(name.split()) for name in names}
    return {name for name in names if not any(parts[name] < parts[other] for other in names)}


def _shape_name(attributes: Sequence[str], noun: str) -> str:
    sizes = [_SIZES[word] for word in attributes if word in _SIZES]
    colors = [word for word in attributes if word in _COLORS]
    return " ".join([*sizes[-1:], *colors[-1:], noun])
