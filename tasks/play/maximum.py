"""The page on maximum regression: the answer, and its gradient with respect to each number."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd import Tensor
from minisets.nn import Module
from tasks.max_regression import HIGH
from tasks.play.attention import chosen, layers, recorded, shown
from tasks.play.changes import change, difference
from tasks.play.library import Library, Model
from tasks.play.messages import Message, numbers, text

MOST = 50  # numbers on the line


def answer(library: Library, message: Message) -> dict[str, Any]:
    """y, the gradient ∂y/∂xᵢ of each number, and how much attention PMA gives it."""
    model = library.get(text(message, "model"), "maximum")
    values = numbers(message, "numbers", MOST)
    changed, compared = change(message), None
    order = values[:, 0].argsort(kind="stable") if model.position else np.arange(len(values))
    x = values[order]  # a network with positions first sees its numbers as in training, in ascending order
    with model.opened() as net:
        pma = next((layer for layer in layers(net) if layer.title.startswith("PMA")), None)
        layer = chosen(message | {"layer": pma.name if pma else None}, net, len(values))
        with recorded(layer) as weights:
            y, gradient = output(model, net, x)
        if changed:
            other, mask = changed.apply(x)
            before, y = y, output(model, net, other, mask)[0]
            compared = difference({"y": np.array([before])}, {"y": np.array([y])}, changed, len(x)) | {"before": before}
    place = order.argsort()
    result = {"y": y, "gradient": gradient[place], "true": values.max(), "change": compared}
    return result | {"attention": shown(message, layer, weights, place)}


def output(model: Model, net: Module, x: np.ndarray, mask: np.ndarray | None = None) -> tuple[float, np.ndarray]:
    """The answer for numbers x (n, 1), and its gradient (n,)."""
    X, y = forward(model, net, x, mask)
    y.sum().backward()
    gradient = X.grad[0, :, 0]
    net.zero_grad()
    scale = scale_of(model)
    return float(y.numpy()[0, 0]) * scale, gradient  # d (s f(x / s)) / dx = f′(x / s)


def forward(model: Model, net: Module, x: np.ndarray, mask: np.ndarray | None = None) -> tuple[Tensor, Tensor]:
    """What the network sees, and its output: numbers from [0, 1]."""
    dtype = net.parameters()[0].dtype
    X = Tensor((x[None] / scale_of(model)).astype(dtype), requires_grad=True)
    return X, net(X, None if mask is None else mask[None])


def scale_of(model: Model) -> float:
    return HIGH if model.config is None else model.config.scale
