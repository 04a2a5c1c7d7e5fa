"""The tape: gradients through shared and deep graphs, what is freed when, and every refusal as one sentence."""

import asyncio
import contextvars
import gc
import threading
import tracemalloc
import weakref
from collections.abc import Sequence

import numpy as np
import pytest

from autograd import Tensor, no_grad, op
from autograd.backend import Array
from autograd.registry import OPS


@pytest.fixture
def temporary_op():
    """Define ops inside a test without leaving them in the table."""
    before = dict(OPS)
    yield op
    OPS.clear()
    OPS.update(before)


def leaf(*values: float, dtype: str = "float64") -> Tensor:
    return Tensor(np.array(values, dtype=dtype), requires_grad=True)


# ---- right gradients


def test_a_tensor_used_twice_receives_both_gradients():
    x = leaf(3.0)
    y = x * x  # used twice in one op
    (y + y * x).sum().backward()  # and y twice in two
    np.testing.assert_allclose(x.grad, 2 * 3 + 3 * 3**2)


def test_a_diamond_waits_for_both_sides():
    """One side is long and one short: sorting by depth from the loss, or not at all, would send half a gradient on."""
    x = leaf(0.5)
    trunk = x.exp()
    long = trunk
    for _ in range(10):
        long = long * 1.1
    (long * trunk).sum().backward()
    np.testing.assert_allclose(x.grad, 2 * 1.1**10 * np.exp(1.0))


def test_gradients_add_up_over_calls_of_backward():
    x = leaf(1.0, 2.0)
    (x * 3).sum().backward()
    (x * 4).sum().backward()
    np.testing.assert_array_equal(x.grad, [7.0, 7.0])


def test_leaves_own_their_gradients():
    """add sends one array to both inputs; changing one leaf's gradient must not change the other's."""
    x, y = leaf(1.0), leaf(2.0)
    (x + y).backward(np.array([1.0]))
    x.grad *= 10
    np.testing.assert_array_equal(y.grad, [1.0])


def test_a_leaf_can_be_its_own_loss():
    x = leaf(2.0)
    x.backward()
    np.testing.assert_array_equal(x.grad, [1.0])


def test_only_leaves_keep_a_gradient():
    x = leaf(2.0)
    y = x * 2
    y.sum().backward()
    assert y.grad is None and x.grad is not None


def test_a_seed_weighs_the_outputs():
    x = leaf(1.0, 2.0, 3.0)
    (x * x).backward([1, 0, 10])  # a list of integers will do
    np.testing.assert_array_equal(x.grad, [2.0, 0.0, 60.0])


def test_a_gradient_is_an_array_even_for_a_single_number():
    x = Tensor(3.0, requires_grad=True)
    (x * x).backward()
    assert isinstance(x.grad, np.ndarray) and x.grad.shape == ()
    x.backward(True)  # and a seed is a number, whatever its dtype
    assert x.grad == 7.0


def test_a_chain_of_100_000_ops():
    x = leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y + 1e-5
    y.sum().backward()
    np.testing.assert_array_equal(x.grad, [1.0])


def test_a_deep_graph_can_be_dropped_without_backward():
    y = leaf(1.0)
    for _ in range(100_000):
        y = y + 1e-5
    del y
    gc.collect()  # neither the stack nor the collector minds


# ---- what is recorded, what is freed


def test_no_grad_records_nothing_and_ends_with_its_block():
    x = leaf(1.0)
    with no_grad():
        assert not (x * 2).requires_grad
        with no_grad():
            pass
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad
    with pytest.raises(ZeroDivisionError), no_grad():
        raise ZeroDivisionError
    assert (x * 2).requires_grad

    @no_grad()
    def evaluate() -> Tensor:
        return x * 2

    assert not evaluate().requires_grad


def test_no_grad_ends_at_the_thread_that_called_it():
    """A thread may start with a copy of the variables of the one that started it: free-threaded Python does so."""
    x, found = leaf(1.0), []
    with no_grad():
        inherited = contextvars.copy_context()

        def work() -> None:
            found.append((x * 2).requires_grad)
            with no_grad():
                found.append((x * 2).requires_grad)
            found.append((x * 2).requires_grad)

        thread = threading.Thread(target=inherited.run, args=(work,))
        thread.start()
        thread.join()
        assert not (x * 2).requires_grad and not inherited.run(lambda: (x * 2).requires_grad)
    assert found == [True, False, True] and (x * 2).requires_grad


def test_no_grad_ends_at_the_task_that_called_it():
    """Two tasks of one thread take turns, and only one of them is inside no_grad()."""

    async def inside(x: Tensor) -> bool:
        with no_grad():
            await asyncio.sleep(0)
            return (x * 2).requires_grad

    async def outside(x: Tensor) -> bool:
        await asyncio.sleep(0)
        return (x * 2).requires_grad

    async def both() -> list[bool]:
        return await asyncio.gather(inside(leaf(1.0)), outside(leaf(1.0)))

    assert asyncio.run(both()) == [False, True]


def test_detach_stops_gradients():
    x = leaf(3.0)
    (x * x.detach()).sum().backward()
    np.testing.assert_array_equal(x.grad, [3.0])


def test_constants_leave_no_node():
    y = Tensor([1.0]) * 2 + np.ones(1)
    assert y.node is None and not y.requires_grad


def test_an_intermediate_array_that_no_derivative_needs_is_freed_in_the_forward():
    x = Tensor(np.ones(1000), requires_grad=True)
    y = x + 1
    kept = weakref.ref(y.data)
    z = y + 1  # the derivative of add needs no numbers
    del y
    assert kept() is None
    z.sum().backward()


def test_backward_frees_the_graph_while_it_runs(temporary_op):
    """When the derivative of the first op runs, what the later ones kept has gone already."""
    alive = []

    @temporary_op
    def probe(x):
        def vjp(g):
            alive.append(kept() is not None)
            return g

        return x.copy(), vjp

    x = Tensor(np.ones(1000), requires_grad=True)
    y = probe(x)
    z = y.exp()  # keeps its own output for the derivative
    kept = weakref.ref(z.data)
    loss = z.sum()
    del z
    assert kept() is not None
    loss.backward()
    assert alive == [False]


def test_peak_memory_of_backward_does_not_grow_with_depth():
    """A chain of exp keeps one array for each op; backward must give each back before it makes the next gradient."""
    size, depth = 100_000, 50

    def peak_during_backward() -> float:
        y = Tensor(np.zeros(size), requires_grad=True)
        for _ in range(depth):
            y = (y * 0.5).tanh()
        loss = y.sum()
        del y
        gc.collect()
        tracemalloc.reset_peak()
        held = tracemalloc.get_traced_memory()[0]
        loss.backward()
        return (tracemalloc.get_traced_memory()[1] - held) / (8 * size)

    tracemalloc.start()
    try:
        assert peak_during_backward() < 8  # arrays more than the forward held, not `depth` more
    finally:
        tracemalloc.stop()


# ---- errors, each one sentence


def test_second_backward_names_the_freed_op():
    loss = (leaf(1.0) * 2).sum()
    loss.backward()
    with pytest.raises(RuntimeError, match="backward through sum, whose graph an earlier backward has freed"):
        loss.backward()


def test_a_freed_branch_is_found_before_any_gradient_is_changed():
    x = leaf(1.0)
    trunk = x * 2
    trunk.sum().backward()
    x.grad = None
    with pytest.raises(RuntimeError, match="through multiply"):
        (trunk.exp() + x).sum().backward()
    assert x.grad is None


def test_backward_from_several_numbers_needs_a_seed():
    with pytest.raises(ValueError, match=r"backward from multiply of shape \(2,\).*seed"):
        (leaf(1.0, 2.0) * 2).backward()
    with pytest.raises(ValueError, match=r"multiply of shape \(2,\) was given a seed of shape \(3,\)"):
        (leaf(1.0, 2.0) * 2).backward(np.ones(3))
    with pytest.raises(ValueError, match=r"was given a seed of shape \(1, 2\)"):
        (leaf(1.0, 2.0) * 2).backward(np.ones((1, 2)))
    with pytest.raises(ValueError, match="a leaf"):
        leaf(1.0, 2.0).backward()


def test_backward_without_anything_to_train():
    with pytest.raises(RuntimeError, match=r"backward from a constant .* requires no gradient"):
        Tensor([1.0]).sum().backward()


def test_the_error_of_in_place_assignment_names_an_alternative():
    with pytest.raises(TypeError, match=r"setitem: a Tensor cannot be assigned to in place.*where"):
        leaf(1.0)[0] = 2.0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda g: g[:1], r"twice returned float64 of shape \(1,\).*float64 of shape \(2,\)"),
        (lambda g: g.astype("float32"), r"twice returned float32 of shape \(2,\)"),
        (lambda g: None, "twice returned None"),
    ],
)
def test_a_wrong_gradient_names_the_op(temporary_op, wrong, message):
    @temporary_op
    def twice(x):
        return 2 * x, wrong

    with pytest.raises(ValueError, match=f"the derivative of {message}"):
        twice(leaf(1.0, 2.0)).sum().backward()


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: 2 * x, "must return a pair: its value and its vjps"),
        (lambda x: (2 * x, (None, None)), r"of 1 input\(s\) returned 2 vjp\(s\); one per input is expected"),
    ],
)
def test_an_op_that_returns_something_else_is_refused(temporary_op, function, message):
    function.__name__ = "odd"
    with pytest.raises(TypeError, match=f"odd {message}"):
        temporary_op(function)(leaf(1.0, 2.0))


def test_an_op_of_a_list_takes_no_other_inputs(temporary_op):
    with pytest.raises(TypeError, match="odd: an op that takes a list takes no other inputs"):

        @temporary_op
        def odd(x: Array, xs: Sequence[Array]):
            return x, (None,)


def test_an_op_cannot_be_registered_twice(temporary_op):
    with pytest.raises(ValueError, match=r"there is already an op named 'exp', in autograd\.ops\.functions; give"):

        @temporary_op
        def exp(x):
            return x, lambda g: g

    cell = {"__name__": "__main__", "op": op}
    for _ in range(2):  # in a notebook a cell is run again
        exec("@op\ndef twice_in_a_notebook(x):\n    return 2 * x, lambda g: 2 * g", cell)


def test_gradients_of_copies_are_summed_for_every_op(temporary_op):
    """A derivative need not think of broadcasting."""

    @temporary_op
    def spread(x, y):
        return x + 0 * y, (lambda g: g, lambda g: 0 * g)

    x, y = Tensor(np.ones((3, 1)), requires_grad=True), Tensor(np.ones((2, 3, 4)), requires_grad=True)
    spread(x, y).sum().backward()
    np.testing.assert_array_equal(x.grad, np.full((3, 1), 8.0))
    assert y.grad.shape == y.shape


def test_an_op_may_return_one_function_for_all_gradients(temporary_op):
    @temporary_op
    def both(x, y):
        return x * y, lambda g: (g * y, g * x)

    x, y = leaf(2.0), leaf(3.0)
    both(x, y).backward()
    assert x.grad == 3.0 and y.grad == 2.0
    both(x, np.array([5.0])).backward()
    assert x.grad == 8.0
