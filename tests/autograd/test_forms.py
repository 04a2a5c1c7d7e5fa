"""Fast forms against plain ones: the same numbers, gradients and refusals, in less memory, on any number of threads."""

import contextlib
import dataclasses
from functools import partial
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import autograd
from autograd import Tensor, relu, threads
from autograd.fast import attach, attention, images, pieces
from autograd.forms import form_of, plain_forms
from minisets import MAB, Multihead
from minisets.fast import blocks, product_orders
from minisets.nn import BatchNorm, ConvNorm, Linear
from tasks.bench import worker as contestants

sizes = st.integers(1, 9)
dtypes = st.sampled_from(["float32", "float64"])
TOLERANCE = {"float32": 2e-5, "float64": 1e-12}


def tiny_pieces():
    """As they are, small arrays are a single piece; inside this everything is divided."""
    return mock.patch.multiple(pieces, PIECE=12, BLOCK=12, MIN_QUERIES=2)


def gradients(function, inputs: list, seed: int = 0) -> list[np.ndarray]:
    """The value and the gradients of all Tensors among the inputs."""
    leaves = [Tensor(x.copy(), requires_grad=True) if isinstance(x, np.ndarray) else x for x in inputs]
    y = function(*leaves)
    y.backward(np.random.default_rng(seed).normal(size=y.shape))
    return [y.data, *(x.grad for x in leaves if isinstance(x, Tensor))]


def same_in_both_forms(function, inputs: list, dtype: str, formula=None) -> None:
    """The function in fast forms, whole and in tiny pieces, against the formula (by default itself) in plain forms."""
    inputs = [x.astype(dtype) if isinstance(x, np.ndarray) else x for x in inputs]
    with threads.use(3):
        fast = [gradients(function, inputs)]
        with tiny_pieces():
            fast.append(gradients(function, inputs))
    with plain_forms():
        plain = gradients(formula or function, inputs)
    # Rounding is relative to the largest number that took part; one scale for all, as some gradients are 0 by nature.
    scale = max(np.abs(x).max(initial=1.0) for x in plain)
    for a, b in [pair for result in fast for pair in zip(result, plain, strict=True)]:
        assert a.dtype == dtype
        np.testing.assert_allclose(a, b, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * scale)


@st.composite
def numbers(draw, *shape: int) -> np.ndarray:
    return np.random.default_rng(draw(st.integers(0, 2**32 - 1))).normal(size=shape)


few = settings(max_examples=25)


@few
@given(st.data(), sizes, sizes, sizes, sizes, st.booleans(), st.booleans(), dtypes)
def test_linear(data, B, n, d, e, with_relu, bias, dtype):
    x, weight, b = data.draw(numbers(B, n, d)), data.draw(numbers(d, e)), data.draw(numbers(e)) if bias else None
    if with_relu:
        function, formula = (
            (lambda *inputs: blocks.linear(*inputs, relu=True)),
            lambda *inputs: relu(autograd.linear(*inputs)),
        )
    else:
        function = formula = autograd.linear
    same_in_both_forms(function, [x, weight, b], dtype, formula)


@few
@given(st.data(), sizes, sizes, sizes, sizes, st.integers(1, 3), dtypes)
def test_a_product_with_a_matrix_for_each_head(data, B, n, d, e, h, dtype):
    x, heads = data.draw(numbers(B, h, n, d)), data.draw(numbers(h, d, e))
    same_in_both_forms(autograd.matmul, [x.swapaxes(1, 2).copy().swapaxes(1, 2), heads], dtype)


@few
@given(st.data(), sizes, sizes, st.integers(2, 9), st.booleans(), st.booleans(), dtypes)
def test_layer_norm(data, B, n, d, plus, affine, dtype):
    inputs = [data.draw(numbers(B, n, d)), *(data.draw(numbers(d)) if affine else None for _ in range(2))]
    if plus:
        inputs.append(data.draw(numbers(B, n, d)))
        same_in_both_forms(
            lambda *inputs: blocks.sum_norm(*inputs, eps=1e-5),
            inputs,
            dtype,
            lambda x, gamma, beta, other: autograd.layer_norm(x + other, gamma, beta),
        )
    else:
        same_in_both_forms(autograd.layer_norm, inputs, dtype)


@few
@given(st.data(), sizes, sizes, st.integers(2, 9), sizes, st.booleans(), st.booleans(), st.booleans(), dtypes)
def test_residual_norm(data, B, n, d, d_in, shared, with_relu, vectors, dtype):
    """Each half of a MAB; x may be what all sets share."""
    x = data.draw(numbers(n, d) if shared else numbers(B, n, d))
    inputs = [x, data.draw(numbers(B, n, d_in)), data.draw(numbers(d_in, d))]
    inputs += [data.draw(numbers(d)) if vectors else None for _ in range(3)]

    def formula(x, z, weight, bias, gamma, beta):
        r = autograd.linear(z, weight, bias)
        return autograd.layer_norm(x + (relu(r) if with_relu else r), gamma, beta)

    same_in_both_forms(partial(blocks.residual_norm, relu=with_relu, eps=1e-5), inputs, dtype, formula)


@settings(max_examples=60)
@given(
    st.data(),
    st.integers(1, 5),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(sizes, sizes),
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(0, 3), st.integers(0, 3)),
    st.booleans(),
    dtypes,
)
def test_conv2d(data, N, channels, image, kernel, stride, padding, bias, dtype):
    """Over strides smaller and larger than the kernel, and padding that whole windows lie in."""
    kernel = tuple(min(k, size + 2 * p) for k, size, p in zip(kernel, image, padding, strict=True))
    inputs = [data.draw(numbers(N, channels[0], *image)), data.draw(numbers(channels[1], channels[0], *kernel))]
    inputs.append(data.draw(numbers(channels[1])) if bias else None)
    same_in_both_forms(lambda *inputs: autograd.conv2d(*inputs, stride=stride, padding=padding), inputs, dtype)


@few
@given(st.data(), st.integers(2, 9), st.integers(1, 4), st.booleans(), st.booleans(), dtypes)
def test_batch_norm(data, N, C, pictures, frozen, dtype):
    """With its own statistics and given ones, that are constants or not, along the second axis and the last."""
    x = data.draw(numbers(N, C, 3, 4) if pictures else numbers(N, C))
    gamma, beta = ((data.draw(numbers(C)) if affine else None) for affine in data.draw(st.tuples(*[st.booleans()] * 2)))
    statistics = (data.draw(numbers(C)), 0.5 + data.draw(numbers(C)) ** 2) if frozen else None
    options = {"statistics": statistics, "frozen": frozen}
    same_in_both_forms(lambda *inputs: autograd.batch_norm(*inputs, **options), [x, gamma, beta], dtype)
    last = np.moveaxis(x, 1, -1)
    same_in_both_forms(lambda *inputs: autograd.batch_norm(*inputs, axis=-1, **options), [last, gamma, beta], dtype)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("axis", [1, -1])
def test_layers_of_images(training: bool, axis: int):
    """ConvNorm and BatchNorm: values, gradients and what they remember of the batch."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3, 2, 5, 5) if axis == 1 else (7, 2))
    results = []
    for form in (contextlib.nullcontext(), plain_forms()):
        layer = (ConvNorm(2, 4, rng=np.random.default_rng(1)) if axis == 1 else BatchNorm(2, axis=-1)).astype("float64")
        with form:
            layer.train(training)
            leaf = Tensor(X, requires_grad=True)
            Y = layer(leaf)
            Y.backward(np.cos(np.arange(Y.size)).reshape(Y.shape))
        results.append([Y.data, leaf.grad, *(p.grad for p in layer.parameters()), *layer.state_dict().values()])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


@few
@given(st.data(), st.integers(1, 60), st.integers(1, 4), dtypes)
def test_moments_of_pieces_are_those_of_all(data, N, C, dtype):
    x = (data.draw(numbers(N, C, 2, 2)) + 30).astype(dtype)
    for cut in (contextlib.nullcontext, tiny_pieces):
        with cut():
            mean, variance = images.moments(x, 1)
        assert mean.dtype == variance.dtype == dtype
        np.testing.assert_allclose(mean, x.astype("float64").mean(axis=(0, 2, 3)), rtol=TOLERANCE[dtype])
        np.testing.assert_allclose(variance, x.astype("float64").var(axis=(0, 2, 3)), rtol=10 * TOLERANCE[dtype])


def test_images_keep_their_channels_side_by_side_from_layer_to_layer():
    """The one array that is turned around is the data; gradients too come back with the channels side by side."""
    rng = np.random.default_rng(0)
    X = Tensor(rng.normal(size=(4, 3, 9, 9)), requires_grad=True)
    layers = [ConvNorm(3, 5, 3, stride=2, padding=1, rng=rng), ConvNorm(5, 5, 3, rng=rng)]
    Y = X
    for layer in layers:
        Y = layer.astype("float64")(Y)
        assert Y.data.transpose(0, 2, 3, 1).flags.c_contiguous
    Y.sum().backward()
    assert X.grad.transpose(0, 2, 3, 1).flags.c_contiguous


@st.composite
def masks(draw, B: int, h: int, n: int, m: int) -> np.ndarray | None:
    shape = draw(st.sampled_from([None, (B, m), (B, 1, 1, m), (B, 1, n, m), (B, h, n, m), (1, 1, n, m), (B, 1, n, 1)]))
    if shape is None:
        return None
    return np.random.default_rng(draw(st.integers(0, 99))).random(shape) < draw(st.sampled_from([0.0, 0.3, 0.8, 1.0]))


@settings(max_examples=80)
@given(st.data(), st.integers(1, 3), st.integers(1, 3), sizes, sizes, sizes, sizes, dtypes, st.booleans())
def test_attention(data, B, h, n, m, e, f, dtype, steep):
    """Over shapes, masks with empty rows, and scores within and beyond those that need no maximum subtracted."""
    q, k, v = data.draw(numbers(B, h, n, e)), data.draw(numbers(B, h, m, e)), data.draw(numbers(B, h, m, f))
    if data.draw(st.booleans()):
        q = q[:1]  # queries that all sets share
    mask, scale = data.draw(masks(B, h, n, m)), 0.7
    if steep:  # all scores of a query grow by the same large number, which leaves float32 few digits
        k[..., 0] += 200
        dtype = "float64"
    same_in_both_forms(lambda *qkv: autograd.attention(*qkv, mask=mask, scale=scale), [q, k, v], dtype)


@pytest.mark.parametrize("cut", [contextlib.nullcontext, tiny_pieces])
def test_hidden_keys_may_hold_anything_in_every_block(cut):
    rng = np.random.default_rng(0)
    q, k, v = rng.normal(size=(2, 2, 5, 3)), rng.normal(size=(2, 2, 7, 3)), rng.normal(size=(2, 2, 7, 4))
    mask = rng.random((2, 7)) < 0.5
    mask[1] = False
    wrong = [np.where(mask[:, None, :, None], x, np.nan) for x in (k, v)]

    def attend(q, k, v):
        return autograd.attention(q, k, v, mask=mask)

    with cut():
        for a, b in zip(gradients(attend, [q, k, v]), gradients(attend, [q, *wrong]), strict=True):
            np.testing.assert_array_equal(a, b)


# ---- choosing


@pytest.mark.parametrize("name", contestants.SHAPES)
def test_whole_networks_agree(name: str):
    """Loss and gradients of the benchmark's networks; in the fast form each chooses its own order of products."""
    shape = dataclasses.replace(contestants.SHAPES[name], sets=3, n=40)
    results = []
    for context in (threads.use(2), plain_forms()):
        net = contestants.network(shape, np.random.default_rng(0)).astype("float64")
        X = contestants.inputs(shape, np.random.default_rng(1)).astype("float64")
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
@pytest.mark.parametrize("style", ["paper", "authors", "plusplus"])
@pytest.mark.parametrize(("n", "m", "shared"), [(3, 40, False), (40, 3, False), (3, 40, True), (7, 7, False)])
def test_all_orders_give_the_same(n: int, m: int, shared: bool, style: str, masked: bool, bias: bool):
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
    few_keys = not masked and not shared and style != "authors"
    for order in ("textbook", "few queries", *(["few keys"] if few_keys else [])):
        with mock.patch.object(blocks, "cheapest", lambda *arguments, order=order: order):
            for a, b in zip(results(), plain, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11, err_msg=order)


def test_a_set_that_attends_to_itself_is_projected_at_once():
    rng = np.random.default_rng(0)
    for bias in (True, False):
        block, X = MAB(8, 8, 8, 2, bias=bias, rng=rng).astype("float64"), rng.normal(size=(3, 5, 8))
        found = []
        for form in (contextlib.nullcontext(), plain_forms()):
            block.zero_grad()
            with form:
                found.append(gradients(lambda X, block=block: block(X, X), [X]) + [p.grad for p in block.parameters()])
        for a, b in zip(*found, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def test_a_block_that_is_watched_or_of_ones_own_is_left_to_the_plain_form():
    rng = np.random.default_rng(0)
    block, X = MAB(8, 8, 8, 2, rng=rng), Tensor(rng.normal(size=(3, 5, 8)).astype("float32"))
    assert blocks.serves_mab(block, X, X)
    block.attention.forward = lambda *inputs: Tensor(np.zeros((3, 5, 8), "float32"))
    assert not blocks.serves_mab(block, X, X)
    del block.attention.forward

    class Mine(Multihead):
        def forward(self, Q, K, V, mask=None):
            return Q * 0

    block.attention = Mine(8, 8, 8, 2, rng=rng)
    assert not blocks.serves_mab(block, X, X)

    class Doubled(Linear):
        def forward(self, X):
            return 2 * super().forward(X)

    for place in ("attention.k", "attention.o", "rff.layers"):
        block, other = MAB(8, 8, 8, 2, rng=rng), Doubled(8, 8, rng=rng)
        if place == "rff.layers":
            block.rff.layers = [other]
        else:
            setattr(block.attention, place[-1], other)
        np.testing.assert_allclose(block(X, X).data, plain_forms()(block)(X, X).data, rtol=1e-5, atol=1e-5)
    block = MAB(8, 8, 8, 2, rng=rng)
    np.testing.assert_allclose(block(X, X).data, plain_forms()(block)(X, X).data, rtol=1e-5, atol=1e-5)


# ---- attaching


class Formula:
    """Something that has forms in the tests below."""

    def compute(self, x: int) -> str:
        """x in words"""
        return f"plain {x}"


def test_a_form_is_attached_from_outside_and_serves_what_it_says():
    with mock.patch.dict("autograd.forms._attached"):

        @form_of(Formula, "compute", serves=lambda self, x: x > 10)
        def large(self, x):
            return f"large {x}"

        @form_of(Formula, "compute", serves=lambda self, x: x % 2 == 0)
        def even(self, x):
            return f"even {x}"

        said = [Formula().compute(x) for x in (12, 4, 3)]
        assert said == ["large 12", "even 4", "plain 3"] and Formula.compute.__doc__ == "x in words"
        with plain_forms():
            assert Formula().compute(12) == "plain 12"
            with plain_forms():
                pass
            assert Formula().compute(12) == "plain 12"
            assert "autograd/forms" not in Formula.compute.__code__.co_filename  # the choice itself is gone, too
        assert Formula().compute(12) == "large 12"
        with pytest.raises(ZeroDivisionError), plain_forms():
            raise ZeroDivisionError
        assert Formula().compute(12) == "large 12"


WRONG = {  # what a form must leave to the plain one, whose sentence is the same
    "linear": lambda f: f(np.ones((2, 3)), np.ones((4, 5)), None),
    "linear, bias": lambda f: f(np.ones((2, 3)), np.ones((3, 5)), np.ones(4)),
    "layer_norm": lambda f: f(np.ones((2, 3)), np.ones(4), None),
    "attention": lambda f: f(np.ones((2, 3)), np.ones((2, 4)), np.ones((2, 4))),
    "attention, mask": lambda f: f(np.ones((2, 3)), np.ones((2, 3)), np.ones((2, 3)), mask=np.ones((5, 5), bool)),
    "matmul": lambda f: f(np.ones((2, 3)), np.ones((4, 5))),
    "conv2d": lambda f: f(np.ones((1, 1, 2, 2)), np.ones((1, 1, 3, 3)), None),
    "conv2d, stride": lambda f: f(np.ones((1, 1, 4, 4)), np.ones((1, 1, 3, 3)), None, stride=0),
    "batch_norm": lambda f: f(np.ones((2, 3)), np.ones(4), None),
    "batch_norm, axis": lambda f: f(np.ones((2, 3)), np.ones(3), None, axis=5),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_are_the_plain_forms(name: str):
    call, op = WRONG[name], getattr(autograd, name.split(",")[0])
    with pytest.raises(ValueError) as fast:
        call(op)
    with plain_forms(), pytest.raises(ValueError) as plain:
        call(op)
    assert str(fast.value) == str(plain.value)


def test_integers_are_left_to_the_plain_form():
    ones = np.ones((2, 2), dtype=int)
    assert autograd.linear(ones, ones).data.tolist() == [[2, 2], [2, 2]]
    assert not attach.serves([], ones) and not attach.serves([], np.ones(2), np.ones(2, "float32"))
    assert attach.serves([], np.ones(2), None, np.ones(2)) and not attach.serves([], np.ones(2), np.ones(0))


def test_arrays_may_have_any_strides():
    """Transposed, reversed, strided: results are those of copies."""
    rng = np.random.default_rng(0)
    x, w, b = rng.normal(size=(6, 5)), rng.normal(size=(5, 5)), rng.normal(size=5)
    odd = [np.asfortranarray(x), x[::-1][::-1], np.repeat(x, 2, axis=1)[:, ::2], np.repeat(x, 2, axis=0)[::2]]
    for function in (
        lambda x, w, b: blocks.linear(x, w, b, relu=True),
        lambda x, w, b: blocks.sum_norm(x, b, b, x, eps=1e-5),
        lambda x, w, b: blocks.residual_norm(x, x, w, b, b, b, relu=True, eps=1e-5),
        lambda x, w, b: autograd.attention(x, x * 2, x),
    ):
        for other in odd:
            for cut in (contextlib.nullcontext, tiny_pieces):
                with cut():
                    leaves = [Tensor(a, requires_grad=True) for a in (other, np.asfortranarray(w), b)]
                    y = function(*leaves)
                    y.backward(np.asfortranarray(np.cos(y.data)))
                leaves_c = [Tensor(a.copy(), requires_grad=True) for a in (x, w, b)]
                y_c = function(*leaves_c)
                y_c.backward(np.cos(y_c.data))
                np.testing.assert_allclose(y.data, y_c.data, rtol=1e-12)
                for a, c in zip(leaves, leaves_c, strict=True):
                    if c.grad is not None:
                        np.testing.assert_allclose(a.grad, c.grad, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n", [1, 3000])
def test_nobody_to_attend_to_gives_the_output_bias_in_every_order(n: int):
    rng = np.random.default_rng(0)
    heads = Multihead(64, 64, 64, 4, rng=rng)
    X, nobody = rng.normal(size=(2, n, 64)).astype("float32"), np.zeros((2, 0, 64), "float32")
    np.testing.assert_allclose(heads(X, nobody, nobody).data, np.broadcast_to(heads.o.bias.data, X.shape), rtol=1e-6)


def test_no_gradient_is_computed_that_is_not_wanted():
    """With the data as keys, attention makes neither their gradient nor the values'; linear makes none of the data."""
    products = []
    real = np.dot

    def counted(a, b, out=None):
        products.append((a.shape, b.shape))
        return real(a, b, out=out)

    weight = Tensor(np.ones((3, 4)), requires_grad=True)
    with mock.patch("numpy.dot", counted):
        autograd.linear(np.ones((5, 3)), weight).sum().backward()
    assert products == [((5, 3), (3, 4))]  # forward; gW is a product with a transposed operand, gx would be another dot
    q, k = np.ones((1, 4, 3)), np.ones((1, 5, 3))
    for wanted in ((True, False, False), (False, True, False), (False, False, True)):
        y, pull = attention.attention(wanted, q, k, k, scale=1.0)
        made = pull(np.ones_like(y))
        assert tuple(gradient is not None for gradient in made) == wanted
