"""The page on the tape: the graph of the last forward, node by node, with shapes, values and gradients.

The graph is computed again from the message of the last request, so that the server need not keep any.
"""

from __future__ import annotations

import contextlib
import inspect
import threading
from typing import Any

import numpy as np

from autograd import OPS, Tensor, absolute_error
from autograd.drawing import Graph, graph, members
from autograd.forms import plain_forms
from autograd.inspection import keep_gradients, keep_values
from tasks.clustering import mean_log_likelihood
from tasks.play import maximum
from tasks.play.library import Library
from tasks.play.messages import Message, flag, numbers, text, vectors, whole

MOST_NODES, MOST_ROWS, MOST_COLUMNS, MOST_ELEMENTS = 2_000, 48, 64, 500
_lock = threading.Lock()  # plain_forms and keep_values are for one at a time


def answer(library: Library, message: Message) -> dict[str, Any]:
    """The drawing, and what each of its boxes is."""
    drawing, _, _ = traced(library, message)
    nodes = [
        {"name": v.name, "op": v.op, "label": v.label, "shape": v.shape, "inputs": v.inputs} for v in drawing.values
    ]
    return {"svg": drawing.svg, "nodes": nodes}


def node(library: Library, message: Message) -> dict[str, Any]:
    """One box: its value and its gradient, and the equations of its op."""
    drawing, values, gradients = traced(library, message)
    i = whole(message, "node", 0, len(drawing.values) - 1)
    value = drawing.values[i]
    formula = inspect.getdoc(OPS[value.op]) if value.op in OPS else None
    about = {"name": value.name, "op": value.op, "shape": value.shape, "formula": formula}
    return about | {"value": as_matrix(values[i]), "gradient": as_matrix(gradients[i])}


def traced(library: Library, message: Message) -> tuple[Graph, list[np.ndarray | None], list[np.ndarray | None]]:
    """The drawing of a forward, and the value and the gradient of each of its boxes."""
    page = text(message, "page", choices=("clustering", "maximum"))
    model = library.get(text(message, "model"), page)
    step = whole(message, "step", 0, 10**9) if message.get("step") is not None else None
    forms = contextlib.nullcontext() if flag(message, "fast") else plain_forms()
    with model.opened(step) as net, _lock, forms, keep_values() as kept:
        if page == "clustering":
            points = vectors(message, "points", 2, most=MOST_ELEMENTS)
            X = Tensor(points[None].astype(net.parameters()[0].dtype), requires_grad=True)
            Y = net(X)
            loss = -mean_log_likelihood(X.detach(), None, Y)
        else:
            x = numbers(message, "numbers", maximum.MOST)
            X, Y = maximum.forward(model, net, x)
            loss = absolute_error(Y, np.array([[x.max() / maximum.scale_of(model)]], dtype=Y.dtype))
        names = {"X": X, "Y": Y, "loss": loss} | dict(net.named_parameters())
        drawing, found = graph(loss, names, limit=MOST_NODES), members(loss)
        with keep_gradients(found) as gradients:
            loss.backward()
        values = [x.data if isinstance(x, Tensor) else kept.get(x) for x in found]
        received = [x.grad if isinstance(x, Tensor) else gradients.get(x) for x in found]
        net.zero_grad()
    return drawing, values, received


def as_matrix(array: np.ndarray | None) -> dict[str, Any] | None:
    """An array as the page shows it: its last axis as columns, all others as rows, as far as there is room."""
    if array is None:
        return None
    matrix = array.reshape(-1, array.shape[-1]) if array.ndim else array.reshape(1, 1)
    shown = matrix[:MOST_ROWS, :MOST_COLUMNS].astype("float64")
    about = {"shape": list(array.shape), "rows": len(matrix), "columns": matrix.shape[1], "dtype": str(array.dtype)}
    low, mean, high = (float(f(array)) for f in (np.min, np.mean, np.max))
    return about | {
        "matrix": [[float(f"{x:.4g}") for x in row] for row in shown],
        "low": low,
        "mean": mean,
        "high": high,
    }
