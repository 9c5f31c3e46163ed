"""Makes text from elsewhere safe to read: nothing hidden, nothing clickable, nothing cut silently.

Lengths count characters.
"""

import re
import unicodedata
from hashlib import sha256

MAX_LENGTH = 600
_HIDDEN_KINDS = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | frozenset(
    map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
)
_OPEN, _CLOSE = "\u2039", "\u203a"
_JOINERS = frozenset("\u200c\u200d\u00ad")
_BLANKS = re.compile(r" {4,}")


def visible(text: str) -> str:
    """The text on one line, with every hidden character spelled out."""
    shown = "".join(map(_shown, text))
    shown = _BLANKS.sub(lambda run: f"{_OPEN}{len(run[0])} spaces{_CLOSE}", shown)
    return shown.replace("](", "] (")


def visible_block(text: str) -> str:
    """As `visible`, but lines stay lines, and indentation stays: for code blocks."""
    return "".join(char if char in "\n\t" else _shown(char) for char in text)


def _shown(char: str) -> str:
    match char:
        case "\n":
            return "⏎"
        case "\t":
            return "⇥"
        case " ":
            return char
        case _ if is_hidden(char):
            return f"{_OPEN}U+{ord(char):04X}{_CLOSE}"
        case _:
            return char


def is_hidden(char: str) -> bool:
    """Whether a character shows as nothing, as a blank, or moves its neighbours."""
    if char == " ":
        return False
    kind = unicodedata.category(char)
    return kind in _HIDDEN_KINDS or kind == "Zs" or char in _FILLERS


def hides(text: str) -> bool:
    """Whether a text to be written holds characters that people don't see (but for tabs, lines)."""
    return any(char not in "\n\r\t\f" and _is_treacherous(char) for char in text)


def _is_treacherous(char: str) -> bool:
    # Blanks of other widths, joiners and variation selectors are part of honest texts.
    honest = char in _JOINERS or unicodedata.category(char) in {"Zs", "Mn"}
    return is_hidden(char) and not honest


def notes(text: str) -> tuple[str, ...]:
    """What a person should know about a text before reading it."""
    found: list[str] = []
    if any(char not in "\n\t" and is_hidden(char) for char in text):
        found.append("contains hidden characters")
    if any(ord(char) > 127 and char.isalpha() for char in text):
        found.append("contains non-ASCII letters")
    if _BLANKS.search(text):
        found.append("contains long blanks")
    return tuple(found)


def line(text: str, length: int) -> str:
    """The visible text on one line; if too long its head and tail, with the count between them.

    The mark between holds the first eight digits of the whole text's SHA-256.
    """
    shown = visible(text)
    if len(shown) <= length:
        return shown
    digits = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    mark = f" {_OPEN}%s characters left out, whole text {digits}{_CLOSE} "
    room = max(length - len(mark) - len(f"{len(shown):,}"), 2)
    head, tail = shown[: room - room // 3], shown[len(shown) - room // 3 :]
    return head + mark.replace("%s", f"{len(shown) - len(head) - len(tail):,}") + tail


def fenced(text: str, language: str = "") -> str:
    """The text as a Markdown code block that it can't break out of."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{visible_block(text)}\n{fence}"
