"""python -m autograd.gradcheck: a table of all ops, or of functions of one's own."""

import numpy as np
import pytest

import autograd
from autograd import OPS, cases, op
from autograd.gradcheck import main


@pytest.fixture
def wrong_op():
    """An op whose derivative is off by a little: 2.00001 x instead of 2 x."""

    @op
    def square(x):
        return x * x, lambda g: g * 2.00001 * x

    yield square
    del OPS["square"]


def test_the_command_checks_all_ops(capsys):
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:-1]] == sorted(cases.OPS)
    assert lines[-1] == f"all {len(cases.OPS)} agree to 1e-6"


def test_the_command_exits_1_and_names_what_failed(capsys, monkeypatch, wrong_op):
    monkeypatch.setitem(cases.OPS, "square", wrong_op)
    assert main(["add", "square"]) == 1
    assert "square                                 0" in capsys.readouterr().out  # an op without a case has failed
    monkeypatch.setattr(autograd, "square", wrong_op, raising=False)
    monkeypatch.setattr(cases, "CASES", (*cases.CASES, cases.Case("square", (np.ones(3),), label="ones")))
    assert main(["add", "square"]) == 1
    out = capsys.readouterr().out
    monkeypatch.setattr(autograd, "square", lambda x: 1 / 0)
    assert main(["square"]) == 1 and "FAILED ones: division by zero" in capsys.readouterr().out
    assert "FAILED ones: the gradient of input 0" in out and out.endswith("1 failed: square\n")


MINE = """
import numpy as np
from autograd import op

@op
def cube(x):
    return x**3, lambda g: 3 * g * x * x

@op
def wrong(x, y):
    return x * y, (lambda g: g * y, lambda g: g * x * 1.01)

NUMBER = 3
"""


def test_the_command_checks_a_function_of_ones_own(tmp_path, monkeypatch, capsys):
    (tmp_path / "my_ops.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert main(["my_ops:cube", "tanh"]) == 0
    assert "my_ops:cube                            1" in capsys.readouterr().out
    assert main(["my_ops:wrong", "--shape", "2,3", "--shape", "3", "--positive"]) == 1
    out = capsys.readouterr().out
    assert "FAILED random inputs: the gradient of input 1, of shape (3,), is off" in out
    assert out.endswith("1 failed: my_ops:wrong\n")
    for wrong, message in (
        (["my_ops:nothing"], "my_ops has no 'nothing'; it has "),
        (["my_ops:NUMBER"], "my_ops:NUMBER is 3, not a function of Tensors"),
        (["my_ops.py:cube"], "write its module instead: my_ops:cube"),
        (["nowhere:cube"], "there is no module nowhere in"),
        (["my_ops:wrong", "--shape", "3"], "takes 2 inputs (x, y); give --shape for each"),
    ):
        with pytest.raises(SystemExit) as stop:
            main(wrong)
        error = capsys.readouterr().err
        assert stop.value.code == 2 and message in error and error.count("\n") == 1
    del OPS["cube"], OPS["wrong"]


def test_the_command_refuses_an_unknown_name(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["sofmax"])
    assert stop.value.code == 2
    assert "there is no op 'sofmax'; did you mean softmax" in capsys.readouterr().err
    for wrong, message in (
        (["qqqq"], "there is no op 'qqqq'; the ops are abs, absolute_error"),
        (["--seed", "-1"], "given -1"),
    ):
        with pytest.raises(SystemExit):
            main(wrong)
        assert message in capsys.readouterr().err
