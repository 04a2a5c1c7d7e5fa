"""Fast forms against plain ones: the same numbers, gradients and refusals, in less memory, on any number of threads."""

import contextlib
import dataclasses
import subprocess
import sys
import tracemalloc
from unittest import mock

import numpy as np
import pytest
from commandline import ENVIRONMENT, command
from hypothesis import given, settings
from hypothesis import strategies as st

import autograd
from autograd import Tensor, forms, threads
from autograd.forms import plain_forms
from minisets import SAB, Multihead
from minisets.optim import SGD, Adam
from tasks import contestants

sizes = st.integers(1, 9)
dtypes = st.sampled_from(["float32", "float64"])
TOLERANCE = {"float32": 2e-5, "float64": 1e-12}


def tiny_pieces():
    """As they are, small arrays are a single piece; inside this everything is divided."""
    return mock.patch.multiple(forms, PIECE=12, BLOCK=12, QUERIES=2)


def gradients(function, inputs: list, seed: int = 0) -> list[np.ndarray]:
    """The value and the gradients of all Tensors among the inputs."""
    leaves = [Tensor(x.copy(), requires_grad=True) if isinstance(x, np.ndarray) else x for x in inputs]
    y = function(*leaves)
    y.backward(np.random.default_rng(seed).normal(size=y.shape))
    return [y.data, *(x.grad for x in leaves if isinstance(x, Tensor))]


def same_in_both_forms(function, inputs: list, dtype: str) -> None:
    inputs = [x.astype(dtype) if isinstance(x, np.ndarray) else x for x in inputs]
    with threads.use(3):
        fast = [gradients(function, inputs)]
        with tiny_pieces():
            fast.append(gradients(function, inputs))
    with plain_forms():
        plain = gradients(function, inputs)
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
def test_linear(data, B, n, d, e, relu, bias, dtype):
    x, weight, b = data.draw(numbers(B, n, d)), data.draw(numbers(d, e)), data.draw(numbers(e)) if bias else None
    same_in_both_forms(lambda *inputs: autograd.linear(*inputs, relu=relu), [x, weight, b], dtype)


@few
@given(st.data(), sizes, sizes, sizes, sizes, st.integers(1, 3), dtypes)
def test_a_product_with_a_matrix_for_each_head(data, B, n, d, e, h, dtype):
    x, heads = data.draw(numbers(B, h, n, d)), data.draw(numbers(h, d, e))
    same_in_both_forms(autograd.matmul, [x.swapaxes(1, 2).copy().swapaxes(1, 2), heads], dtype)


@few
@given(st.data(), sizes, sizes, st.integers(2, 9), st.booleans(), st.booleans(), dtypes)
def test_layer_norm(data, B, n, d, plus, affine, dtype):
    vectors = [data.draw(numbers(d)) if affine else None for _ in range(2)]
    other = data.draw(numbers(B, n, d)) if plus else None
    same_in_both_forms(autograd.layer_norm, [data.draw(numbers(B, n, d)), *vectors, other], dtype)


@few
@given(st.data(), sizes, sizes, st.integers(2, 9), sizes, st.booleans(), st.booleans(), dtypes)
def test_residual_norm(data, B, n, d, d_in, relu, vectors, dtype):
    inputs = [data.draw(numbers(B, n, d)), data.draw(numbers(B, n, d_in)), data.draw(numbers(d_in, d))]
    inputs += [data.draw(numbers(d)) if vectors else None for _ in range(3)]
    same_in_both_forms(lambda *inputs: autograd.residual_norm(*inputs, relu=relu), inputs, dtype)


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


@few
@given(st.data(), st.integers(1, 3), st.integers(1, 3), sizes, sizes, sizes, sizes, dtypes)
def test_summed_attention(data, B, h, n, m, d, f, dtype):
    inputs = [data.draw(numbers(*shape)) for shape in ((B, n, d), (B, h, m, d), (B, h, m), (B, h, m, f))]
    same_in_both_forms(autograd.summed_attention, inputs, dtype)


@pytest.mark.parametrize("pieces", [contextlib.nullcontext, tiny_pieces])
def test_hidden_keys_may_hold_anything_in_every_block(pieces):
    rng = np.random.default_rng(0)
    q, k, v = rng.normal(size=(2, 2, 5, 3)), rng.normal(size=(2, 2, 7, 3)), rng.normal(size=(2, 2, 7, 4))
    mask = rng.random((2, 7)) < 0.5
    mask[1] = False
    wrong = [np.where(mask[:, None, :, None], x, np.nan) for x in (k, v)]

    def attend(q, k, v):
        return autograd.attention(q, k, v, mask=mask)

    with pieces():
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
        X = np.random.default_rng(1).normal(size=(shape.sets, shape.n, shape.d_in))
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
    heads = Multihead(d_x, d_x, d_x, 4, rng=np.random.default_rng(0))
    Q, K = Tensor(np.zeros((sets, n, d_x), "float32")), Tensor(np.zeros((sets, m, d_x), "float32"))
    assert heads.order(Q, K, None, None) == expected
    with plain_forms():
        assert heads.order(Q, K, None, None) == "textbook"


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("n", "m"), [(3, 40), (40, 3)])
def test_all_orders_give_the_same(n: int, m: int, masked: bool):
    """Each order by force, with the mask of an empty set among others where an order takes masks."""
    rng = np.random.default_rng(0)
    heads = Multihead(8, 8, 8, 4, rng=rng).astype("float64")
    X, Y = rng.normal(size=(3, n, 8)), rng.normal(size=(3, m, 8))
    mask = np.arange(m) < np.array([[m], [2], [0]]) if masked else None
    results = {}
    for order in ("textbook", "few queries") + (() if masked else ("few keys",)):
        with mock.patch.object(type(heads), "order", lambda *arguments, order=order: order):
            for p in heads.parameters():
                p.grad = None
            results[order] = gradients(lambda X, Y: heads(X, Y, Y, mask), [X, Y])
            results[order] += [p.grad for p in heads.parameters()]
    for name, result in results.items():
        for a, b in zip(result, results["textbook"], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11, err_msg=name)


def test_arrays_may_lie_in_memory_as_they_like():
    """Transposed, reversed, strided: results are those of copies."""
    rng = np.random.default_rng(0)
    x, w, b = rng.normal(size=(6, 5)), rng.normal(size=(5, 5)), rng.normal(size=5)
    odd = [np.asfortranarray(x), x[::-1][::-1], np.repeat(x, 2, axis=1)[:, ::2], np.repeat(x, 2, axis=0)[::2]]
    for function in (
        lambda x, w, b: autograd.linear(x, w, b, relu=True),
        lambda x, w, b: autograd.layer_norm(x, b, b, x),
        lambda x, w, b: autograd.residual_norm(x, x, w, b, b, b, relu=True),
        lambda x, w, b: autograd.attention(x, x * 2, x),
    ):
        for other in odd:
            for pieces in (contextlib.nullcontext, tiny_pieces):
                with pieces():
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
    y = autograd.attention(Tensor(np.ones((1, 4, 3)), requires_grad=True), np.ones((1, 5, 3)), np.ones((1, 5, 3)))
    y.sum().backward()
    assert len(y.node.parents) == 0  # freed, and nothing was sent to a constant


# ---- threads


def test_results_do_not_depend_on_the_number_of_threads():
    """Losses and weights after some steps of every network, to the bit, in processes with 1, 2 and 5 threads."""
    code = """
import hashlib
from tasks import contestants
from dataclasses import replace
for name, shape in contestants.SHAPES.items():
    ours = contestants.Ours(replace(shape, sets=min(shape.sets, 8), n=min(shape.n, 600)))
    losses = [ours.step() for _ in range(2)]
    print(name, losses, hashlib.sha256(b"".join(x.tobytes() for x in ours.weights().values())).hexdigest())
"""
    said = set()
    for mine, blas in ((1, 1), (2, 1), (2, 2), (5, 2)):
        environment = ENVIRONMENT | {"MINISETS_THREADS": str(mine), "OPENBLAS_NUM_THREADS": str(blas)}
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        said.add(run.stdout)
    assert len(said) == 1 and len(said.pop().splitlines()) == len(contestants.SHAPES)


def test_each_keeps_order_and_raises():
    with threads.use(4):
        assert threads.each(lambda x: x * x, range(50)) == [x * x for x in range(50)]
        inner = threads.each(lambda x: threads.each(lambda y: x + y, range(3)), range(5))  # a piece with pieces
        assert inner == [[x, x + 1, x + 2] for x in range(5)]
        with pytest.raises(ZeroDivisionError):
            threads.each(lambda x: 1 / x, [1, 2, 0, 4])
        assert threads.each(lambda x: -x, [1, 2]) == [-1, -2]  # and goes on working


def test_a_forked_child_has_threads_too():
    code = """
import os, sys
from autograd import threads
with threads.use(2):
    threads.each(abs, [1, 2, 3])
    child = os.fork()
    result = threads.each(abs, [-1, -2, -3])
    if child == 0:
        os._exit(0 if result == [1, 2, 3] else 1)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, timeout=60).returncode == 0


@pytest.mark.skipif(threads._blas is None, reason="this BLAS cannot be told its number of threads")
def test_blas_gets_its_threads_back():
    get, put = threads._blas
    before = get()
    try:
        put(2)
        with threads.calm:
            assert get() == 1
            with threads.calm:
                assert get() == 1
            assert get() == 1
        assert get() == 2
        with plain_forms(), forms.one_level_of_threads():
            assert get() == 2
    finally:
        put(before)


def test_without_a_blas_that_listens_there_is_one_thread(monkeypatch):
    monkeypatch.setattr(threads, "_blas", None)
    monkeypatch.setattr(threads, "_count", None)
    monkeypatch.delenv("MINISETS_THREADS", raising=False)
    assert threads.count() == 1
    with threads.calm:  # nothing to do
        assert threads.each(abs, [-1, -2]) == [1, 2]


def test_a_bad_number_of_threads_is_refused(tmp_path):
    done = command("list", env=ENVIRONMENT | {"MINISETS_THREADS": "many"}, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "minisets: MINISETS_THREADS must be a whole number of at least 1, given 'many'\n"


def test_plain_forms_for_a_whole_process():
    code = "import numpy as np; from autograd import forms; print(forms.fast(np.ones(3)))"
    for value, said in (("1", "False"), ("0", "True")):
        environment = ENVIRONMENT | {"MINISETS_PLAIN": value}
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert run.stdout.strip() == said


# ---- memory


def peak(function) -> int:
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_of_attention_grows_with_n_not_with_its_square():
    def step(n: int):
        q = Tensor(np.ones((1, 1, n, 4), "float32"), requires_grad=True)
        return lambda: autograd.attention(q, q, q).sum().backward()

    with threads.use(2):
        small, large = peak(step(3000)), peak(step(6000))
    assert large < 2.2 * small and large < 6000 * 6000  # bytes: a quarter of one matrix of scores


def test_a_sab_of_20000_elements_fits_in_a_gibibyte():
    """Peak memory of the whole process, forward and backward; the scores alone would take 12.8 GB."""
    code = """
import resource
import numpy as np
from autograd import Tensor
from minisets import SAB, Multihead
rng = np.random.default_rng(0)
net = SAB(64, 64, 8, rng=rng)
X = Tensor(rng.standard_normal((1, 20_000, 64), dtype="float32"), requires_grad=True)
(net(X) ** 2).mean().backward()
assert np.isfinite(X.grad).all()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
    run = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert float(run.stdout) < 1024


def test_a_step_of_a_sab_keeps_a_few_arrays_of_rows_and_a_block_of_scores():
    n, d = 4096, 32
    net, X = SAB(d, d, 4, rng=np.random.default_rng(0)), np.ones((1, n, d), "float32")

    def step():
        (net(X) ** 2).mean().backward()

    with threads.use(1):
        fast = peak(step)
        with plain_forms():
            plain = peak(step)
    scores = 4 * n * n * 4  # bytes
    assert plain > 3 * scores
    assert fast < 24 * X.nbytes + 4 * (4 * forms.BLOCK)


def test_how_often_a_step_of_a_sab_allocates():
    """Every array of rows (n, d) that the fast forms allocate, counted: a copy that slips in shows here.

    Forward makes q, k, v, the answers, ŝ and y of two residual norms, and zeros for a ReLU to compare with; backward
    makes the gradients of attention's three arguments, of x and z in each norm, and of X thrice, from q, k and v.
    """
    n, d = 64, 16
    net = SAB(d, d, 2, rng=np.random.default_rng(0))
    X = Tensor(np.ones((3, n, d), "float32"), requires_grad=True)
    made = []

    class Watched:
        def __getattr__(self, name):
            function = getattr(np, name)
            if name not in (
                "empty",
                "empty_like",
                "zeros",
                "zeros_like",
                "ascontiguousarray",
                "where",
                "array",
                "copy",
            ):
                return function

            def watch(*arguments, **keywords):
                array = function(*arguments, **keywords)
                if array.size == X.size and array.dtype != bool and not any(array is x for x in arguments):
                    made.append(name)
                return array

            return watch

    with mock.patch("autograd.fast.rows.np", Watched()), mock.patch("autograd.fast.attention.np", Watched()):
        Y = net(X)
        forward = len(made)
        (Y**2).mean().backward()
    assert forward == 3 + 1 + 4 + 1 + made[:forward].count("ascontiguousarray")
    assert len(made) - forward == 3 + 4 + 3 + made[forward:].count("ascontiguousarray")
    assert made.count("ascontiguousarray") == 7  # Q, K and V, head by head, and in backward again with g


# ---- optimizers


def test_parameters_together_move_as_each_by_itself(monkeypatch):
    """All at once and end to end, or one by one: the same to the bit, also in several pieces."""
    rng = np.random.default_rng(0)
    start = [rng.normal(size=shape) for shape in ((3, 4), (5,), ())]
    for make in (
        lambda p: Adam(p, lr=0.1),
        lambda p: Adam(p, lr=0.1, weight_decay=0.3),
        lambda p: Adam(p, lr=0.1, weight_decay=0.3, decoupled=True),
        lambda p: SGD(p, lr=0.1, momentum=0.5),
    ):
        ends = []
        for together in (True, False):
            monkeypatch.setattr(forms, "PIECE", 4)
            parameters = [Tensor(x.copy(), requires_grad=True) for x in start]
            optimizers = [make(parameters)] if together else [make([p]) for p in parameters]
            for t in range(3):
                for p in parameters:
                    p.grad = np.cos(p.data + t)
                for optimizer in optimizers:
                    optimizer.step()
            ends.append([p.data for p in parameters])
        for a, b in zip(*ends, strict=True):
            np.testing.assert_array_equal(a, b)


def test_parameters_of_two_dtypes_need_two_optimizers():
    pair = [Tensor(np.ones(2, dtype), requires_grad=True) for dtype in ("float32", "float64")]
    with pytest.raises(ValueError, match="one dtype"):
        Adam(pair)
