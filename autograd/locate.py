"""Finding an object that a command line names as module:attribute."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from types import ModuleType
from typing import Any


class NotFound(Exception):
    """There is no such object: one sentence."""


def locate(text: str, example: str = "name") -> Any:
    """The object named as module:attribute, with modules of the current folder found as python -m finds them."""
    if not all(text.partition(":")) and not text.split(":")[0].endswith(".py"):
        raise NotFound(f"{text!r} does not name an object; write module:{example}")
    module, attribute = import_named(text, example)
    try:
        found: Any = module
        for part in attribute.split("."):
            found = getattr(found, part)
    except AttributeError:
        public = {name: value for name, value in vars(module).items() if not name.startswith("_")}
        own = [name for name, value in public.items() if getattr(value, "__module__", None) == module.__name__]
        names = ", ".join(own or public)
        raise NotFound(f"{module.__name__} has no {attribute!r}; it has {names or 'nothing'}") from None
    return found


def import_named(text: str, example: str = "name") -> tuple[ModuleType, str]:
    """The module of module:attribute, imported, and the name of the attribute."""
    name, _, attribute = text.partition(":")
    if name.endswith(".py"):
        dotted = name.removesuffix(".py").strip("./").replace("/", ".")
        raise NotFound(f"{text!r} names a file; write its module instead: {dotted}:{attribute or example}")
    if os.getcwd() not in sys.path and "" not in sys.path:  # as python -m does
        sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(name), attribute
    except Exception as error:  # whatever a foreign module may raise
        if isinstance(error, ModuleNotFoundError) and error.name and f"{name}.".startswith(f"{error.name}."):
            raise NotFound(f"there is no module {name} in {os.getcwd()} or installed") from None
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{place.filename}, line {place.lineno}"
        raise NotFound(f"importing {name} failed: {type(error).__name__}: {error} ({where})") from error
