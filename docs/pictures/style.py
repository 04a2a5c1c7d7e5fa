"""The colors of the pictures: named once, with a light and a dark value.

A picture carries STYLE itself and follows the reader's system.  The web site takes it out of the pictures on its pages
and has site_style() instead, which also follows the switch of the page.
"""

# name: (on light pages, on dark pages)
COLORS = {
    "ink": ("#1f2933", "#e3e8ee"),
    "faint": ("#5b6876", "#9aa7b5"),
    "paper": ("#ffffff", "#131416"),
    "blue": ("#2563a8", "#7ab3f0"),
    "orange": ("#b45f06", "#f0a95c"),
    "green": ("#2b7a3d", "#7fcf92"),
    "red": ("#b3261e", "#f28b82"),
    "purple": ("#6b3fa0", "#c3a2f0"),
    "gray": ("#5b6876", "#9aa7b5"),
    "blue-pale": ("#e3eefa", "#16283c"),
    "orange-pale": ("#fdf0dd", "#38260f"),
    "green-pale": ("#e3f3e6", "#15301c"),
    "red-pale": ("#fbe5e3", "#3c1a17"),
    "purple-pale": ("#efe6fa", "#2a1c3f"),
    "gray-pale": ("#eef1f4", "#23282e"),
}
HUES = ("blue", "orange", "green", "red", "purple", "gray")
FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif'
MONO = 'ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace'


def _values(column: int) -> str:
    return " ".join(f"--{name}: {values[column]};" for name, values in COLORS.items())


def _rules() -> str:
    rules = [
        f".drawing {{ font-family: {FONT}; }}",
        f".drawing .mono {{ font-family: {MONO}; }}",
        ".drawing .bold { font-weight: 600; }",
        ".drawing .back { fill: var(--paper); }",
        ".drawing .cell { fill: var(--paper); stroke: var(--faint); stroke-width: 0.8; }",
        ".drawing .b-plain { fill: none; stroke: var(--faint); stroke-width: 1.2; }",
        ".drawing .t-cell { fill: var(--ink); }",
    ]
    for hue in HUES:
        rules.append(f".drawing .b-{hue} {{ fill: var(--{hue}-pale); stroke: var(--{hue}); stroke-width: 1.4; }}")
    for color in ("ink", "faint", "paper", *HUES):
        rules.append(f".drawing .t-{color}, .drawing .f-{color} {{ fill: var(--{color}); }}")
        rules.append(f".drawing .l-{color} {{ fill: none; stroke: var(--{color}); }}")
    return "\n".join(rules)


LIGHT, DARK = f".drawing {{ {_values(0)} }}", f".drawing {{ {_values(1)} }}"
STYLE = f"{LIGHT}\n@media (prefers-color-scheme: dark) {{ {DARK} }}\n{_rules()}"


def site_style() -> str:
    """The stylesheet of pages whose <body data-theme> is "light", "dark" or "auto"."""
    light, dark = (f'body[data-theme="{theme}"] {rule}' for theme, rule in (("light", LIGHT), ("dark", DARK)))
    rest = _rules().replace(".drawing .back { fill: var(--paper); }", ".drawing .back { fill: none; }")
    return f"{LIGHT}\n@media (prefers-color-scheme: dark) {{ {DARK} }}\n{light}\n{dark}\n{rest}\n"
