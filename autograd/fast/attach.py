"""How the CPU form of an op is attached.

It serves nonempty NumPy arrays of one floating-point dtype.  (The op has already checked their shapes.)  BLAS uses one
thread while it runs, since its pieces are already distributed over threads.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autograd.fast.backward import new_gradients
from autograd.forms import form_of
from autograd.threads import single_threaded_blas

Flags = Sequence[bool]


def cpu_form(op: Any) -> Callable[[Any], Any]:
    """Attach the decorated function, whose pull must return newly allocated arrays, to an op."""

    def attach(compute: Any) -> Any:
        form_of(op, "compute", serves=serves)(with_one_blas_thread(new_gradients(compute)))
        return compute

    return attach


def serves(needs_grad: Flags, first: Any, *others: Any, **settings: Any) -> bool:
    if type(first) is not np.ndarray or first.dtype.kind != "f" or not first.size:
        return False
    for x in others:
        if x is not None and not (type(x) is np.ndarray and x.dtype == first.dtype and x.size):
            return False
    return True


def with_one_blas_thread(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapped(*arguments: Any, **keywords: Any) -> Any:
        with single_threaded_blas:
            return function(*arguments, **keywords)

    return wrapped
