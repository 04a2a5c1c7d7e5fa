"""Optimizers against recurrences worked out by hand or in plain Python, and learning rates against their formulas."""

import copy
import sys

import numpy as np
import pytest

from autograd import Tensor
from autograd.forms import plain_forms
from minisets import SAB, optim
from minisets.nn import Linear
from minisets.optim import SGD, Adam, clip_grad_norm
from tests.helpers import double


def parameter(*values: float, dtype: str = "float64") -> Tensor:
    return Tensor(np.array(values, dtype=dtype), requires_grad=True)


def descend(optimizer: optim.Optimizer, p: Tensor, steps: int) -> list[float]:
    """The path of p under the loss p² / 2, whose gradient is p."""
    path = []
    for _ in range(steps):
        optimizer.zero_grad()
        (p * p * 0.5).sum().backward()
        optimizer.step()
        path.append(p.data[0].item())
    return path


def test_sgd():
    p = parameter(1.0)
    np.testing.assert_allclose(descend(SGD([p], lr=0.1), p, 3), [0.9, 0.81, 0.729])


def test_sgd_with_momentum():
    p = parameter(1.0)
    # u: 1, 0.5 + 0.9, 0.7 + 0.76; p: 1 − 0.1 u
    np.testing.assert_allclose(descend(SGD([p], lr=0.1, momentum=0.5), p, 3), [0.9, 0.76, 0.614])


@pytest.mark.parametrize("decoupled", [False, True])
@pytest.mark.parametrize("weight_decay", [0.0, 0.2])
def test_adam_against_plain_python(weight_decay, decoupled):
    p = parameter(1.0)
    got = descend(Adam([p], lr=0.05, weight_decay=weight_decay, decoupled=decoupled), p, 6)
    x, m, v, want = 1.0, 0.0, 0.0, []
    for t in range(1, 7):
        g = x if decoupled else x + weight_decay * x
        if decoupled:
            x -= 0.05 * weight_decay * x
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        x -= 0.05 * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)) ** 0.5 + 1e-8)
        want.append(x)
    np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("make", [SGD, Adam])
def test_a_step_leaves_the_gradient_as_it_was(make):
    p = parameter(2.0)
    p.grad = np.array([1.0])
    make([p], lr=0.1, weight_decay=0.5).step()
    assert p.grad.tolist() == [1.0]


def test_weight_decay_of_sgd_joins_the_gradient_or_not():
    p, q = parameter(1.0), parameter(1.0)
    np.testing.assert_allclose(descend(SGD([p], lr=0.1, weight_decay=0.5), p, 1), [1 - 0.1 * 1.5])
    np.testing.assert_allclose(descend(SGD([q], lr=0.1, weight_decay=0.5, decoupled=True), q, 1), [1 - 0.05 - 0.1])


@pytest.mark.parametrize("make", [lambda p: SGD(p, lr=0.1, momentum=0.9), Adam])
def test_float32_stays_and_memory_is_kept(make):
    p = parameter(1.0, 2.0, dtype="float32")
    optimizer, memory = make([p]), p.data
    optimizer.lr = np.float64(0.01)
    descend(optimizer, p, 3)
    assert p.data is memory and memory.dtype == "float32"
    assert all(a.dtype == "float32" for arrays in optimizer.buffers.values() for a in arrays)


def test_a_parameter_without_a_gradient_stays():
    p, q = parameter(1.0), parameter(1.0)
    optimizer = Adam([p, q], weight_decay=0.1)
    p.grad = np.ones(1)
    optimizer.step()
    assert p.item() != 1.0 and q.item() == 1.0


def test_a_gradient_that_comes_late_is_corrected_as_a_first_one():
    p, q = parameter(1.0), parameter(1.0)
    optimizer = Adam([p, q], lr=0.1)
    for _ in range(10):
        p.grad = np.ones(1)
        optimizer.step()
    q.grad = np.ones(1)
    optimizer.step()
    assert q.item() == pytest.approx(1 - 0.1, rel=1e-6)


def test_state_continues_exactly_where_it_was():
    p, q = parameter(1.0), parameter(1.0)
    a, b = Adam([p], lr=0.05), Adam([q], lr=0.5)
    descend(a, p, 5)
    q.data[...] = p.data
    b.load_state_dict(a.state_dict())
    assert b.lr == 0.05 and b.steps.tolist() == [5]
    assert descend(a, p, 5) == descend(b, q, 5)


def test_a_state_of_something_else_is_refused():
    state = Adam([parameter(1.0)]).state_dict()
    with pytest.raises(ValueError, match=r"does not fit this SGD: missing 'u.0'; unexpected 'm.0'; unexpected 'v.0'"):
        SGD([parameter(1.0)], lr=1.0).load_state_dict(state)
    with pytest.raises(ValueError, match=r"'m.0' has shape \(1,\) instead of \(2,\)"):
        Adam([parameter(1.0, 2.0)]).load_state_dict(state)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Adam([]), "at least one parameter"),
        (lambda: Adam([Tensor([1.0])]), "Tensors created with requires_grad=True"),
        (lambda: Adam([parameter(1.0) * 2]), "Tensors created with requires_grad=True"),
        (lambda: Adam([parameter(1.0)] * 2), "given twice"),
        (lambda: Adam([parameter(1.0)], lr=0), "lr must be a positive number, given 0"),
        (lambda: Adam([parameter(1.0)], lr=float("nan")), "lr must be a positive number, given nan"),
        (lambda: Adam([parameter(1.0)], lr=None), "lr must be a positive number, given None"),
        (lambda: Adam([parameter(1.0)], betas=(0.9, 1.0)), r"beta2 must lie in \[0, 1\), given 1.0"),
        (lambda: Adam([parameter(1.0)], weight_decay=-1), "weight_decay must be a number of at least 0, given -1"),
        (lambda: SGD([parameter(1.0)], lr=1, momentum=1.0), "momentum must lie in"),
        (lambda: clip_grad_norm([], 0.0), "limit must be a positive number, given 0.0"),
        (lambda: optim.drop_at(1.0, [1.5], 10), "must lie in"),
        (lambda: optim.cosine(1.0, 0), "total must be a positive number"),
        (lambda: optim.linear_to_zero(1.0, 0), "total must be a positive number"),
        (lambda: optim.warm_up(optim.constant(1.0), -1), "steps must be"),
    ],
)
def test_bad_settings_are_one_sentence(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_net_itself_is_no_list_of_parameters():
    with pytest.raises(TypeError, match=r"an optimizer takes net\.parameters\(\), given the net"):
        Adam(Linear(1, 1, rng=np.random.default_rng(0)))


def test_every_optimizer_must_define_its_update():
    p = parameter(1.0)
    p.grad = np.ones(1)
    with pytest.raises(NotImplementedError):
        optim.Optimizer([p], 1.0, 0.0, False).step()


def test_clipping_shrinks_all_gradients_together():
    p, q, r = parameter(0.0, 0.0), parameter(0.0), parameter(0.0)
    p.grad, q.grad = np.array([3.0, 0.0]), np.array([4.0])
    assert clip_grad_norm([p, q, r], 10.0) == 5.0
    np.testing.assert_array_equal(p.grad, [3.0, 0.0])  # below the limit nothing changes
    assert clip_grad_norm([p, q, r], 1.0) == 5.0
    np.testing.assert_allclose(np.concatenate([p.grad, q.grad]), [0.6, 0.0, 0.8])
    assert r.grad is None
    single = parameter(0.0, 0.0, dtype="float32")
    single.grad = np.array([3e20, 4e20], dtype="float32")  # whose squares overflow float32
    assert clip_grad_norm(single, 1.0) == pytest.approx(5e20)
    np.testing.assert_allclose(single.grad, [0.6, 0.8], rtol=1e-6)
    q.grad[:] = p.grad[:] = 0
    assert clip_grad_norm([p, q], 1.0) == 0 and (p.grad == 0).all()
    assert clip_grad_norm([r], 1.0) == 0


def test_schedules():
    assert [optim.constant(0.1)(step) for step in (0, 10**6)] == [0.1, 0.1]
    drop = optim.drop_at(1e-3, [0.7], total=50_000)
    np.testing.assert_allclose([drop(s) for s in (0, 34_999, 35_000, 50_000)], [1e-3, 1e-3, 1e-4, 1e-4])
    twice = optim.drop_at(1.0, [0.5, 0.75], total=100, factor=0.5)
    assert [twice(s) for s in (49, 50, 75)] == [1.0, 0.5, 0.25]
    assert optim.drop_at(1.0, [0.58], total=100)(57) == 1.0  # 0.58 · 100 is 57.99… in floating point
    every = optim.drop_every(1.0, 20_000, factor=0.3)
    np.testing.assert_allclose([every(s) for s in (0, 19_999, 20_000, 40_000)], [1, 1, 0.3, 0.09])
    np.testing.assert_allclose([optim.exponential(2.0, 0.5)(s) for s in range(3)], [2, 1, 0.5])
    cosine = optim.cosine(1.0, 100, lowest=0.1)
    np.testing.assert_allclose([cosine(s) for s in (0, 50, 100, 200)], [1.0, 0.55, 0.1, 0.1])
    linear = optim.linear_to_zero(2.0, 100)
    np.testing.assert_allclose([linear(s) for s in (0, 25, 100, 200)], [2.0, 1.5, 0, 0])
    warm = optim.warm_up(linear, 4)
    np.testing.assert_allclose([warm(s) / linear(s) for s in range(6)], [0.25, 0.5, 0.75, 1, 1, 1])
    assert [optim.warm_up(linear, 0)(s) for s in range(3)] == [linear(s) for s in range(3)]


def test_parameters_together_move_as_each_by_itself(monkeypatch):
    """All at once and end to end, or one by one: the same to the bit, also in several pieces."""
    if "autograd.fast" in sys.modules:
        monkeypatch.setattr("autograd.fast.pieces.PIECE", 4)
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


def test_a_copy_of_network_and_optimizer_learns_by_itself(device: str):
    net = Linear(3, 2, rng=np.random.default_rng(0)).to(device)
    pair = net, Adam(net.parameters(), lr=0.1)
    for p in net.parameters():
        p.grad = p.data * 0 + 1
    pair[1].step()
    other, optimizer = copy.deepcopy(pair)
    before = other.state_dict()
    optimizer.step()
    for name, value in other.state_dict().items():
        np.testing.assert_allclose(before[name] - value, 0.1, rtol=1e-3)
        np.testing.assert_array_equal(net.state_dict()[name], before[name])


@pytest.mark.parametrize("make", [Adam, lambda p: SGD(p, lr=0.1, momentum=0.9)])
@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda pair: (pair[0], copy.copy(pair[1]))])
def test_a_copied_optimizer_keeps_the_state_of_its_own_steps(device: str, make, duplicate):
    """Parameters, buffers and step counts, after steps with all gradients and with one missing, in any order."""
    net = SAB(3, 4, 2, rng=np.random.default_rng(0)).to(device)
    reference = copy.deepcopy(net)
    pair, expected = (net, make(net.parameters())), make(reference.parameters())

    def step(net, optimizer, missing: int | None = None) -> dict[str, np.ndarray]:
        for i, p in enumerate(net.parameters()):
            p.grad = None if i == missing else p.data * 2 + i
        optimizer.step()
        return net.state_dict() | optimizer.state_dict()

    step(*pair)  # so that there is something to copy
    before = pair[1].state_dict()
    copied = duplicate(pair)
    with plain_forms():
        step(reference, expected)
    for missing in (None, None, 2, None):
        got = step(*copied, missing)
        with plain_forms():
            want = step(reference, expected, missing)
        assert len(got) == len(want)
        for name, value in want.items():
            np.testing.assert_allclose(got[name], value, rtol=1e-5, atol=1e-7, err_msg=name)
    if copied[0] is not net:
        for name, value in pair[1].state_dict().items():
            np.testing.assert_array_equal(value, before[name])


def test_a_parameter_that_was_given_another_array_is_moved(device: str):
    net = Linear(3, 2, rng=np.random.default_rng(0)).to(device)
    optimizer = Adam(net.parameters(), lr=0.1)
    net.weight.data = net.weight.data * 0
    for p in net.parameters():
        p.grad = p.data * 0 + 1
    optimizer.step()
    np.testing.assert_allclose(net.weight.numpy(), -0.1, rtol=1e-3)


def test_parameters_that_moved_after_the_optimizer_was_made():
    net = Linear(3, 2, rng=np.random.default_rng(0))
    optimizer = Adam(net.parameters(), lr=0.1)
    net.astype("float64")
    with pytest.raises(ValueError, match="for parameters in float32 on cpu, but they are now in float64 on cpu"):
        optimizer.step()
    with double.installed():
        net.astype("float32").to("cuda")
        with pytest.raises(ValueError, match="now in float32 on cuda:0; create it afterwards"):
            optimizer.step()


def test_a_users_update_rule_sees_one_parameter_at_a_time():
    """One that divides by the norm of a parameter's gradient would go wrong if all parameters moved as one."""

    class Normalised(optim.Optimizer):
        def recurrence(self, t, g, *buffers):
            return self.lr * g / np.sqrt((g * g).sum())

    p, q = parameter(0.0, 0.0), parameter(0.0)
    p.grad, q.grad = np.array([3.0, 4.0]), np.array([10.0])
    Normalised([p, q], 1.0, 0.0, False).step()
    np.testing.assert_allclose(p.data, [-0.6, -0.8])
    np.testing.assert_allclose(q.data, [-1.0])
