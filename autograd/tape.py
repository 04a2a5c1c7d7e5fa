"""Automatic differentiation: the whole idea, in one file.

Training a network means asking, for each of its parameters: if it increased a little, how much would the loss change?
The chain rule answers this for all of them at once, in one pass from the loss back to the parameters.  Write gx for
the gradient ∂loss/∂x, an array of x's shape.  Then

    x ───► op ───► y ───► op ───► loss      forward: each op computes its output
    gx ◄── pull ◄─ gy ◄── pull ◄─ 1         backward: each op turns its output's gradient into its input's gradient

Pulling a gradient back through an op means computing gx = (∂y/∂x)ᵀ gy, a "vector-Jacobian product", or vjp.  An op is
written as a pure function of plain arrays that returns its value together with a vjp for each of its inputs:

    @op
    def multiply(x, w):
        return x * w, (lambda g: g * w, lambda g: g * x)

Called on Tensors that require a gradient, it records a Node that stores how to pull.  The Nodes make up a graph, which
backward traverses.  For two leaves x and w, created with requires_grad=True, loss = multiply(x, w).sum() gives

    Node 0  multiply   parents: leaf x, leaf w   pull: g ↦ (g * w, g * x)
    Node 1  sum        parents: Node 0           pull: g ↦ (g copied to every element,)

    loss.backward()    gradients received so far               next step
                       {Node 1: 1}                             Node 1 sends ones to its parent
                       {Node 0: ones}                          Node 0 sends w and x to its parents
                       {leaf x: w, leaf w: x}                  only leaves remain: stored as x.grad and w.grad

Gradients are plain arrays and record no Nodes, so only first derivatives exist: there is no gradient of a gradient.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ParamSpec

import numpy as np

from autograd import backend
from autograd.arguments import Parameters, convert_arguments, explained, plain_array
from autograd.backend import Array
from autograd.methods import Methods
from autograd.registry import register

# ---- the graph ------------------------------------------------------------------------------------------------------


class Tensor(Methods):
    """An array that takes part in differentiation.

    data           the values: a NumPy array or, on a GPU, a CuPy array; an array passed in is not copied
    requires_grad  True for a leaf, which receives a gradient, and for any Tensor computed from one
    node           the Node of the op that computed it; None for leaves and constants
    grad           after backward(), the gradient as an array; only leaves get one, and it accumulates until set to None

    operators.py defines + * @ [], and methods.py methods such as .sum(): each calls an op.  .shape, .dtype, .ndim and
    .size are those of the array.  Tensors hash by identity, so they can be dictionary keys.
    """

    __slots__ = ("data", "grad", "node", "requires_grad")

    def __init__(self, data: Any, requires_grad: bool = False) -> None:
        if isinstance(data, Tensor):
            data = data.data
        self.data: Array = data if type(data) is np.ndarray else plain_array("Tensor", data)
        self.requires_grad = requires_grad
        self.node: Node | None = None
        self.grad: Array | None = None
        if self.data.dtype.kind not in "biuf":
            raise TypeError(f"a Tensor holds numbers or booleans; given an array of dtype {self.dtype}")
        if requires_grad and self.dtype not in ("float32", "float64"):
            raise TypeError(
                f"requires_grad=True needs float32 or float64 data, given {self.dtype}; convert it with .astype"
            )

    def backward(self, seed: Any = None) -> None:
        """Add the gradient of Σ seed ⊙ self to each leaf's .grad; the seed is optional for a single-element Tensor."""
        backward(self, seed)

    def detach(self) -> Tensor:
        """The same data as a constant: gradients stop here."""
        return Tensor(self.data)


class Node:
    """The record an op leaves in the graph: where to send gradients, and how to compute them.

    It refers to other Nodes and to leaves, but not to intermediate Tensors: an intermediate array stays alive only if
    pull uses it, or if the caller still holds it.
    """

    __slots__ = ("dtype", "op", "order", "parents", "pull", "shape")

    counter = itertools.count()

    def __init__(self, op: str, y: Array, parents: list[Node | Tensor | None], pull: Pull) -> None:
        self.op = op
        self.order = next(Node.counter)  # position in creation order
        self.shape, self.dtype = y.shape, y.dtype  # expected of a gradient sent here; a leaf has both, too
        self.parents = parents  # for each input its Node, or the leaf itself; None if it needs no gradient
        self.pull: Pull | None = pull  # from g to a gradient for each input; None once backward has used it


Vjp = Callable[[Array], Array]  # from the gradient of the output to that of one input
Pull = Callable[[Array], Sequence[Any]]  # the same for all inputs, one array each; None where no gradient is needed
Result = tuple[Array, Any]  # what a pure op returns: its value and its vjps (see op, below)


# ---- backward -------------------------------------------------------------------------------------------------------


def backward(output: Tensor, seed: Any = None) -> None:
    """Traverse the graph from the output to the leaves, freeing it along the way, and add to each leaf's .grad."""
    # The gradients received so far, by receiver: a Node inside the graph, or a leaf at its edge.
    with backend.device_guard(output.data):
        gradients: dict[Node | Tensor, Array] = {output.node or output: _seed(output, seed)}
    for node in _newest_first(output.node):
        g = gradients.pop(node)  # at the end only leaves remain
        with backend.device_guard(g):
            sent = node.pull(g)
        with backend.device_guard(*sent):  # to_device sends it to another device
            for parent, gx in zip(node.parents, sent, strict=True):
                if parent is None:
                    continue
                gx = _unbroadcast(gx, parent, node.op)
                gradients[parent] = gradients[parent] + gx if parent in gradients else gx  # not +=: gx may be shared
        node.parents, node.pull = [], None
    leaf: Any
    for leaf, g in gradients.items():
        # A copy, because g may be shared: x + w sends one g to both.
        with backend.device_guard(g):
            leaf.grad = backend.array_module(g).array(g) if leaf.grad is None else leaf.grad + g


def _newest_first(root: Node | None) -> list[Any]:
    """The root and every Node it was computed from, each before the Nodes it was itself computed from.

    Why this order?  A value used twice receives two gradients, and both must have arrived before their sum is passed
    on; so every Node that used a value must come before the Node that computed it.  A Node is always created after its
    parents.  Hence newest first is such an order: it is enough to collect the Nodes and sort them by creation order.
    """
    pending = [root] if root is not None else []  # a loop, not recursion: graphs can be deeper than Python's stack
    found = set(pending)
    while pending:
        node = pending.pop()
        if node.pull is None:
            raise RuntimeError(
                f"backward through {node.op}, whose graph an earlier backward has freed; run the forward pass again, "
                "or add the losses and call backward once"
            )
        for parent in node.parents:
            if isinstance(parent, Node) and parent not in found:
                found.add(parent)
                pending.append(parent)
    return sorted(found, key=lambda node: node.order, reverse=True)


def _unbroadcast(gx: Array, parent: Node | Tensor, op: str) -> Array:
    """A parent's gradient, summed to the parent's shape.

    Broadcasting an input copies its elements, and a copied element receives the sum of the gradients of its copies.
    That sum is taken here, for all ops.  A gradient whose shape or dtype still does not match raises an error.
    """
    shape = getattr(gx, "shape", None)
    if shape == parent.shape and gx.dtype == parent.dtype:
        return gx
    if shape is not None and gx.dtype == parent.dtype:
        added = len(shape) - len(parent.shape)
        copied = [added + i for i, size in enumerate(parent.shape) if size == 1]
        if added >= 0 and all(shape[added + i] == size or size == 1 for i, size in enumerate(parent.shape)):
            return gx.sum(axis=(*range(added), *copied), keepdims=True).reshape(parent.shape)
    given = repr(gx) if shape is None else f"{gx.dtype} of shape {shape}"
    raise ValueError(
        f"the derivative of {op} returned {given} "
        f"as the gradient of an input that is {parent.dtype} of shape {parent.shape}"
    )


def _seed(output: Tensor, seed: Any) -> Array:
    """The gradient that backward starts from: the given seed, or 1 if the output has a single element."""
    producer = output.node.op if output.node else "a leaf" if output.requires_grad else "a constant"
    source = f"backward from {producer} of shape {output.shape}"
    if not output.requires_grad:
        raise RuntimeError(
            f"{source}, which requires no gradient: it was computed under no_grad(), or from inputs none of which has "
            "requires_grad=True"
        )
    if seed is None and output.size != 1:
        raise ValueError(
            f"{source}, which is not a single number: reduce it first, for example with .sum() or .mean(), "
            f"or pass a seed gradient of shape {output.shape}"
        )
    if seed is None:
        return backend.array_module(output.data).ones_like(output.data)
    seed = backend.to_device_of(Tensor(seed).data, output.data).astype(output.dtype)
    if seed.shape != output.shape:
        raise ValueError(f"{source} was given a seed of shape {seed.shape}; the two shapes must be equal")
    return seed


# ---- recording ops --------------------------------------------------------------------------------------------------

P = ParamSpec("P")
# The thread inside no_grad(), since threads that it starts may inherit the variable (in free-threaded Python they do).
_no_grad = contextvars.ContextVar[threading.Thread | None]("no_grad", default=None)


def op(function: Callable[P, Result]) -> Callable[P, Tensor]:
    """Turn a pure function of arrays, which returns (y, vjps), into a function of Tensors, and register it in OPS.

    The pure function's positional parameters are the op's inputs; callers pass Tensors, or constants: arrays, numbers,
    lists.  A parameter xs: Sequence[Array] stands for a list of inputs.  Its keyword-only parameters are settings,
    which are always constants.  arguments.py converts the arguments of a call to arrays, and integers to float64.

    vjps has one entry per input, None where there is no derivative (such as the condition of where; that input must
    not require one).  The vjp of an input that needs no gradient is dropped at once, which frees the arrays only it
    refers to.  For a single input, vjps may be the vjp itself.  An op whose gradients share work returns one function
    instead, g ↦ (gx, gw, …).

    @checked_by names a function of the same parameters that raises an error for invalid arrays before the op runs.
    """
    pure: Callable[..., Result] = function
    name, parameters = function.__name__, Parameters(function)

    def compute(needs_grad: Sequence[bool], *arrays: Any, **settings: Any) -> tuple[Array, Pull]:
        result = pure(arrays, **settings) if parameters.takes_list else pure(*arrays, **settings)
        if not (isinstance(result, tuple) and len(result) == 2):
            raise TypeError(f"{name} must return a pair: its value and its vjps")
        y, vjps = result
        if callable(vjps):
            return y, (vjps if parameters.multiple else lambda g: (vjps(g),))
        if len(vjps) != len(arrays):
            raise TypeError(f"{name} of {len(arrays)} input(s) returned {len(vjps)} vjp(s); one per input is expected")
        kept = [vjp if needed else None for vjp, needed in zip(vjps, needs_grad, strict=True)]
        return y, lambda g: [vjp(g) if vjp is not None else None for vjp in kept]

    @functools.wraps(function)
    def lifted(*inputs: Any, **settings: Any) -> Tensor:
        if len(inputs) != parameters.positional or not settings.keys() <= parameters.settings:
            inputs, settings = parameters.bind(inputs, settings)
        return apply(name, lifted.compute, inputs, settings, parameters)  # type: ignore[attr-defined]

    # `compute` is looked up on each call, so that it can be replaced.
    lifted.pure, lifted.compute = function, compute  # type: ignore[attr-defined]
    lifted.__signature__ = parameters.signature  # type: ignore[attr-defined]
    return register(lifted)


def apply(name: str, compute: Any, inputs: Sequence[Any], settings: dict[str, Any], parameters: Any = None) -> Tensor:
    """Run an op: unwrap Tensors, compute y and pull, and record a Node if any input needs a gradient.

    In compute(needs_grad, *arrays, **settings), needs_grad has one boolean per input.
    """
    arrays = [x.data if isinstance(x, Tensor) else x for x in inputs]
    if not _needs_no_conversion(inputs, settings):
        with backend.device_guard(*arrays):
            arrays, settings = convert_arguments(name, inputs, arrays, settings, Tensor, parameters)
    recording = (thread := _no_grad.get()) is None or thread is not threading.current_thread()
    needs_grad = [recording and isinstance(x, Tensor) and x.requires_grad for x in inputs]
    try:
        if parameters is not None and parameters.check is not None:
            parameters.check(*arrays, **settings)
        with backend.device_guard(*arrays):
            y, pull = compute(needs_grad, *arrays, **settings)
    except (AttributeError, TypeError, ValueError) as error:
        raise explained(error, name, inputs, arrays, parameters) from error
    output = Tensor(y)
    if True in needs_grad and output.data.dtype.kind == "f":  # integers have no derivative
        output.requires_grad = True
        parents = [(x.node or x) if needed else None for x, needed in zip(inputs, needs_grad, strict=True)]
        output.node = Node(name, output.data, parents, pull)
    return output


def _needs_no_conversion(inputs: Sequence[Any], settings: dict[str, Any]) -> bool:
    """True if all inputs are NumPy Tensors of one floating-point dtype (or None) and no setting is an array."""
    dtype = inputs[0].data.dtype if inputs and type(inputs[0]) is Tensor else None
    if dtype is not _FLOAT32 and dtype is not _FLOAT64:
        return False
    for x in inputs:
        if x is not None and not (type(x) is Tensor and type(x.data) is np.ndarray and x.data.dtype is dtype):
            return False
    return {type(value) for value in settings.values()} <= _PLAIN_TYPES


_FLOAT32, _FLOAT64 = np.dtype("float32"), np.dtype("float64")
_PLAIN_TYPES = {type(None), bool, int, float, str}


@contextlib.contextmanager
def no_grad() -> Iterator[None]:
    """Inside `with no_grad():`, or in a function decorated with @no_grad(), ops of this thread record no Nodes."""
    token = _no_grad.set(threading.current_thread())
    try:
        yield
    finally:
        _no_grad.reset(token)
