"""Automatic differentiation: the whole idea, in one file.

To train a network is to ask, for each of its parameters: if this number grew a little, how much would the loss grow?
The chain rule answers for all of them at once, in one walk from the loss back to the parameters.  Write gx for the
gradient ∂loss/∂x, an array of x's shape.  Then

    x ───► op ───► y ───► op ───► loss      forward: each op computes its output
    gx ◄── vjp ◄── gy ◄── vjp ◄── 1         backward: each op turns the gradient of its output into that of its input

A vjp ("vector-Jacobian product") is the function gy ↦ gx = (∂y/∂x)ᵀ gy.  An op is written as a pure function of plain
arrays that returns its value together with a vjp for each of its inputs:

    @op
    def multiply(x, w):
        return x * w, (lambda g: g * w, lambda g: g * x)      # (ops/elementwise.py also lets the shapes broadcast)

Called on Tensors that want a gradient, it leaves behind a Node that remembers these vjps.  The Nodes form a graph, and
backward walks it.  For two Tensors x and w made with requires_grad=True (leaves), loss = multiply(x, w).sum() gives

    Node 0  multiply   parents: leaf x, leaf w   vjps: g ↦ g * w, g ↦ g * x
    Node 1  sum        parents: Node 0           vjps: g ↦ g copied to every element

    loss.backward()    gradients that have arrived             what happens next
                       {Node 1: 1}                             Node 1 sends ones to its parent
                       {Node 0: ones}                          Node 0 sends w and x to its parents
                       {leaf x: w, leaf w: x}                  nothing is left but leaves: stored as x.grad and w.grad

Gradients are plain arrays and leave no Nodes, so derivatives are first-order only: there is no gradient of a gradient.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autograd import backend, forms
from autograd.arguments import arranger, as_input, as_setting, common_array
from autograd.backend import Array

Vjp = Callable[[Array], Array]


@dataclasses.dataclass(frozen=True)
class Together:
    """In place of a vjp for each input: one function that computes all of the gradients that are wanted in one go.

    for_wanted is told with True or False for each input whether its gradient is wanted, and returns g ↦ (gx, gw, ...),
    of which only the entries wanted are looked at.  Each of them is a new array that the op itself lets go of, so that
    backward may add to it in place and a leaf may keep it without a copy; shared=True says that this is not so.
    """

    for_wanted: Callable[[tuple[bool, ...]], Callable[[Array], tuple[Array | None, ...]]]
    shared: bool = False


Result = tuple[Array, Vjp | tuple[Vjp | None, ...] | Together]  # what a pure op returns: its value, and its vjps

OPS: dict[str, Callable[..., Any]] = {}  # every op and composite by name, so that tests can demand a case of each

_births = itertools.count()  # numbers the Nodes in the order in which they are made
_recording = contextvars.ContextVar("recording", default=True)  # per thread; False inside no_grad()


# ---- what the graph is made of --------------------------------------------------------------------------------------


class Tensor:
    """An array that takes part in differentiation.

    data           the numbers, a NumPy array or, on a GPU, a CuPy array; not copied from what was given
    requires_grad  True for a leaf, which wants a gradient, and for what gradients pass on their way to one
    node           the Node of the op that made it; None for a leaf, and for constants
    grad           after backward(), the gradient as an array; only leaves get one, and it adds up until set to None

    operators.py gives it + * @ [] and methods such as .sum(), each of them an op.  As a key of a dictionary it is known
    by its identity.
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

    shape = property(lambda self: self.data.shape)
    dtype = property(lambda self: self.data.dtype)
    ndim = property(lambda self: self.data.ndim)
    size = property(lambda self: self.data.size)
    device = property(lambda self: backend.device_of(self.data))

    def backward(self, seed: Any = None) -> None:
        """Add the gradient of Σ seed ⊙ self to the .grad of each leaf; for a single number the seed may be left out."""
        backward(self, seed)

    def detach(self) -> Tensor:
        """The same numbers as a constant: gradients stop here."""
        return Tensor(self.data)

    def item(self) -> float:
        """The single number in this Tensor, as a Python number."""
        return self.data.item()

    def numpy(self) -> np.ndarray:
        """The numbers as a NumPy array: shared on the CPU, copied from a GPU."""
        return backend.to_host(self.data)


class Node:
    """What an op leaves behind: whom to send gradients to, and how to compute them.

    It refers to other Nodes and to leaves, but not to the Tensors in between: an array computed on the way stays alive
    only if a vjp uses it (or a person holds on to it).
    """

    __slots__ = ("birth", "dtype", "fresh", "op", "parents", "shape", "vjps")

    def __init__(self, op: str, y: Array, parents: list[Node | Tensor], vjps: list[Vjp], fresh: bool) -> None:
        self.op = op
        self.birth = next(_births)
        self.shape, self.dtype = y.shape, y.dtype  # what a gradient sent here must look like; leaves have these too
        self.parents = parents  # the inputs that want a gradient: each its Node, or a leaf itself
        self.vjps: list[Vjp] | None = vjps  # one for each parent; None when backward has been here
        self.fresh = fresh  # whether what they return are new arrays


# ---- backward -------------------------------------------------------------------------------------------------------


def backward(output: Tensor, seed: Any = None) -> None:
    """Walk the graph from the output to the leaves, freeing it on the way, and add to each leaf's .grad."""
    # What has arrived so far, by receiver: a Node inside the graph, or a leaf at its edge.
    gradients: dict[Node | Tensor, Array] = {output.node or output: _seed(output, seed)}
    ours: set[Node | Tensor] = set()  # whose gradient is a new array, which nobody else can hold
    with forms.one_level_of_threads():
        for node in _youngest_first(output.node):
            _send_to_parents(node, gradients, ours)  # takes the node itself out of the dictionary: leaves remain
    for leaf, g in gradients.items():
        if leaf.grad is None:
            # A copy, for g may be shared: x + w sends one g to both.
            xp = backend.array_module(g)
            leaf.grad = xp.asarray(g) if leaf in ours else xp.array(g)
        else:
            leaf.grad += g  # in place, which the copy made safe


def _youngest_first(root: Node | None) -> list[Node]:
    """Every Node that the root was computed from, and the root, each before the Nodes it was itself computed from.

    Why this order?  A value used twice receives two gradients, and both must have arrived before their sum travels on;
    so whoever used a value must come before the Node that made it.  A Node is always made after its parents.  Hence
    from the youngest to the oldest is such an order: it is enough to find the Nodes and to sort them by birth.
    """
    waiting = [root] if root is not None else []  # a loop, not recursion: graphs are deeper than Python's stack
    found = set(waiting)
    while waiting:
        node = waiting.pop()
        if node.vjps is None:
            raise RuntimeError(
                f"backward through {node.op}, whose graph an earlier backward has freed; compute the forward again, "
                "or add the losses up and call backward once"
            )
        for parent in node.parents:
            if isinstance(parent, Node) and parent not in found:
                found.add(parent)
                waiting.append(parent)
    return sorted(found, key=lambda node: node.birth, reverse=True)


def _send_to_parents(node: Node, gradients: dict[Node | Tensor, Array], ours: set[Node | Tensor]) -> None:
    """Compute the gradients of a Node's parents from its own, then free what it had kept for that."""
    g = gradients.pop(node)
    for parent, vjp in zip(node.parents, node.vjps, strict=True):
        gx = vjp(g)
        if getattr(gx, "shape", None) != parent.shape or gx.dtype != parent.dtype:
            given = f"{gx.dtype} of shape {gx.shape}" if hasattr(gx, "shape") else repr(gx)
            raise ValueError(
                f"the derivative of {node.op} returned {given} "
                f"as the gradient of an input that is {parent.dtype} of shape {parent.shape}"
            )
        if parent not in gradients:
            gradients[parent] = gx
            if node.fresh:
                ours.add(parent)
        elif parent in ours:
            gradients[parent] += gx
        else:
            gradients[parent] = gradients[parent] + gx
            ours.add(parent)
    node.parents, node.vjps = [], None


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


def op(function: Callable[..., Result]) -> Callable[..., Tensor]:
    """Turn a pure function of arrays, which returns (y, vjps), into a function of Tensors, and enter it in OPS.

    The positional parameters of the pure function are the op's inputs; callers give Tensors, or constants: arrays,
    numbers, lists.  Its keyword-only parameters are settings, always constants.  `*xs` stands for a list of inputs.
    How a call's arguments become the arrays that the pure function sees is the business of arguments.py.

    vjps has an entry for each input, None where there is no derivative (the condition of a where); with a single
    input it may be the vjp alone, and an op whose gradients share their work returns a Together.  The vjps of inputs
    that want no gradient are dropped on the spot, never called, and with them goes what they alone would have used.
    """
    name, arrange = function.__name__, arranger(function)

    @functools.wraps(function)
    def lifted(*arguments: Any, **keywords: Any) -> Tensor:
        inputs, settings = arrange(arguments, keywords)
        arrays = [x.data if isinstance(x, Tensor) else x for x in inputs]
        tensors = [x.data for x in inputs if isinstance(x, Tensor)] or [x for x in arrays if backend.is_array(x)]
        common = common_array(name, tensors)  # whose dtype and device rule
        arrays = [x if x is common else as_input(x, common) for x in arrays]
        settings = {key: as_setting(_constant(name, key, value), common) for key, value in settings.items()}
        try:
            with forms.one_level_of_threads():
                result = function(*arrays, **settings)
        except ValueError as error:
            shapes = ", ".join(str(x.shape) for x in arrays if hasattr(x, "shape"))
            raise ValueError(f"{name} of {shapes}: {error}") from error
        return _record(name, result, inputs)

    OPS[name] = lifted
    lifted.pure = function
    return lifted


def _record(name: str, result: Result, inputs: tuple) -> Tensor:
    """The output as a Tensor, with a Node if some input wants a gradient and we are not inside no_grad()."""
    if not (isinstance(result, tuple) and len(result) == 2):
        raise TypeError(f"{name} must return a pair: its value and its vjps")
    y, vjps = result
    fresh = isinstance(vjps, Together) and not vjps.shared
    if isinstance(vjps, Together):
        vjps = _apart(vjps, tuple(isinstance(x, Tensor) and x.requires_grad for x in inputs))
    vjps = vjps if isinstance(vjps, tuple | list) else (vjps,)
    if len(vjps) != len(inputs):
        raise TypeError(f"{name} of {len(inputs)} input(s) returned {len(vjps)} vjp(s); it must return one for each")
    parents, kept = [], []
    if _recording.get():
        for x, vjp in zip(inputs, vjps, strict=True):
            if isinstance(x, Tensor) and x.requires_grad and vjp is not None:
                parents.append(x.node or x)
                kept.append(vjp)
    output = Tensor(y, requires_grad=bool(parents))
    if parents:
        output.node = Node(name, output.data, parents, kept, fresh)
    return output


def _apart(together: Together, wanted: tuple[bool, ...]) -> tuple[Vjp, ...]:
    """A vjp for each input; the first to be called computes for all."""
    pull, left = together.for_wanted(wanted), []  # left: the gradients that are still to be fetched

    def vjp(g: Array, i: int) -> Array:
        if not left:
            left[:] = pull(g)
        gradient, left[i] = left[i], None  # let go of it, so that whoever receives it can free it
        return gradient

    return tuple(functools.partial(vjp, i=i) for i in range(len(wanted)))


def _constant(name: str, key: str, value: Any) -> Any:
    """The value of a setting with its Tensors unwrapped; one that wants a gradient would never get it."""
    if isinstance(value, tuple):
        return tuple(_constant(name, key, part) for part in value)
    if not isinstance(value, Tensor):
        return value
    if value.requires_grad:
        raise TypeError(f"{name}: {key} is a constant, so no gradient would reach the Tensor given; .detach() it first")
    return value.data


def composite(function: Callable[..., Any]) -> Callable[..., Any]:
    """Enter in OPS a function that is made of ops, and so has their derivatives."""
    OPS[function.__name__] = function
    return function


@contextlib.contextmanager
def no_grad() -> Iterator[None]:
    """Inside `with no_grad():`, or in a function under @no_grad(), ops leave no Nodes behind."""
    token = _recording.set(False)
    try:
        yield
    finally:
        _recording.reset(token)
