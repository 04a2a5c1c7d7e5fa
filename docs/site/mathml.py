"""TeX to MathML, at build time, so that a page shows formulas without scripts or a network.

    mathml(r"\\frac{x}{\\sqrt{d}}")          # '<math>...</math>'
    mathml(r"\\sum_i x_i", display=True)

It knows what the book's formulas use, and stops at anything else: a formula with a mistake cannot be published.  The
names it knows are in mathml_names.py.
"""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from docs.site.mathml_names import ACCENTS, ALPHABETS, DELIMITERS, FUNCTIONS, LIMITS, SIZES, SPACES, SYMBOLS
from docs.site.mathml_tokens import TexError, Tokens

TABLES = {"bmatrix": "[]", "pmatrix": "()", "matrix": "", "aligned": "", "align": "", "array": "", "cases": "{"}


def mathml(tex: str, display: bool = False) -> str:
    """The <math> element for a formula; display is for one on a line of its own."""
    try:
        parser = _Parser(tex, display)
        body = parser.row(end=None)
    except TexError as error:
        raise TexError(f"{error}, in the formula {tex.strip()!r}") from None
    block = ' display="block"' if display else ""
    return f"<math{block} alttext={quoteattr(' '.join(tex.split()))}>{body}</math>"


def _mrow(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"<mrow>{''.join(parts)}</mrow>"


def _operator(text: str, **attributes: str) -> str:
    words = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<mo{words}>{escape(text)}</mo>"


class _Parser(Tokens):
    def __init__(self, tex: str, display: bool) -> None:
        super().__init__(tex)
        self.display = display

    # ---- structure

    def row(self, end: str | None) -> str:
        """Everything up to a token that ends it, which is consumed."""
        return _mrow(self.items({end})) if end is None or self.peek() != end else (self.next(), "<mrow></mrow>")[1]

    def items(self, ends: set[str | None]) -> list[str]:
        parts: list[str] = []
        while self.peek() not in ends:
            self.append(parts)
        if self.peek() is not None:
            self.next()
        return parts

    def append(self, parts: list[str]) -> None:
        """The next atom, with a thin space before the name of a function that follows a letter or a parenthesis."""
        named = self.peek() in FUNCTIONS or self.peek() == "\\mathrm"
        if named and parts and parts[-1].endswith(("</mi>", "</mn>", "</mover>", "</msub>", "</msup>", ">)</mo>")):
            parts.append('<mspace width="0.17em"/>')
        parts.append(self.scripted())

    def argument(self) -> str:
        """A group {...} or a single atom: what a command or a script takes."""
        if self.peek() == "{":
            self.next()
            return self.row(end="}")
        token = self.peek() or ""
        if len(token) > 1 and token.isdigit():  # \\frac12 is a half
            self.tokens[self.place : self.place + 1] = token
        return self.atom()

    def scripted(self) -> str:
        """An atom with its subscript and superscript."""
        start = self.peek()
        base = "<mrow></mrow>" if start in ("_", "^") else self.atom()
        scripts, primes = {"_": "", "^": ""}, ""
        while self.peek() in ("_", "^", "'"):
            kind = self.next()
            if kind == "'":
                primes += _operator("′", lspace="0", rspace="0")  # the character is raised already
                continue
            if scripts[kind]:
                raise TexError(f"two {kind} in a row")
            scripts[kind] = self.argument()
        base = f"<mrow>{base}{primes}</mrow>" if primes else base
        low, high = scripts["_"], scripts["^"]
        above = start in LIMITS and (self.display or start in ("\\underbrace", "\\overbrace"))
        under, over = ("munder", "mover") if above else ("msub", "msup")
        if low and high:
            kind = "munderover" if above else "msubsup"
            return f"<{kind}>{base}{low}{high}</{kind}>"
        if low:
            return f"<{under}>{base}{low}</{under}>"
        return f"<{over}>{base}{high}</{over}>" if high else base

    def atom(self) -> str:
        token = self.next()
        if token == "{":
            return self.row(end="}")
        if token in ("}", "&", "\\\\", "\\cr", "_", "^", "$", "#", "%"):
            raise TexError(f"{token!r} is out of place")
        if token.startswith("\\"):
            return self.command(token)
        if token[0].isdigit():
            return f"<mn>{token}</mn>"
        if token.isalpha():
            return f"<mi>{token}</mi>"
        if token in "()[]|":
            return _operator(token, stretchy="false")
        if token in ".,;":
            return _operator(token, lspace="0", rspace="0" if token == "." else "0.17em")
        if token in "+-":
            sign = "−" if token == "-" else token
            return _operator(sign, form="prefix", lspace="0", rspace="0") if self.opens() else _operator(sign)
        return _operator(token)

    # ---- commands

    def command(self, token: str) -> str:
        if token in SYMBOLS:
            kind, text = SYMBOLS[token]
            if kind == "fence":
                return _operator(text, stretchy="false")
            return f"<{kind}>{escape(text)}</{kind.split()[0]}>"
        if token in FUNCTIONS:
            return f"<mi>{FUNCTIONS[token]}</mi>{self.applied()}"
        if token in SPACES:
            return f'<mspace width="{SPACES[token]}"/>'
        if token in ALPHABETS:
            return ALPHABETS[token](self.words())
        if token in ACCENTS:
            under = token.startswith("\\under")
            kind, mark = ("munder" if under else "mover"), ACCENTS[token]
            stretch = "true" if token.startswith(("\\under", "\\over", "\\wide")) else "false"
            return f'<{kind} accent="true">{self.argument()}{_operator(mark, stretchy=stretch)}</{kind}>'
        if token in SIZES:
            size = SIZES[token]
            return _operator(self.delimiter(), minsize=size, maxsize=size, stretchy="true")
        method = getattr(self, f"do_{token[1:].rstrip('*')}", None)
        if method is None:
            raise TexError(f"{token} is not known to docs/site/mathml_names.py")
        return method()

    def applied(self) -> str:
        """The thin space between a function's name and an argument without parentheses."""
        return (
            ""
            if self.peek() in (None, "(", "[", "_", "^", "{", "}", "\\left", "&", "\\big", "\\Big")
            else "<mspace width='0.17em'/>"
        )

    def delimiter(self) -> str:
        token = self.next()
        if token not in DELIMITERS:
            raise TexError(f"{token!r} is not a delimiter")
        return DELIMITERS[token]

    def do_frac(self) -> str:
        return f"<mfrac>{self.argument()}{self.argument()}</mfrac>"

    def do_tfrac(self) -> str:
        return f'<mstyle displaystyle="false">{self.do_frac()}</mstyle>'

    def do_dfrac(self) -> str:
        return f'<mstyle displaystyle="true">{self.do_frac()}</mstyle>'

    def do_textstyle(self) -> str:
        return ""

    def do_sqrt(self) -> str:
        if self.peek() == "[":
            self.next()
            index = _mrow(self.items({"]"}))
            return f"<mroot>{self.argument()}{index}</mroot>"
        return f"<msqrt>{self.argument()}</msqrt>"

    def do_mathrm(self) -> str:
        """A name, such as softmax: GitHub does not allow \\operatorname."""
        return f"<mi mathvariant='normal'>{escape(self.words())}</mi>{self.applied()}"

    def do_left(self) -> str:
        opening = self.delimiter()
        parts = self.items({"\\right", None})
        if self.tokens[self.place - 1] != "\\right":
            raise TexError("\\left without \\right")
        closing = self.delimiter()
        fences = [_operator(text, stretchy="true") if text else "" for text in (opening, closing)]
        return f"<mrow>{fences[0]}{''.join(parts)}{fences[1]}</mrow>"

    def do_begin(self) -> str:
        name = self.words()
        if name.rstrip("*") not in TABLES:
            raise TexError(f"there is no environment {name!r}")
        if name == "array":
            self.words()
        rows: list[list[list[str]]] = [[[]]]
        while self.peek() != "\\end":
            token = self.peek()
            if token == "&":
                self.next()
                rows[-1].append([])
            elif token in ("\\\\", "\\cr"):
                self.next()
                rows.append([[]])
            elif token is None:
                raise TexError(f"\\begin{{{name}}} without \\end")
            else:
                self.append(rows[-1][-1])
        self.next()
        if self.words() != name:
            raise TexError(f"\\begin{{{name}}} ends with another name")
        if rows[-1] == [[]]:
            rows.pop()
        return _table(name.rstrip("*"), rows)


def _table(name: str, rows: list[list[list[str]]]) -> str:
    aligned = name in ("aligned", "align")
    cells = [
        "<mtr>"
        + "".join(f'<mtd class="{_side(name, i)}">{"".join(cell)}</mtd>' for i, cell in enumerate(row))
        + "</mtr>"
        for row in rows
    ]
    style = ' displaystyle="true"' if aligned else ""
    table = f'<mtable class="{name}"{style}>{"".join(cells)}</mtable>'
    fences = [_operator(mark, stretchy="true") for mark in TABLES[name]] + ["", ""]
    return f"<mrow>{fences[0]}{table}{fences[1]}</mrow>" if TABLES[name] else table


def _side(name: str, column: int) -> str:
    """aligned: right, left, right, left, ...; cases: left; matrices: center."""
    if name in ("aligned", "align"):
        return "left" if column % 2 else "right"
    return "left" if name == "cases" else "center"
