"""`minisets check`: a table, exit code 1 with a counterexample, and exit code 2 with one sentence."""

from pathlib import Path

import pytest

from tasks.harness.cli import main
from tests.helpers.commandline import ENVIRONMENT, command
from tests.test_dependencies import run

NETWORKS = """
import numpy as np
from minisets import SAB, build as architecture
from minisets.nn import Module

class Wrong(Module):
    d_in = 2

    def forward(self, X, mask=None):
        return X.sum(axis=1)

def build(d_in, rng, width=8):
    return architecture("SAB + PMA", d_in=d_in, d_out=1, d=width, heads=2, rng=rng)

def total(X):
    return X.sum(axis=1)

def broken():
    raise RuntimeError("no such weights")

NET = SAB(4, 8, 2, rng=np.random.default_rng(0))
NUMBER = 3
Needs = SAB
"""


@pytest.fixture
def networks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "zoo_networks.py").write_text(NETWORKS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)


def test_a_right_network_passes(networks: None, capsys: pytest.CaptureFixture):
    assert main(["check", "zoo_networks:build", "--kind", "invariant", "--d-in", "3", "--examples", "3"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == (
        "zoo_networks:build: Network, invariant, sets of width 3, mask: mask, True where an element is present, "
        "3 examples a check"
    )
    assert [line.split()[2:4] for line in out[1:-1]] == [
        ["invariant", "ok"], ["padding", "ok"], ["batch_independence", "ok"], ["empty_sets", "ok"],
        ["duplicates", "ok"], ["dtype", "ok"], ["gradients", "ok"], ["parameters", "ok"],
    ]  # fmt: skip
    assert out[-1] == "8 checks passed, none failed"


def test_networks_and_functions_are_taken_as_they_are(networks: None, capsys: pytest.CaptureFixture):
    words = ["--examples", "2", "--only", "dtype", "--only", "padding"]
    assert main(["check", "zoo_networks:NET", "--kind", "equivariant", *words]) == 0
    assert main(["check", "zoo_networks:total", "--kind", "invariant", *words]) == 0
    assert "padding              skipped: it takes no mask" in capsys.readouterr().out


def test_a_wrong_network_fails_with_a_counterexample(networks: None, tmp_path: Path):
    strict = ENVIRONMENT | {"PYTHONWARNINGS": "error"}
    done = command("check", "zoo_networks:Wrong", "--kind", "invariant", cwd=tmp_path, env=strict)
    assert done.returncode == 1 and done.stderr == ""
    assert "padding              FAILED  the mask is ignored" in done.stdout
    assert "Wrong fails check_padding: " in done.stdout and done.stdout.endswith("3 of 7 checks failed\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("zoo_networks:nothing --kind invariant", "zoo_networks has no 'nothing'; it has "),
        ("zoo_networks:NUMBER --kind invariant", "zoo_networks:NUMBER is of type int, not a network"),
        ("zoo_networks:Needs --kind invariant", "zoo_networks:Needs needs d, heads; name a function that builds it"),
        ("zoo_networks:build --kind invariant", "zoo_networks:build needs the width of the elements: --d-in"),
        ("zoo_networks:broken --kind invariant", "building zoo_networks:broken failed: RuntimeError: no such weights"),
        ("zoo_networks:NET --kind equivariant --d-in 3", "SAB cannot be called on sets of shape (2, 3, 3): "),
        ("zoo_networks.py:NET --kind invariant", "names a file; write its module instead: zoo_networks:NET"),
        ("zoo_networks --kind invariant", "'zoo_networks' does not name an object; write module:build"),
        ("nowhere:net --kind invariant", "there is no module nowhere in "),
        ("zoo_networks:NET", "the following arguments are required: --kind"),
        ("zoo_networks:NET --kind symmetric", "invalid choice: 'symmetric'"),
        ("zoo_networks:NET --kind equivariant --only paddin", "there is no check 'paddin'; did you mean padding?"),
        (
            "zoo_networks:NET --kind equivariant --only xyz",
            "no check 'xyz'; the checks are equivariant, padding",
        ),
        ("zoo_networks:NET --kind equivariant --sizes 4 2", "sizes must be a pair of integers"),
        ("zoo_networks:NET --kind equivariant --examples 0", "examples must be at least 1, given 0"),
        ("zoo_networks:NET --kind equivariant --seed -1", "--seed must be at least 0, given -1"),
        ("zoo_networks:NET --kind equivariant --d-in 0", "--d-in must be at least 1, given 0"),
        ("zoo_networks:total --kind invariant --mask padding", "no parameter with 'mask' in its name"),
    ],
)
def test_a_bad_request_is_one_sentence(networks: None, capsys: pytest.CaptureFixture, words: str, message: str):
    assert main(["check", *words.split()]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith("minisets: ") and captured.err.count("\n") == 1
    assert message in captured.err


def test_hypothesis_is_needed_and_said_to_be():
    words = ["check", "tests.helpers:x", "--kind", "invariant"]
    done = run(f"from tasks.harness.cli import main; sys.exit(main({words}))", "hypothesis")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == (
        "minisets: minisets.testing draws sets with Hypothesis, which is not installed: pip install 'minisets[test]'\n"
    )
