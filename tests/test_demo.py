"""The demonstration: it learns, draws, and refuses bad options before it spends time on training."""

import subprocess
import sys

import numpy as np
import pytest

from tasks import demo


def test_the_sets_are_as_described():
    X, mask, y = demo.draw_sets(np.random.default_rng(0), 500)
    assert X.shape == (500, 10, 1) and set(mask.sum(1)) == set(range(1, 11))
    np.testing.assert_allclose(np.where(mask, X[..., 0], -1).max(axis=1) * 100, y[:, 0])


@pytest.mark.parametrize("pooling", ["mean", "attention"])
def test_both_networks_learn(pooling: str):
    y, predicted, errors = demo.train(pooling, steps=150)
    assert np.mean(errors[-20:]) < np.mean(errors[:5]) / 2
    assert np.abs(y - predicted).mean() < np.abs(y - np.median(y)).mean()


def test_a_figure_is_drawn(tmp_path, capsys):
    assert demo.main(["--steps", "3", "--out", str(tmp_path / "new" / "folder")]) == 0
    figure = tmp_path / "new" / "folder" / "demo.png"
    assert figure.read_bytes().startswith(b"\x89PNG") and f"figure: {figure}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--steps", "0"], "--steps must be at least 1, given 0"),
        (["--steps", "many"], "invalid int value: 'many'"),
        (["--out", "/dev/null/folder"], "cannot write to the folder /dev/null/folder"),
        (["--out", "/proc"], "cannot write to the folder /proc"),
    ],
)
def test_bad_options_are_one_sentence_and_exit_2(options, said):
    run = subprocess.run([sys.executable, "-m", "tasks.demo", *options], capture_output=True, text=True)
    assert run.returncode == 2 and said in run.stderr and "Traceback" not in run.stderr
