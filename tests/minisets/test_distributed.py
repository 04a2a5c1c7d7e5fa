"""A World of threads: shares, averages and the layers that depend on the whole batch, against one process."""

import copy
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograd import Tensor, absolute_error, forms, relu
from minisets import distributed
from minisets.distributed import MissingMPI, World, launcher
from minisets.nn import BatchNorm, Conv2d, ConvNorm, Dropout, Linear, Module, Sequential
from minisets.optim import SGD, Adam
from tests.helpers.threaded_world import in_world

BATCHES_AND_SIZES = st.integers(1, 5).flatmap(lambda size: st.tuples(st.integers(size, 17), st.just(size)))


class Sometimes(Module):
    """A network with two branches, of which a batch uses the first, and the second only if it has a negative number."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.always, self.seldom, self.never = (Linear(3, 2, rng=rng) for _ in range(3))

    def forward(self, X: Any) -> Tensor:
        Y = self.always(X)
        return Y + self.seldom(X) * (np.asarray(X) < 0).any(axis=1, keepdims=True) if (np.asarray(X) < 0).any() else Y


def images_net(rng: np.random.Generator) -> Module:
    """Batch norm on images and on vectors, dropout at both places."""
    layers = [ConvNorm(1, 4, rng=rng), Dropout(0.3, rng=rng), Conv2d(4, 2, 3, rng=rng), relu]
    return Sequential(*layers, lambda X: X.reshape(len(X), 8), BatchNorm(8, axis=-1), Dropout(0.5, rng=rng),
                      Linear(8, 1, rng=rng)).astype("float64")  # fmt: skip


def trained(world: World, net: Module, X: np.ndarray, y: np.ndarray, steps: int = 3) -> dict[str, np.ndarray]:
    """The state after some steps, and the losses.

    The steps are SGD's: Adam's, in the direction of g / |g|, would turn the rounding of a gradient near 0 into a step.
    """
    optimizer = SGD(net.parameters(), lr=1e-2, momentum=0.9)
    world.join(net, optimizer)
    losses = []
    for _ in range(steps):
        own_X, own_y = world.scatter(X, y)
        loss = absolute_error(net(own_X), own_y)
        optimizer.zero_grad()
        loss.backward()
        losses += world.average_gradients(optimizer.parameters, loss.item())
        optimizer.step()
    numbers = [rng.random() for _, rng in net.named_generators()]  # all generators are where they would be
    return net.state_dict() | {"losses": np.array(losses), "numbers": np.array(numbers)}


@given(BATCHES_AND_SIZES)
def test_rows_are_a_partition_and_weights_are_shares(case: tuple[int, int]):
    n, size = case

    def work(world: World) -> tuple[np.ndarray, float]:
        return world.scatter(np.arange(n)), world.weight

    shares, weights = zip(*in_world(size, work), strict=True)
    np.testing.assert_array_equal(np.concatenate(shares), np.arange(n))
    np.testing.assert_allclose(weights, [len(share) / n for share in shares])
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@settings(max_examples=15)
@given(BATCHES_AND_SIZES, st.booleans())
def test_batch_norm_and_dropout_see_the_whole_batch(case: tuple[int, int], plain: bool):
    """Also where the shares differ in size; in float64, so that only rounding remains."""
    n, size = case
    rng = np.random.default_rng(n)
    X, y = rng.normal(1.0, 2.0, size=(n, 1, 4, 4)), rng.normal(size=(n, 1))
    expected = trained(World(), images_net(np.random.default_rng(1)), X, y)

    def work(world: World) -> dict[str, np.ndarray]:
        return trained(world, images_net(np.random.default_rng(1)), X, y)

    if plain:
        with forms.plain_forms():
            found = in_world(size, work)
    else:
        found = in_world(size, work)
    for state in found:
        assert state.keys() == expected.keys()
        for name in expected:
            np.testing.assert_allclose(state[name], expected[name], rtol=1e-9, atol=1e-11, err_msg=name)


def test_local_statistics_would_be_noticed():
    """The test above can fail: without join, the same training gives another result."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6, 1, 4, 4)), rng.normal(size=(6, 1))

    def work(world: World) -> dict[str, np.ndarray]:
        world.join = lambda *parts: None
        return trained(world, images_net(np.random.default_rng(1)), X, y)

    expected = trained(World(), images_net(np.random.default_rng(1)), X, y)
    assert not np.allclose(in_world(2, work)[0]["losses"], expected["losses"])


def test_everybody_gets_the_state_of_process_0():
    def work(world: World) -> tuple[dict, dict, float]:
        net = images_net(np.random.default_rng(world.rank))
        optimizer = Adam(net.parameters(), lr=0.1 * (world.rank + 1))
        if world.rank == 0:
            (net(np.ones((2, 1, 4, 4))) ** 2).sum().backward()
            optimizer.step()
        world.join(net, optimizer)
        return net.state_dict(), optimizer.state_dict(), next(net.named_generators())[1].random()

    (net, optimizer, number), *others = in_world(3, work)
    for state in others:
        for mine, first in ((state[0], net), (state[1], optimizer)):
            assert mine.keys() == first.keys()
            assert all((mine[name] == first[name]).all() for name in first)
        assert state[2] == number


def test_gradients_that_only_some_processes_have():
    """Absent counts as 0 where another process has one; absent everywhere stays absent."""
    X = np.abs(np.random.default_rng(0).normal(size=(4, 3)))
    X[0, 0] = -1  # only the first of two processes uses the second branch

    def gradients(world: World) -> list[np.ndarray | None]:
        net = Sometimes(np.random.default_rng(1)).astype("float64")
        (net(world.scatter(X)) ** 2).sum(axis=1).mean().backward()
        world.average_gradients(net.parameters())
        return [p.grad for p in net.parameters()]

    expected = gradients(World())
    assert [g is None for g in expected] == [False] * 4 + [True] * 2
    for found in in_world(2, gradients):
        for g, right in zip(found, expected, strict=True):
            assert (g is None) == (right is None)
            if right is not None:
                np.testing.assert_allclose(g, right, rtol=1e-12)


def test_the_layers_keep_their_tensors_and_their_names():
    def work(world: World) -> Module:
        net = images_net(np.random.default_rng(0))
        before = {name: id(x) for name, x in net.named_tensors()}
        world.join(net)
        assert {name: id(x) for name, x in net.named_tensors()} == before
        return net

    net = in_world(2, work)[0]
    assert {type(module).__name__ for module in net.modules()} > {"WholeBatchNorm", "WholeBatchDropout"}
    again = copy.deepcopy(net)  # a World cannot be copied, and need not be
    X = np.ones((2, 1, 4, 4))
    np.testing.assert_array_equal(again.eval()(X).numpy(), net.eval()(X).numpy())


def test_one_process_needs_no_mpi(monkeypatch: pytest.MonkeyPatch):
    for name in (*launcher.SIZES, *launcher.RANKS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    distributed.world.cache_clear()
    world = distributed.world()
    assert (world.rank, world.size, world.orphaned(), world.local_rank()) == (0, 1, False, 0)
    X = np.arange(6.0)
    assert world.scatter(X).tolist() == X.tolist() and world.average_gradients([], 2.0) == [2.0]
    assert world.gather(X).shape == (1, 6) and world.broadcast_text("text") == "text"
    world.sum(X)
    world.abort(1)
    assert X.tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(MissingMPI, match=r"mpi4py is not installed; install it with pip install 'minisets\[mpi\]'"):
        distributed.world(required=True)
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    distributed.world.cache_clear()
    with pytest.raises(MissingMPI):
        distributed.world()
    distributed.world.cache_clear()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda world: world.scatter(np.zeros(1)), "a batch of 1 cannot be shared by 2 processes"),
        (lambda world: world.scatter(np.zeros(4), np.zeros(3)), r"the same number of rows, given \[3, 4\]"),
        (lambda world: world.scatter(), "the same number of rows, given none"),
    ],
)
def test_what_cannot_be_shared(call: Any, message: str):
    with pytest.raises(ValueError, match=message):
        in_world(2, call)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, (1, 0, 0)),
        ({"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_LOCAL_RANK": "1"}, (4, 3, 1)),
        ({"PMI_SIZE": "3", "PMI_RANK": "2", "OMPI_COMM_WORLD_SIZE": "x"}, (3, 2, 0)),  # x: somebody else's variable
        ({"SLURM_NTASKS": "8", "SLURM_PROCID": "0"}, (1, 0, 0)),  # a batch script that is not under srun
        ({"SLURM_STEP_NUM_TASKS": "8", "SLURM_PROCID": "5", "SLURM_LOCALID": "1"}, (8, 5, 1)),  # one that is
    ],
)
def test_launchers_are_recognized(variables: dict, expected: tuple, monkeypatch: pytest.MonkeyPatch):
    for name in (*launcher.SIZES, *launcher.RANKS, *launcher.LOCAL_RANKS):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = launcher.launched_processes(), launcher.launched_rank(), launcher.launched_local_rank()
    assert found == expected
    alone = launcher.without_launcher(variables | {"PATH": "/bin"})
    assert not alone.keys() & {*launcher.SIZES, *launcher.RANKS} and alone["PATH"] == "/bin"
