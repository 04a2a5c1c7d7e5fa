"""Automatic differentiation: the whole idea, in one file.

To train a network is to ask, for each of its parameters: if this number grew a little, how much would the loss grow?
The chain rule answers for all of them at once, in one walk from the loss back to the parameters.  Write gx for the
gradient ∂loss/∂x, an array of x's shape.  Then

    x ───► op ───► y ───► op ───► loss      forward: each op computes its output
    gx ◄── pull ◄─ gy ◄── pull ◄─ 1         backward: each op turns the gradient of its output into that of its input

To pull a gradient back through an op is to compute gx = (∂y/∂x)ᵀ gy, a "vector-Jacobian product", vjp for short.  An op
is written as a pure function of plain arrays that returns its value together with a vjp for each of its inputs:

    @op
    def multiply(x, w):
        return x * w, (lambda g: g * w, lambda g: g * x)

Called on Tensors that want a gradient, it leaves behind a Node that remembers how to pull.  The Nodes form a graph, and
backward walks it.  For two Tensors x and w made with requires_grad=True (leaves), loss = multiply(x, w).sum() gives

    Node 0  multiply   parents: leaf x, leaf w   pull: g ↦ (g * w, g * x)
    Node 1  sum        parents: Node 0           pull: g ↦ (g copied to every element,)

    loss.backward()    gradients that have arrived             what happens next
                       {Node 1: 1}                             Node 1 sends ones to its parent
                       {Node 0: ones}                          Node 0 sends w and x to its parents
                       {leaf x: w, leaf w: x}                  nothing is left but leaves: stored as x.grad and w.grad

Gradients are plain arrays and leave no Nodes, so derivatives are first-order only: there is no gradient of a gradient.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ParamSpec

import numpy as np

from autograd import backend
from autograd.arguments import Parameters, converted
from autograd.backend import Array
from autograd.methods import Methods
from autograd.registry import registered

# ---- what the graph is made of --------------------------------------------------------------------------------------


class Tensor(Methods):
    """An array that takes part in differentiation.

    data           the numbers, a NumPy array or, on a GPU, a CuPy array; not copied from what was given
    requires_grad  True for a leaf, which wants a gradient, and for any Tensor computed from one
    node           the Node of the op that made it; None for a leaf, and for constants
    grad           after backward(), the gradient as an array; only leaves get one, and it adds up until set to None

    What + * @ [] mean is written in operators.py, methods such as .sum() in methods.py: each is an op.  .shape, .dtype
    and the like are the array's.  As a key of a dictionary a Tensor is known by its identity.
    """

    __slots__ = ("data", "grad", "node", "requires_grad")

    def __init__(self, data: Any, requires_grad: bool = False) -> None:
        if isinstance(data, Tensor):
            data = data.data
        self.data: Array = data if backend.is_array(data) else np.asarray(data)
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
        """Add the gradient of Σ seed ⊙ self to the .grad of each leaf; for a single number the seed may be left out."""
        backward(self, seed)

    def detach(self) -> Tensor:
        """The same numbers as a constant: gradients stop here."""
        return Tensor(self.data)


class Node:
    """What an op leaves behind: whom to send gradients to, and how to compute them.

    It refers to other Nodes and to leaves, but not to the Tensors in between: an array computed on the way stays alive
    only if pull uses it (or a person holds on to it).
    """

    __slots__ = ("birth", "dtype", "op", "parents", "pull", "shape")

    births = itertools.count()

    def __init__(self, op: str, y: Array, parents: list[Node | Tensor | None], pull: Pull) -> None:
        self.op = op
        self.birth = next(Node.births)  # numbers the Nodes in the order in which they are made
        self.shape, self.dtype = y.shape, y.dtype  # what a gradient sent here must look like; a leaf has them too
        self.parents = parents  # for each input its Node, or a leaf itself; None for one that wants no gradient
        self.pull: Pull | None = pull  # from g to a gradient for each input; None once backward has used it


Vjp = Callable[[Array], Array]  # from the gradient of the output to that of one input
Pull = Callable[[Array], Sequence[Any]]  # the same for all inputs, an array each; what nobody wants may be None
Result = tuple[Array, Any]  # what a pure op returns: its value, and its vjps (see op, below)


# ---- backward -------------------------------------------------------------------------------------------------------


def backward(output: Tensor, seed: Any = None) -> None:
    """Walk the graph from the output to the leaves, freeing it on the way, and add to each leaf's .grad."""
    # What has arrived so far, by receiver: a Node inside the graph, or a leaf at its edge.
    gradients: dict[Node | Tensor, Array] = {output.node or output: _seed(output, seed)}
    for node in _youngest_first(output.node):
        g = gradients.pop(node)  # in the end only leaves are left
        for parent, gx in zip(node.parents, node.pull(g), strict=True):
            if parent is None:
                continue
            gx = _fitted(gx, parent, node.op)
            gradients[parent] = gradients[parent] + gx if parent in gradients else gx  # not +=: gx may be shared
        node.parents, node.pull = [], None
    leaf: Any
    for leaf, g in gradients.items():
        # A copy, because g may be shared: x + w sends one g to both.
        leaf.grad = backend.array_module(g).array(g) if leaf.grad is None else leaf.grad + g


def _youngest_first(root: Node | None) -> list[Any]:
    """Every Node that the root was computed from, and the root, each before the Nodes it was itself computed from.

    Why this order?  A value used twice receives two gradients, and both must have arrived before their sum travels on;
    so whoever used a value must come before the Node that made it.  A Node is always made after its parents.  Hence
    youngest to oldest is such an order: it is enough to find the Nodes and to sort them by birth.
    """
    waiting = [root] if root is not None else []  # a loop, not recursion: graphs can be deeper than Python's stack
    found = set(waiting)
    while waiting:
        node = waiting.pop()
        if node.pull is None:
            raise RuntimeError(
                f"backward through {node.op}, whose graph an earlier backward has freed; compute the forward again, "
                "or add the losses up and call backward once"
            )
        for parent in node.parents:
            if isinstance(parent, Node) and parent not in found:
                found.add(parent)
                waiting.append(parent)
    return sorted(found, key=lambda node: node.birth, reverse=True)


def _fitted(gx: Array, parent: Node | Tensor, op: str) -> Array:
    """The gradient of a parent in the parent's shape.

    An input that was broadcast was copied, and a number that was copied receives the gradients of all its copies: they
    are summed, here for all ops.  A gradient that fits in no such way, or has another dtype, is refused.
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
    """The gradient that backward starts from: what the caller gives, or 1 if the output is a single number."""
    maker = output.node.op if output.node else "a leaf" if output.requires_grad else "a constant"
    source = f"backward from {maker} of shape {output.shape}"
    if not output.requires_grad:
        raise RuntimeError(
            f"{source}, which requires no gradient: it was computed under no_grad(), or nothing that it was computed "
            "from has requires_grad=True"
        )
    if seed is None and output.size != 1:
        raise ValueError(
            f"{source}, which is not a single number: reduce it first, for example with .sum() or .mean(), "
            f"or give a seed gradient of shape {output.shape}"
        )
    if seed is None:
        return backend.array_module(output.data).ones_like(output.data)
    seed = backend.beside(Tensor(seed).data, output.data).astype(output.dtype)
    if seed.shape != output.shape:
        raise ValueError(f"{source} was given a seed of shape {seed.shape}")
    return seed


# ---- how ops record -------------------------------------------------------------------------------------------------

P = ParamSpec("P")
_recording = contextvars.ContextVar("recording", default=True)  # per thread; False inside no_grad()


def op(function: Callable[P, Result]) -> Callable[P, Tensor]:
    """Turn a pure function of arrays, which returns (y, vjps), into a function of Tensors, and enter it in OPS.

    The positional parameters of the pure function are the op's inputs; callers give Tensors, or constants: arrays,
    numbers, lists.  A parameter xs: Sequence[Array] stands for a list of inputs.  Its keyword-only parameters are
    settings, always constants.  How the arguments of a call become arrays is the business of arguments.py.

    vjps has an entry for each input, None where there is no derivative (the condition of a where; such an input must
    not want one).  The vjp of an input that wants no gradient is dropped on the spot, with what it alone would have
    used.  With a single input it may be the vjp alone.  An op whose gradients share their work returns one function,
    g ↦ (gx, gw, …).

    Arrays that an op cannot compute with are refused beforehand, by a function of the same parameters: @checked_by.
    """
    pure: Callable[..., Result] = function
    name, parameters = function.__name__, Parameters(function)

    def compute(wanted: Sequence[bool], *arrays: Any, **settings: Any) -> tuple[Array, Pull]:
        result = pure(arrays, **settings) if parameters.takes_a_list else pure(*arrays, **settings)
        if not (isinstance(result, tuple) and len(result) == 2):
            raise TypeError(f"{name} must return a pair: its value and its vjps")
        y, vjps = result
        if callable(vjps):
            return y, (vjps if parameters.several else lambda g: (vjps(g),))
        if len(vjps) != len(arrays):
            raise TypeError(f"{name} of {len(arrays)} input(s) returned {len(vjps)} vjp(s); one for each is needed")
        kept = [vjp if wants else None for vjp, wants in zip(vjps, wanted, strict=True)]
        return y, lambda g: [vjp(g) if vjp is not None else None for vjp in kept]

    @functools.wraps(function)
    def lifted(*inputs: Any, **settings: Any) -> Tensor:
        if len(inputs) != parameters.by_place or not settings.keys() <= parameters.settings:
            inputs, settings = parameters.sorted(inputs, settings)
        return apply(name, lifted.compute, inputs, settings, parameters.check)  # type: ignore[attr-defined]

    # `compute` is looked up at each call, so that another function may be put in its place.
    lifted.pure, lifted.compute = function, compute  # type: ignore[attr-defined]
    lifted.__signature__ = parameters.for_callers  # type: ignore[attr-defined]
    return registered(lifted)


def apply(name: str, compute: Any, inputs: Sequence[Any], settings: dict[str, Any], check: Any = None) -> Tensor:
    """What every op does: unwrap Tensors, compute y and pull, and leave a Node behind if some gradient is wanted.

    compute(wanted, *arrays, **settings) is told of each input whether its gradient is wanted.
    """
    arrays = [x.data if isinstance(x, Tensor) else x for x in inputs]
    if not _all_tensors_alike(inputs, settings):
        arrays, settings = converted(name, inputs, arrays, settings, Tensor)
    recording = _recording.get()
    wanted = [recording and isinstance(x, Tensor) and x.requires_grad for x in inputs]
    try:
        if check is not None:
            check(*arrays, **settings)
        y, pull = compute(wanted, *arrays, **settings)
    except ValueError as error:
        shapes = ", ".join(str(x.shape) for x in arrays if hasattr(x, "shape"))
        raise ValueError(f"{name} of {shapes}: {error}") from error
    output = Tensor(y)
    if True in wanted:
        output.requires_grad = True
        parents = [(x.node or x) if wants else None for x, wants in zip(inputs, wanted, strict=True)]
        output.node = Node(name, output.data, parents, pull)
    return output


def _all_tensors_alike(inputs: Sequence[Any], settings: dict[str, Any]) -> bool:
    """True if nothing needs to be converted: Tensors of one dtype in NumPy (or None), and settings but no arrays."""
    dtype = getattr(inputs[0], "dtype", None) if inputs else None
    for x in inputs:
        if x is not None and not (type(x) is Tensor and type(x.data) is np.ndarray and x.data.dtype is dtype):
            return False
    return {type(value) for value in settings.values()} <= _AS_THEY_ARE


_AS_THEY_ARE = {type(None), bool, int, float, str}


@contextlib.contextmanager
def no_grad() -> Iterator[None]:
    """Inside `with no_grad():`, or in a function under @no_grad(), ops leave no Nodes behind."""
    token = _recording.set(False)
    try:
        yield
    finally:
        _recording.reset(token)
