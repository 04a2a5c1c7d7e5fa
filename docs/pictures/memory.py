"""Picture of chapter 22: what plain attention and attention in blocks need in memory."""

from __future__ import annotations

import contextlib
import tracemalloc

import numpy as np

from autograd import Tensor, attention, threads
from autograd.forms import plain_forms
from docs.pictures.drawing import picture
from docs.pictures.plot import COLORS, Plot, new_figure

SIZES = (500, 1000, 2000, 4000)  # smaller ones would show Python's own memory


def peak(n: int, plain: bool) -> float:
    """MiB of a forward and a backward pass of one head of 16 features, in float32, on one thread."""
    rng = np.random.default_rng(0)
    q, k, v = (Tensor(rng.normal(size=(1, 1, n, 16)).astype("float32"), requires_grad=True) for _ in range(3))
    with plain_forms() if plain else contextlib.nullcontext(), threads.use(1):
        attention(q, k, v)  # what is made once is not counted
        tracemalloc.start()
        attention(q, k, v).sum().backward()
        bytes_used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return bytes_used / 2**20


@picture
def attention_memory() -> Plot:
    figure = new_figure(5.2, 3.2)
    axes = figure.subplots()
    for plain, name, color in ((True, "plain", "orange"), (False, "in blocks", "blue")):
        sizes = [peak(n, plain) for n in SIZES]
        axes.plot(SIZES, sizes, marker="o", markersize=4, color=COLORS[color])
        place = (-10, 2) if plain else (0, -16)
        axes.annotate(name, (SIZES[-2], sizes[-2]), place, textcoords="offset points", ha="right", color=COLORS[color])
    axes.set(xscale="log", yscale="log", xlabel="elements n", ylabel="peak memory, MiB")
    axes.set_xticks(SIZES, [f"{n:,}" for n in SIZES])
    axes.set_yticks([1, 10, 100], ["1", "10", "100"])
    axes.minorticks_off()
    return Plot(
        figure, "Peak memory of attention against the number of elements: plain grows with n², in blocks with n"
    )
