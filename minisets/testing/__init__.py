"""Test your own set networks in one line, whichever framework they are written in.

    from minisets.testing import check_set_function
    check_set_function(net, kind="invariant")           # or "equivariant": one output for each element

net is a Module of minisets, a PyTorch module, or a function of Tensors, of arrays, of PyTorch's tensors or of JAX's
arrays.  It is called as net(X) with sets X (B, n, d), and as net(X, mask) if it has a parameter for a mask (B, n), True
where an element is present; where the parameter's name says padding, as PyTorch's key_padding_mask, True where it is
not.  Each check draws sets with Hypothesis, shrinks the first that fails, and raises an AssertionError with the
smallest counterexample and the usual mistake that it looks like.  Nothing of the network is changed.

docs/08-testing.md is the chapter on it; tolerance.py says how nearly equal is equal.
"""

from __future__ import annotations

try:
    import hypothesis as _hypothesis
except ModuleNotFoundError as _error:
    if _error.name != "hypothesis":
        raise
    raise ModuleNotFoundError(
        "minisets.testing draws sets with Hypothesis, which is not installed: pip install 'minisets[test]'",
        name="hypothesis",
    ) from None

from minisets.testing.api import (
    check_against,
    check_batch_independence,
    check_dtype,
    check_duplicates,
    check_empty_sets,
    check_equivariant,
    check_gradients,
    check_invariant,
    check_padding,
    check_parameters,
    check_set_function,
)
from minisets.testing.checks import Result, SetFunctionError
from minisets.testing.properties import Options
from minisets.testing.report import PropertyError
from minisets.testing.strategies import masks, permutations, ragged_sets, sets
from minisets.testing.subject import Subject
from minisets.testing.violation import CannotCheck

__all__ = [
    "CannotCheck",
    "Options",
    "PropertyError",
    "Result",
    "SetFunctionError",
    "Subject",
    "check_against",
    "check_batch_independence",
    "check_dtype",
    "check_duplicates",
    "check_empty_sets",
    "check_equivariant",
    "check_gradients",
    "check_invariant",
    "check_padding",
    "check_parameters",
    "check_set_function",
    "masks",
    "permutations",
    "ragged_sets",
    "sets",
]
