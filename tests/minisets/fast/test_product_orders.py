"""The order of products in a MAB: the cheapest is chosen, and all give the same result."""

import dataclasses
from unittest import mock

import numpy as np
import pytest

from autograd import Tensor, threads
from autograd.forms import plain_forms
from minisets import MAB, Multihead, Style
from minisets.fast import blocks, product_orders
from tasks.bench import networks
from tests.helpers.forms import gradients


@pytest.mark.parametrize("name", networks.SHAPES)
def test_networks_agree_in_both_forms(name: str):
    """Loss and gradients of the benchmark's networks; in the fast form each chooses its own order of products."""
    shape = dataclasses.replace(networks.SHAPES[name], sets=3, n=40)
    results = []
    for context in (threads.use(2), plain_forms()):
        net = networks.network(shape, np.random.default_rng(0)).astype("float64")
        X = networks.inputs(shape, np.random.default_rng(1)).astype("float64")
        with context:
            loss = (net(X) ** 2).mean()
            loss.backward()
        results.append([loss.item(), *(p.grad for p in net.parameters())])
    scale = max(np.abs(x).max() for x in results[1])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12 * scale)


@pytest.mark.parametrize(
    ("sets", "n", "m", "d_x", "expected"),
    [(10, 300, 300, 128, "textbook"), (10, 4, 300, 128, "few queries"), (10, 300, 16, 128, "few keys")],
)
def test_the_cheapest_order_is_chosen(sets: int, n: int, m: int, d_x: int, expected: str):
    block = MAB(d_x, d_x, d_x, 4, rng=np.random.default_rng(0))
    Q, K = Tensor(np.zeros((sets, n, d_x), "float32")), Tensor(np.zeros((sets, m, d_x), "float32"))
    assert product_orders.cheapest(block.attention, Q, K, None, False) == expected
    used = []
    watched = {
        name: lambda *a, name=name, op=op, **k: used.append(name) or op(*a, **k)
        for name, op in product_orders.ORDERS.items()
    }
    with mock.patch.dict(product_orders.ORDERS, watched):
        block(Q, K)
        with plain_forms():
            block(Q, K)
    assert used == [expected]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(
    "style", ["paper", "authors", "plusplus", Style(norm_position="pre", norm_kind="set")], ids=str
)
@pytest.mark.parametrize(("n", "m", "shared"), [(3, 40, False), (40, 3, False), (3, 40, True), (7, 7, False)])
def test_all_orders_give_the_same_result(n: int, m: int, shared: bool, style: str | Style, masked: bool, bias: bool):
    """Each order by force, with an empty set among others where an order takes masks, against the plain form."""
    rng = np.random.default_rng(0)
    block = MAB(8, 8, 8, 4, style=style, bias=bias, rng=rng).astype("float64")
    X, Y = rng.normal(size=(n, 8) if shared else (3, n, 8)), rng.normal(size=(3, m, 8))
    mask = np.arange(m) < np.array([[m], [2], [0]]) if masked else None

    def results() -> list[np.ndarray]:
        block.zero_grad()
        found = gradients(lambda X, Y: block(X, Y, mask), [X, Y])
        return found + [p.grad for p in block.parameters()]

    with plain_forms():
        plain = results()
    few_keys = not masked and not shared and block.style.output
    for order in ("textbook", "few queries", *(["few keys"] if few_keys else [])):
        with mock.patch.object(blocks, "cheapest", lambda *arguments, order=order: order):
            for a, b in zip(results(), plain, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11, err_msg=order)


@pytest.mark.parametrize("n", [1, 3000])
def test_attending_to_no_keys_gives_the_output_bias_in_every_order(n: int):
    rng = np.random.default_rng(0)
    heads = Multihead(64, 64, 64, 4, rng=rng)
    X, empty = rng.normal(size=(2, n, 64)).astype("float32"), np.zeros((2, 0, 64), "float32")
    np.testing.assert_allclose(heads(X, empty, empty).data, np.broadcast_to(heads.o.bias.data, X.shape), rtol=1e-6)
