"""Attaching forms: which one is chosen, and that errors, integers and odd strides behave as in the plain form."""

from unittest import mock

import numpy as np
import pytest

import autograd
from autograd.fast import attach
from autograd.forms import form_of, plain_forms


class Formula:
    """A class to which the tests below attach forms."""

    def compute(self, x: int) -> str:
        """x in words"""
        return f"plain {x}"


def test_a_form_is_attached_from_outside_and_used_where_it_serves():
    with mock.patch.dict("autograd.forms._attached"):

        @form_of(Formula, "compute", serves=lambda self, x: x > 10)
        def large(self, x):
            return f"large {x}"

        @form_of(Formula, "compute", serves=lambda self, x: x % 2 == 0)
        def even(self, x):
            return f"even {x}"

        found = [Formula().compute(x) for x in (12, 4, 3)]
        assert found == ["large 12", "even 4", "plain 3"] and Formula.compute.__doc__ == "x in words"
        with plain_forms():
            assert Formula().compute(12) == "plain 12"
            with plain_forms():
                pass
            assert Formula().compute(12) == "plain 12"
            assert "autograd/forms" not in Formula.compute.__code__.co_filename  # the dispatch itself is gone
        assert Formula().compute(12) == "large 12"
        with pytest.raises(ZeroDivisionError), plain_forms():
            raise ZeroDivisionError
        assert Formula().compute(12) == "large 12"


WRONG = {  # what a form must leave to the plain one, with the same error message
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
def test_errors_are_those_of_the_plain_form(name: str):
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
