"""The tokens of a TeX formula: commands, letters, numbers, signs and spaces."""

from __future__ import annotations

import re

TOKEN = re.compile(r"\\[a-zA-Z]+\*?|\\.|\d+(?:[.,]\d+)*|[^\s]|\s+", flags=re.S)
OPENING = {
    *"([{=,&^_<>|+-/",
    "\\\\",
    "\\cr",
    "\\in",
    "\\approx",
    "\\langle",
    "\\cdot",
    "\\quad",
    "\\qquad",
    "\\le",
    "\\ge",
}


class TexError(ValueError):
    """A formula that cannot be converted: what it is, and why."""


class Tokens:
    """A formula and the place up to which it has been read."""

    def __init__(self, tex: str) -> None:
        self.tokens, self.place = TOKEN.findall(tex), 0

    def peek(self) -> str | None:
        """The next token that is not a space."""
        while self.place < len(self.tokens) and self.tokens[self.place].isspace():
            self.place += 1
        return self.tokens[self.place] if self.place < len(self.tokens) else None

    def next(self) -> str:
        token = self.peek()
        if token is None:
            raise TexError("it ends too early")
        self.place += 1
        return token

    def opens(self) -> bool:
        """Whether a sign here belongs to what follows, as in (−x): nothing precedes that it could be added to."""
        before = [token for token in self.tokens[: self.place - 1] if not token.isspace()]
        return not before or before[-1] in OPENING

    def words(self) -> str:
        """The text of a group {...}, spaces and all, or a single letter."""
        opening = self.next()
        if opening != "{":
            return opening
        start, depth = self.place, 1
        while depth:
            if self.place == len(self.tokens):
                raise TexError("a { is not closed")
            depth += {"{": 1, "}": -1}.get(self.tokens[self.place], 0)
            self.place += 1
        return "".join(self.tokens[start : self.place - 1]).replace("\\ ", " ")
