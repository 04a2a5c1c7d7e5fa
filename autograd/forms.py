"""Faster forms: other ways to compute what a formula says, attached to it from outside.

An op, a block or an optimizer is first of all its formula, written in NumPy where it belongs; that is its plain form,
and it knows of no other.  A faster form computes the same up to rounding.  It attaches itself to the plain one, and
says which calls it serves; all others are left to the plain form:

    @form_of(linear, "compute", serves=lambda wanted, x, weight, bias: x.size > 0)
    def fast_linear(wanted, x, weight, bias): ...          # returns y and pull, as tape.apply wants them

    @form_of(MAB, "forward", serves=lambda self, X, Y, mask=None, mask_x=None: ...)
    def fast_mab(self, X, Y, mask=None, mask_x=None): ...

`serves` takes any call that the plain form takes, and must not raise.  This file is the one place where a form is
chosen.  Faster forms are in autograd/fast (on the CPU), autograd/kernels (on a GPU) and minisets/fast (of whole
blocks), which the packages import last; without these folders everything still works.

    with plain_forms():      faster forms are detached, for study and for tests that compare the two
    MINISETS_PLAIN=1         the same for a whole process
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class Attached:
    """A function that has faster forms: where it is found, its plain form, and the others, tried in this order.

    The owner is what has the function as an attribute: an op has `compute`, a Module's class `forward`, an optimizer's
    class `step`.
    """

    owner: Any
    name: str
    plain: Callable[..., Any]
    forms: list[tuple[Callable[..., bool], Callable[..., Any]]] = field(default_factory=list)

    def chooser(self) -> Callable[..., Any]:
        """What takes the place of the plain form: the first form that serves the call."""
        plain, forms = self.plain, self.forms

        @functools.wraps(plain)
        def choose(*arguments: Any, **keywords: Any) -> Any:
            for serves, form in forms:
                if serves(*arguments, **keywords):
                    return form(*arguments, **keywords)
            return plain(*arguments, **keywords)

        return choose


_attached: dict[tuple[int, str], Attached] = {}
_lock = threading.Lock()
_plain = int(os.environ.get("MINISETS_PLAIN", "0") not in ("", "0"))  # how many want plain forms at present


def form_of(owner: Any, name: str, *, serves: Callable[..., bool]) -> Callable[[F], F]:
    """Attach the decorated function to owner.name, for the calls that it serves."""

    def attach(form: F) -> F:
        if name not in vars(owner):
            raise ValueError(f"{owner!r} has no {name} of its own to attach a form to")
        with _lock:
            attached = _attached.setdefault((id(owner), name), Attached(owner, name, getattr(owner, name)))
            attached.forms.append((serves, form))
            if len(attached.forms) == 1 and not _plain:  # the chooser of the first form sees those to come
                setattr(owner, name, attached.chooser())
        return form

    return attach


@contextlib.contextmanager
def plain_forms() -> Iterator[None]:
    """Inside `with plain_forms():` only plain forms are used, in all threads of the process."""
    _count_plain(1)
    try:
        yield
    finally:
        _count_plain(-1)


def _count_plain(change: int) -> None:
    global _plain
    with _lock:
        before, _plain = _plain, _plain + change
        if bool(before) != bool(_plain):
            for attached in _attached.values():
                setattr(attached.owner, attached.name, attached.plain if _plain else attached.chooser())
