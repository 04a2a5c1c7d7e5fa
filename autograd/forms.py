"""Forms: faster implementations of ops, blocks and optimizers, attached from outside.

Every op, block and optimizer has a plain version: its formula, written in NumPy, with no reference to anything faster.
A form computes the same result up to rounding.  It attaches itself to the plain version and declares which calls it
serves; all others go to the plain version:

    @form_of(linear, "compute", serves=lambda needs_grad, x, weight, bias: x.size > 0)
    def fast_linear(needs_grad, x, weight, bias): ...          # returns y and pull, as tape.apply expects

    @form_of(MAB, "forward", serves=lambda self, X, Y, mask=None, mask_x=None: ...)
    def fast_mab(self, X, Y, mask=None, mask_x=None): ...

`serves` accepts any call that the plain version accepts, and must not raise.  This file is the only place where a form
is chosen.  Forms are in autograd/fast (CPU), autograd/kernels (GPU) and minisets/fast (entire blocks), which the
packages import last; everything still works without these folders.

    with plain_forms():      all forms are detached, for study and for tests that compare results
    MINISETS_PLAIN=1         the same for the entire process
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from autograd.threads import fork_safe_lock

F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class Attached:
    """A function that has forms: where it is stored, its plain version, and the forms in the order they are tried.

    The function is an attribute of the owner: `compute` of an op, `forward` of a Module class, `step` of an optimizer
    class.
    """

    owner: Any
    name: str
    plain: Callable[..., Any]
    forms: list[tuple[Callable[..., bool], Callable[..., Any]]] = field(default_factory=list)

    def dispatcher(self) -> Callable[..., Any]:
        """The replacement for the plain version: it calls the first form that serves the call."""
        plain, forms = self.plain, self.forms

        @functools.wraps(plain)
        def dispatch(*arguments: Any, **keywords: Any) -> Any:
            for serves, form in forms:
                if serves(*arguments, **keywords):
                    return form(*arguments, **keywords)
            return plain(*arguments, **keywords)

        return dispatch


_attached: dict[tuple[int, str], Attached] = {}
_lock = fork_safe_lock()
_plain_count = int(os.environ.get("MINISETS_PLAIN", "0") not in ("", "0"))  # how many active requests disable forms


def form_of(owner: Any, name: str, *, serves: Callable[..., bool]) -> Callable[[F], F]:
    """Attach the decorated function as a form of owner.name, for the calls that it serves."""

    def attach(form: F) -> F:
        if name not in vars(owner):
            raise ValueError(f"{owner!r} does not itself define {name}, so no form can be attached to it")
        with _lock:
            attached = _attached.setdefault((id(owner), name), Attached(owner, name, getattr(owner, name)))
            attached.forms.append((serves, form))
            if len(attached.forms) == 1 and not _plain_count:  # the dispatcher also finds forms added later
                setattr(owner, name, attached.dispatcher())
        return form

    return attach


@contextlib.contextmanager
def plain_forms() -> Iterator[None]:
    """Inside `with plain_forms():` only the plain versions are used, in all threads of the process."""
    _change_plain_count(1)
    try:
        yield
    finally:
        _change_plain_count(-1)


def _change_plain_count(change: int) -> None:
    global _plain_count
    with _lock:
        before, _plain_count = _plain_count, _plain_count + change
        if bool(before) != bool(_plain_count):
            for attached in _attached.values():
                setattr(attached.owner, attached.name, attached.plain if _plain_count else attached.dispatcher())
