"""Modules and layers: names, order, modes, states, and each layer against its definition."""

import contextlib

import numpy as np
import pytest

from autograd import Tensor, relu
from autograd.gradcheck import gradcheck
from minisets.nn import BatchNorm, Conv2d, Dropout, LayerNorm, Linear, Module, Sequential, evaluating, init


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


class Net(Module):
    """One of everything that the walk must find, and one thing twice."""

    def __init__(self) -> None:
        rng = generator()
        self.first = Linear(2, 3, rng=rng)
        self.scale = Tensor(np.ones(3, dtype="float32"), requires_grad=True)
        self.more = [Linear(3, 3, bias=False, rng=rng), {"norm": BatchNorm(3, axis=-1)}]
        self.again = self.first  # shared, so it counts once
        self.parts = (Dropout(0.5, rng=rng), self.scale)
        self.note = "no tensor"

    def forward(self, X):
        H = relu(self.first(X)) * self.scale
        return self.parts[0](self.more[1]["norm"](self.more[0](H)))


NAMES = ["first.weight", "first.bias", "scale", "more.0.weight", "more.1.norm.gamma", "more.1.norm.beta"]
STATE = [*NAMES, "more.1.norm.running_mean", "more.1.norm.running_variance"]


def test_parameters_are_found_in_order_and_once():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == NAMES
    assert [name for name, _ in net.named_tensors()] == STATE
    assert [id(p) for p in net.parameters()] == [id(p) for _, p in net.named_parameters()]
    assert [name for name, _ in net.named_generators()] == ["parts.0.rng"]
    assert [type(m).__name__ for m in net.modules()] == ["Net", "Linear", "Linear", "BatchNorm", "Dropout"]


def test_a_frozen_parameter_stays_in_the_state():
    net = Net()
    net.scale.requires_grad = False
    assert "scale" not in dict(net.named_parameters()) and "scale" in net.state_dict()


def test_a_module_that_refers_to_its_parent_is_walked_once():
    net = Net()
    net.first.parent = net
    assert [name for name, _ in net.named_tensors()] == STATE


def test_train_and_eval_reach_every_module():
    net = Net()
    assert all(m.training for m in net.modules())
    assert net.eval() is net and not any(m.training for m in net.modules())
    assert net.train() is net and all(m.training for m in net.modules())


def test_a_state_can_be_saved_and_loaded():
    net, other = Net(), Net()
    for p in net.parameters():
        p.data += 1
    other.load_state_dict(net.state_dict())
    for name, array in net.state_dict().items():
        np.testing.assert_array_equal(array, other.state_dict()[name])
    state = net.state_dict()
    state["scale"] += 5
    assert (net.scale.data != state["scale"]).all()  # a state is a copy
    memory = net.scale.data
    net.load_state_dict({name: array.astype("float64") for name, array in state.items()})
    assert net.scale.data is memory and memory.dtype == "float32"  # loaded into the memory that was there


def test_a_state_may_hold_tensors_and_lists():
    net, other = Net(), Net()
    net.load_state_dict({name: x if i else x.numpy().tolist() for i, (name, x) in enumerate(other.named_tensors())})
    np.testing.assert_array_equal(net.first.weight.data, other.first.weight.data)
    for bad in (np.full((2, 3), "1"), np.ones((2, 3), dtype=complex)):
        with pytest.raises(ValueError, match=f"'first.weight' has dtype {bad.dtype} instead of float32"):
            net.load_state_dict(other.state_dict() | {"first.weight": bad})


def test_a_result_kept_in_an_attribute_is_no_state():
    net = Net()
    net.last = net(np.ones((4, 2)))
    assert [name for name, _ in net.named_tensors()] == STATE


def test_a_state_that_does_not_fit_is_refused_with_every_difference():
    net = Net()
    before = net.state_dict()
    state = net.state_dict()
    state["extra"] = state.pop("scale")
    state["first.bias"] = np.zeros(4)
    state["first.weight"] += 1
    message = (
        r"does not fit this Net: missing 'scale'; unexpected 'extra'; 'first.bias' has shape \(4,\) instead of \(3,\)"
    )
    with pytest.raises(ValueError, match=message):
        net.load_state_dict(state)
    np.testing.assert_array_equal(net.state_dict()["first.weight"], before["first.weight"])


def test_astype_turns_floats_alone():
    net = Net()
    net.counter = Tensor(np.zeros(1, dtype="int64"))
    net.scale.grad = np.ones(3, dtype="float32")
    assert net.astype("float64") is net and net.scale.grad is None  # a gradient of another dtype is of no use
    assert {x.dtype.name for x in net.parameters()} == {"float64"} and net.counter.dtype == "int64"
    assert net(np.ones((4, 2), dtype="float32")).dtype == "float64"
    with pytest.raises(ValueError, match="a Module computes in float32 or float64, given int64"):
        net.astype("int64")


def test_repr_shows_a_users_module():
    net = Net()
    assert repr(net).splitlines() == [
        "Net: 27 parameters",
        "  first         FC(3, –)                       9",
        "  scale                        (3,)            3",
        "  more.0        FC(3, –)                       9",
        "  more.1.norm   BatchNorm(3)                   6",
        "  parts.0       Dropout(0.5)",
    ]
    assert net._repr_html_() == f"<pre>{net!r}</pre>"
    assert str(net) == repr(net)


def test_a_module_without_forward_is_an_error():
    with pytest.raises(NotImplementedError, match="Nothing has no forward"):
        type("Nothing", (Module,), {})()(1)


def test_whole_network_gradients():
    gradcheck(Net(), generator().normal(size=(5, 2)))


# ---- initialisation


def test_the_same_seed_gives_the_same_parameters_and_bounds_hold():
    a, b = Linear(16, 8, rng=generator()), Linear(16, 8, rng=generator())
    np.testing.assert_array_equal(a.weight.data, b.weight.data)
    assert a.weight.dtype == "float32" and np.abs(a.weight.data).max() <= 0.25
    assert np.abs(a.weight.data).max() > 0.23  # and the range is used
    kernel = np.abs(Conv2d(4, 50, (2, 8), rng=generator()).weight.data)  # 64 inputs to each output
    assert 0.12 < kernel.max() <= 0.125
    w = init.xavier_uniform(generator(), (30, 70), fan_in=30, fan_out=70).data
    assert 0.95 * np.sqrt(0.06) < np.abs(w).max() <= np.sqrt(0.06)


@pytest.mark.parametrize("rng", [0, None, np.random.RandomState(0)])
def test_a_generator_is_asked_for(rng):
    with pytest.raises(TypeError, match=r"rng must be a NumPy Generator, such as numpy\.random\.default_rng\(0\)"):
        Linear(2, 3, rng=rng)
    with pytest.raises(TypeError, match="rng must be a NumPy Generator"):
        Dropout(0.5, rng=rng)


# ---- layers


def test_a_sequence_takes_float64_arrays_into_its_own_dtype():
    assert Sequential(relu, Linear(2, 3, rng=generator()))(np.ones((4, 2))).dtype == "float32"
    assert Sequential(relu)([1.0, -1.0]).data.tolist() == [1.0, 0.0]


def test_linear_and_conv_against_their_definitions():
    X = generator().normal(size=(4, 5, 2)).astype("float32")
    layer = Linear(2, 3, rng=generator())
    np.testing.assert_allclose(layer(X).data, X @ layer.weight.data + layer.bias.data, rtol=1e-5)
    assert Linear(2, 3, bias=False, rng=generator()).bias is None
    conv = Conv2d(2, 3, (3, 1), stride=2, padding=(1, 0), rng=generator())
    assert conv(np.ones((1, 2, 5, 5))).shape == (1, 3, 3, 3)
    assert Conv2d(2, 3, 3, bias=False, rng=generator()).bias is None


def test_layer_norm_normalizes_rows():
    Y = LayerNorm(16)(generator().normal(3, 5, size=(10, 16))).data
    np.testing.assert_allclose(Y.mean(-1), 0, atol=1e-6)
    np.testing.assert_allclose(Y.std(-1), 1, rtol=1e-5)
    np.testing.assert_allclose(LayerNorm(2, eps=3.0)(np.array([-1.0, 1.0])).data, [-0.5, 0.5], rtol=1e-6)
    for layer in (BatchNorm(1, eps=3.0), BatchNorm(1, eps=3.0).eval()):
        np.testing.assert_allclose(layer(np.array([[-1.0], [1.0]])).data, [[-0.5], [0.5]], rtol=1e-6)


def test_batch_norm_tracks_the_batches_and_evaluates_with_running_statistics():
    layer, rng = BatchNorm(3), generator()
    mean, variance = np.zeros(3), np.ones(3)
    for _ in range(5):
        X = rng.normal(2, 3, size=(8, 3, 4, 4))
        Y = layer(X).data
        np.testing.assert_allclose(Y.mean((0, 2, 3)), 0, atol=1e-6)
        np.testing.assert_allclose(Y.var((0, 2, 3)), 1, rtol=1e-4)
        mean = 0.9 * mean + 0.1 * X.mean((0, 2, 3))
        variance = 0.9 * variance + 0.1 * X.var((0, 2, 3), ddof=1)
    np.testing.assert_allclose(layer.running_mean.data, mean, rtol=1e-5)
    np.testing.assert_allclose(layer.running_variance.data, variance, rtol=1e-5)
    layer.eval()
    want = (X - mean[:, None, None]) / np.sqrt(variance[:, None, None] + 1e-5)
    np.testing.assert_allclose(layer(X).data, want, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(layer.running_mean.data, mean, rtol=1e-5)  # evaluation does not change it
    gradcheck(layer, X)
    before = layer.running_mean.data.copy()
    with pytest.raises(ValueError, match="for each of 4 channels"):
        layer.train()(np.ones((2, 4)))
    np.testing.assert_array_equal(layer.running_mean.data, before)  # a refused batch did not change it
    layer.train()(np.ones((1, 3)))  # a batch of one has no unbiased variance, and does no harm
    assert np.isfinite(layer.running_variance.data).all()


def test_batch_norm_has_its_own_momentum_and_memory():
    layer = BatchNorm(1, momentum=0.5)
    memory = layer.running_mean.data
    layer(np.array([[3.0], [5.0]]))
    assert layer.running_mean.data is memory and memory.tolist() == [2.0]  # half of the way from 0 to 4
    assert layer.running_variance.data.tolist() == [1.5]  # from 1 to the unbiased 2


def test_dropout_acts_in_training_only():
    layer, X = Dropout(0.5, rng=generator()), np.ones((50, 50))
    assert (layer(X).data == 0).any()
    np.testing.assert_array_equal(layer.eval()(X).data, X)
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\), given 1.5"):
        Dropout(1.5, rng=generator())


# ---- evaluation mode ------------------------------------------------------------------------------------------------


def modes(net: Module) -> list[bool]:
    return [module.training for module in net.modules()]


@pytest.mark.parametrize("error", [None, KeyError, KeyboardInterrupt])
def test_evaluating_restores_every_mode(error: type[BaseException] | None):
    net = Net()
    net.more[1]["norm"].eval()  # a frozen layer inside a network in training
    before = modes(net)
    assert True in before and False in before
    context = pytest.raises(error) if error else contextlib.nullcontext()
    with context, evaluating(net):
        assert modes(net) == [False] * len(before)
        if error:
            raise error
    assert modes(net) == before


def test_evaluating_a_network_that_is_in_evaluation_mode_leaves_it_there():
    net = Net().eval()
    with evaluating(net), evaluating(net):
        pass
    assert modes(net) == [False] * len(modes(net))


@pytest.mark.parametrize("error", [None, ValueError])
def test_no_gradients_inside_evaluating_and_gradients_after_it(error: type[Exception] | None):
    net, X = Linear(2, 3, rng=generator()), np.ones((4, 2), "float32")
    with contextlib.suppress(ValueError), evaluating(net):
        assert not net(X).requires_grad
        if error:
            raise error
    assert net(X).requires_grad


def test_evaluating_turns_dropout_off_and_keeps_running_statistics():
    net, X = Net(), generator().normal(size=(5, 2)).astype("float32")
    before = net.state_dict()
    with evaluating(net):
        np.testing.assert_array_equal(net(X).numpy(), net(X).numpy())
    assert all((before[name] == value).all() for name, value in net.state_dict().items())
    assert (net(X).numpy() != net(X).numpy()).any()
