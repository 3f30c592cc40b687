"""Texts of models and other people, made safe to read: characters that hide or reorder text become visible."""

from __future__ import annotations

_NAMES = {
    **{0x061C: "ALM", 0x200E: "LRM", 0x200F: "RLM", 0x202A: "LRE", 0x202B: "RLE", 0x202C: "PDF", 0x202D: "LRO"},
    **{0x202E: "RLO", 0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI"},
    **{0x00: "NUL", 0x07: "BEL", 0x08: "BS", 0x0D: "CR", 0x1B: "ESC", 0x7F: "DEL"},
}
# U+FFFE and U+FFFF are in no XML document: SVG with them ends the renderer of charts.
_CONTROLS = (code for code in (*range(32), *range(0x80, 0xA0), 0xFFFE, 0xFFFF) if chr(code) not in "\n\t")
_VISIBLE = {code: f"⟨U+{code:04X}⟩" for code in _CONTROLS} | {code: f"⟨{name}⟩" for code, name in _NAMES.items()}


def cut(text: object, length: int) -> str:
    """The beginning of a text; empty for ``None``."""
    words = "" if text is None else str(text)
    return words if len(words) <= length else f"{words[: length - 1]}…"


def cut_name(name: str, length: int) -> str:
    """The beginning of a name and what stands in brackets at its end, which tells it from others: ``gpt-4… (run 12)``.

    Of an end that takes more than half of the length, nothing is kept.
    """
    begin, bracket, end = name.rpartition(" (")
    kept = f"{bracket}{end}"
    if len(name) <= length or not name.endswith(")") or len(kept) > length / 2:
        return cut(name, length)
    return cut(begin, length - len(kept)) + kept


def visible(text: str) -> str:
    """Write out control characters (terminal colors among them), direction marks, and the two non-characters.

    Line breaks and tabs stay; ``\\r\\n`` counts as one line break. Escaping is left to the template.
    """
    if text.isascii() and text.isprintable():
        return text  # most texts, at a tenth of the time
    return text.replace("\r\n", "\n").translate(_VISIBLE)
