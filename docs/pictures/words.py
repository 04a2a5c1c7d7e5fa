"""Text in a picture: its subscripts and superscripts, and how wide it is."""

import re
from xml.sax.saxutils import escape

SMALL = 0.72  # size of a sub- or superscript
SHIFT = {"": 0.0, "_": 0.22, "^": -0.38}  # how far down, in sizes
TOKEN = re.compile(r"([_^])\{([^{}]*)\}|\*([^*]+)\*|([^_^*]+|.)", flags=re.S)
NARROW, WIDE = frozenset("iljtfI.,:;|!'()[]{} ·ᵢⱼ₁₂ₖ"), frozenset("mwMWΣ→←×+=−…⊙⊕")


def number(value: float) -> str:
    """A coordinate: at most two decimals, no -0."""
    return f"{round(value, 2) + 0.0:.2f}".rstrip("0").rstrip(".")


def pieces(text: str) -> list[tuple[str, str, bool]]:
    """(text, "" or "_" or "^", italic) for each piece of a line.  Inside a script, *x* is not looked at."""
    found = []
    for script, inner, italic, plain in TOKEN.findall(text):
        if script:
            found.append((inner.strip("*"), script, inner.startswith("*")))
        else:
            found.append((italic or plain, "", bool(italic)))
    return found


def text_width(text: str, size: float, mono: bool = False) -> float:
    """About how wide a line is, in a font like Helvetica."""
    total = 0.0
    for piece, script, _ in pieces(text):
        for letter in piece:
            wide = 0.6 if mono else 0.34 if letter in NARROW else 0.82 if letter in WIDE else 0.56
            total += (0.68 if letter.isupper() and wide == 0.56 else wide) * (SMALL if script else 1.0)
    return total * size


def spans(text: str, size: float) -> str:
    """A line as the content of an SVG text element."""
    result, level = [], 0.0
    for piece, script, italic in pieces(text):
        target = SHIFT[script] * size
        words = ""
        if target != level:
            words += f' dy="{number(target - level)}"'
            level = target
        if script:
            words += f' font-size="{number(SMALL * size)}"'
        if italic:
            words += ' font-style="italic"'
        result.append(f"<tspan{words}>{escape(piece)}</tspan>" if words else escape(piece))
    return "".join(result)
