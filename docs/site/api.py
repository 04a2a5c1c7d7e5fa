"""The API reference, made from docstrings.  Their lines are kept where they are equations, see docstrings.py."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from types import ModuleType
from typing import Any

from docs.site import docstrings

ROOT = Path(__file__).parent.parent.parent
MODULES = (
    "autograd",
    "autograd.gradcheck",
    "minisets",
    "minisets.nn",
    "minisets.optim",
    "minisets.testing",
    "minisets.checkpoint",
    "minisets.interop",
    "tasks.harness",
)


def pages() -> list[tuple[str, str]]:
    """(file name, Markdown) for each module."""
    return [(f"api/{name}.md", page(importlib.import_module(name))) for name in MODULES]


def names(module: ModuleType) -> list[str]:
    """The public names: __all__, or what the module defines, or what a package without __all__ imports of its own."""
    if hasattr(module, "__all__"):
        return [name for name in module.__all__ if not name.startswith("__")]
    package = module.__name__ + "." if hasattr(module, "__path__") else module.__name__
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    found = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(package) and hasattr(module, "__path__"):
            found += [alias.asname or alias.name for alias in node.names]
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.append(node.name)
    return [name for name in found if not name.startswith("_") and name != "main"]


def page(module: ModuleType) -> str:
    parts = [f"# `{module.__name__}`", docstrings.html(module.__doc__)]
    for name in sorted(names(module), key=lambda name: (name.lower(), name)):
        parts += entry(module, name)
    return "\n\n".join(parts) + "\n"


def entry(module: ModuleType, name: str) -> Iterator[str]:
    """A heading, how it is called, its docstring, and for a class its methods."""
    found = getattr(module, name)
    yield f"## {name}"
    if inspect.ismodule(found):
        yield docstrings.html(found.__doc__)
        for part in names(found):
            yield from described(getattr(found, part), f"{name}.{part}", f"### {name}.{part}")
    elif inspect.isclass(found) or inspect.isroutine(found):
        yield from described(found, name)
        if inspect.isclass(found):
            for method, function in methods(found):
                yield from described(function, method, f"### {name}.{method}")
    else:
        yield docstrings.html(constant(module, name))


def described(found: Any, name: str, heading: str = "") -> Iterator[str]:
    if heading:
        yield heading
    if isinstance(found, property):
        yield f'<pre class="signature"><b>{escape(name)}</b></pre>'
    else:
        yield f'<pre class="signature">{signature(found, name)}</pre>'
    yield docstrings.html(documentation(found))
    if not heading and (place := defined(found)):
        yield f"Defined in [{place}](../../{place})."


def documentation(found: Any) -> str:
    """The docstring; what a dataclass or a NamedTuple writes by itself is none."""
    text = inspect.getdoc(found) if not inspect.isclass(found) else found.__doc__
    if not text and inspect.isclass(found):  # the file is about this class
        text = inspect.getdoc(inspect.getmodule(found))
    generated = inspect.isclass(found) and text and re.fullmatch(rf"{found.__name__}\(.*\)", text, flags=re.S)
    return "" if generated or not text else inspect.cleandoc(text)


def methods(found: type) -> list[tuple[str, Any]]:
    """The public methods and properties of a class with a docstring of their own, its bases' (of ours) included."""
    result: dict[str, Any] = {}
    for part in reversed(found.__mro__):
        if part.__module__.split(".")[0] in ("autograd", "minisets", "tasks"):
            for name, value in vars(part).items():
                value = value.__func__ if isinstance(value, staticmethod | classmethod) else value
                if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                    result[name] = value
    return [(name, value) for name, value in result.items() if inspect.getdoc(value)]


def signature(found: Any, name: str) -> str:
    """How it is called, one parameter per line if it is long."""
    try:
        given = inspect.signature(found)
    except (TypeError, ValueError):
        return f"<b>{escape(name)}</b>"
    words, star = [], False
    for parameter in given.parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            words.append("*")
        star |= parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        mark = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        kind = "" if parameter.annotation is parameter.empty else f": {_type(parameter.annotation)}"
        default = "" if parameter.default is parameter.empty else f" = {_value(parameter.default)}"
        words.append(f"{mark}{parameter.name}{kind}{default}")
    returns = given.return_annotation
    end = "" if returns is given.empty or inspect.isclass(found) else f" -> {_type(returns)}"
    line = f"({', '.join(words)}){end}"
    if len(line) + len(name) > 80:
        line = "(&#10;" + "".join(f"    {escape(word)},&#10;" for word in words) + f"){escape(end)}"
    else:
        line = escape(line)
    return f"<b>{escape(name)}</b>{line}"


def _type(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation
    return annotation.__name__ if type(annotation) is type else inspect.formatannotation(annotation)


def _value(value: Any) -> str:
    return (
        value.__name__ if inspect.isroutine(value) or inspect.isclass(value) else re.sub(r" at 0x\w+", "", repr(value))
    )


def constant(module: ModuleType, name: str) -> str:
    """The comment beside a constant's definition, and its value if that is short."""
    value = repr(getattr(module, name))
    shown = f"{name} = {value}" if len(value) < 60 and "<" not in value else ""
    for candidate in [module, *(m for m in _inside(module) if hasattr(m, name))]:
        lines = Path(str(candidate.__file__)).read_text(encoding="utf-8").split("\n")
        for i, line in enumerate(lines):
            if re.match(rf"(?:\w+, )*{name}(?:, \w+)*(?::[^=]*)? = ", line):
                before = i
                while before and lines[before - 1].startswith("# ") and "----" not in lines[before - 1]:
                    before -= 1
                comments = [text.removeprefix("# ") for text in lines[before:i]]
                comments += re.findall(r"  # (.*)$", line)
                return "\n\n".join(part for part in (" ".join(comments), f"    {shown}" if shown else "") if part)
    return f"    {shown}" if shown else ""


def _inside(module: ModuleType) -> list[ModuleType]:
    import sys

    return [m for name, m in sorted(sys.modules.items()) if name.startswith(module.__name__ + ".") and m.__file__]


def defined(found: Any) -> str:
    """The file that defines it, seen from the repository."""
    try:
        path = Path(inspect.getsourcefile(inspect.unwrap(found)) or "/")
    except TypeError:
        return ""
    return path.relative_to(ROOT).as_posix() if ROOT in path.parents else ""
