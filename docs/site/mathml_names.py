"""The TeX commands that mathml.py knows, and what they become."""

from __future__ import annotations

from collections.abc import Callable
from xml.sax.saxutils import escape

_GREEK = (
    "alpha α beta β gamma γ delta δ epsilon ϵ varepsilon ε zeta ζ eta η theta θ iota ι kappa κ lambda λ mu μ nu ν xi ξ "
    "pi π rho ρ sigma σ tau τ upsilon υ phi ϕ varphi φ chi χ psi ψ omega ω ell ℓ partial ∂ infty ∞ nabla ∇ emptyset ∅"
)
_UPRIGHT = "Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Phi Φ Psi Ψ Omega Ω top ⊤"
_OPERATORS = (
    "cdot · times × div ÷ pm ± mp ∓ odot ⊙ oplus ⊕ otimes ⊗ circ ∘ ast ∗ le ≤ leq ≤ ge ≥ geq ≥ ne ≠ neq ≠ ll ≪ gg ≫ "
    "approx ≈ equiv ≡ sim ∼ propto ∝ in ∈ notin ∉ subset ⊂ subseteq ⊆ cup ∪ cap ∩ setminus ∖ to → rightarrow → "
    "leftarrow ← Rightarrow ⇒ Leftrightarrow ⇔ mapsto ↦ longrightarrow ⟶ forall ∀ exists ∃ dots … ldots … cdots ⋯ "
    "vdots ⋮ ddots ⋱ colon : sum ∑ prod ∏ int ∫ bigoplus ⨁ mid ∣ prime ′ wedge ∧ vee ∨ neg ¬ ! !"
)
_FENCES = {"{": "{", "}": "}", "|": "‖", "langle": "⟨", "rangle": "⟩", "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈"}
_FENCES |= {"rceil": "⌉", "lvert": "|", "rvert": "|", "lVert": "‖", "rVert": "‖", "Vert": "‖", "vert": "|"}
_FENCES |= {"lbrace": "{", "rbrace": "}"}


def _pairs(text: str) -> list[tuple[str, str]]:
    words = text.split()
    return list(zip(words[::2], words[1::2], strict=True))


SYMBOLS: dict[str, tuple[str, str]] = {  # command -> element, text
    **{f"\\{name}": ("mi", text) for name, text in _pairs(_GREEK)},
    **{f"\\{name}": ("mi mathvariant='normal'", text) for name, text in _pairs(_UPRIGHT)},
    **{f"\\{name}": ("mo", text) for name, text in _pairs(_OPERATORS) if name != "!"},
    **{f"\\{name}": ("fence", text) for name, text in _FENCES.items()},
    "\\%": ("mo", "%"),
    "\\_": ("mo", "_"),
    "\\#": ("mo", "#"),
}
_NAMES = "exp log ln sin cos tan tanh det dim ker deg max min sup inf lim arg Pr gcd"
FUNCTIONS = {f"\\{name}": name for name in _NAMES.split()}
LIMITS = {"\\sum", "\\prod", "\\max", "\\min", "\\sup", "\\inf", "\\lim", "\\bigoplus", "\\underbrace", "\\overbrace"}
SPACES = {"\\,": "0.17em", "\\:": "0.22em", "\\;": "0.28em", "\\ ": "0.25em", "~": "0.25em", "\\!": "-0.17em"}
SPACES |= {
    "\\thinspace": "0.17em",
    "\\negthinspace": "-0.17em",
    "\\enspace": "0.5em",
    "\\quad": "1em",
    "\\qquad": "2em",
}
ACCENTS = {
    "\\hat": "^",
    "\\bar": "¯",
    "\\tilde": "~",
    "\\vec": "→",
    "\\dot": "˙",
    "\\overline": "‾",
    "\\underline": "_",
}
ACCENTS |= {"\\widehat": "^", "\\widetilde": "~", "\\underbrace": "⏟", "\\overbrace": "⏞"}
SIZES = {
    f"\\{size}{side}": height
    for size, height in (("big", "1.2em"), ("Big", "1.623em"), ("bigg", "2.047em"), ("Bigg", "2.470em"))
    for side in ("", "l", "r", "m")
}
DELIMITERS = {mark: mark for mark in "()[]|/<>"} | {"<": "⟨", ">": "⟩", ".": ""}
DELIMITERS |= {f"\\{name}": text for name, text in _FENCES.items()}


def _letters(capital: int, small: int, digit: int | None = None, special: str = "") -> Callable[[str], str]:
    """Letters of another alphabet, by their first code point; special lists the exceptions ("Rℝ ...")."""
    exceptions = {pair[0]: pair[1:] for pair in special.split()}

    def convert(words: str) -> str:
        result = ""
        for letter in words.strip():
            if letter in exceptions:
                result += exceptions[letter]
            elif "A" <= letter <= "Z":
                result += chr(capital + ord(letter) - ord("A"))
            elif "a" <= letter <= "z":
                result += chr(small + ord(letter) - ord("a"))
            elif letter.isdigit() and digit:
                result += chr(digit + int(letter))
            else:
                result += letter
        return f"<mi>{escape(result)}</mi>"

    return convert


ALPHABETS: dict[str, Callable[[str], str]] = {
    "\\mathbb": _letters(0x1D538, 0x1D552, 0x1D7D8, "Cℂ Hℍ Nℕ Pℙ Qℚ Rℝ Zℤ"),
    "\\mathbf": _letters(0x1D400, 0x1D41A, 0x1D7CE),
    "\\boldsymbol": _letters(0x1D468, 0x1D482),
    "\\mathcal": _letters(0x1D49C, 0x1D4B6, None, "Bℬ Eℰ Fℱ Hℋ Iℐ Lℒ Mℳ Rℛ eℯ gℊ oℴ"),
    "\\mathit": lambda words: f"<mi>{escape(words.strip())}</mi>",
    "\\text": lambda words: f"<mtext>{escape(words).replace(' ', chr(0xA0))}</mtext>",
    "\\textit": lambda words: f"<mtext>{escape(words).replace(' ', chr(0xA0))}</mtext>",
}
