"""Checks of arguments: what they accept, and their messages."""

import math

import numpy as np
import pytest

from seqmtl._checks import check_choice, check_integer, check_number


def test_numbers_of_any_kind_pass():
    for value in (1, 0.5, np.float32(2), np.int64(3)):
        check_number("x", value)
    check_number("x", 0, min_val=0)
    check_number("x", math.inf, is_finite=False)
    for value in (1, np.int8(1), np.int64(7)):
        check_integer("n", value, 1, 7)
    check_choice("loss", "hinge", {"hinge": 0, "logistic": 1})


@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf, True, "1", None, [1.0]])
def test_what_is_no_finite_number_above_0_is_refused(value):
    with pytest.raises(ValueError, match="x must be a finite number above 0, got ") as error:
        check_number("x", value)
    assert str(error.value).endswith(repr(value))


@pytest.mark.parametrize(
    ("value", "limits", "rule"),
    [
        (-1, {"min_val": 0}, "a finite number of at least 0, got -1"),
        (0, {"is_finite": False}, "a number above 0, got 0"),
        (2, {"max_val": 1}, "a number above 0 and at most 1, got 2"),
        (2, {"min_val": 0.5, "max_val": 1}, "a number from 0.5 to 1, got 2"),
        (0.5, {"min_val": 1, "is_finite": False}, "a number from 1 to infinity, got 0.5"),
        (0, {"remedy": "take 1"}, "a finite number above 0, got 0; take 1"),
    ],
)
def test_rules_of_numbers(value, limits, rule):
    with pytest.raises(ValueError, match=r"^x must be ") as error:
        check_number("x", value, **limits)
    assert str(error.value) == f"x must be {rule}"


@pytest.mark.parametrize("value", [0, 8, 2.0, True, "2", None])
def test_integers(value):
    with pytest.raises(ValueError, match="n must be an integer from 1 to 7, got "):
        check_integer("n", value, 1, 7)
    if value != 8:
        with pytest.raises(
            ValueError, match=r"n must be an integer of at least 1, got .*; add one"
        ):
            check_integer("n", value, 1, remedy="add one")


def test_choices():
    message = "loss must be one of hinge, logistic, got 'hinge2'; did you mean 'hinge'?"
    with pytest.raises(ValueError, match="loss must be") as error:
        check_choice("loss", "hinge2", ["hinge", "logistic"])
    assert str(error.value) == message
    with pytest.raises(ValueError, match=r"loss must be one of a, b, got None$"):
        check_choice("loss", None, iter("ab"))
