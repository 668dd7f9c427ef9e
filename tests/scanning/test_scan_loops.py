"""The scan's kernels and tables against loops over strings and exact sums."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqmtl.exceptions import MemoryLimitError
from seqmtl.scanning import score_tables as tables_module
from seqmtl.scanning.scan_loops import GROUP, STEP, add_windows
from seqmtl.scanning.score_tables import build_tables
from seqmtl.scanning.writers.line_loops import (
    NUMBER_BYTES,
    write_decimal,
    write_integer,
    write_probability,
)
from seqmtl.scanning.writers.lines import (
    decimal_column,
    format_lines,
    integer_column,
    probability_column,
    tabbed,
)


def random_weights(rng, length, degree, scale=0.3):
    weights = [scale * rng.standard_normal((length, 4**d)) for d in range(1, degree + 1)]
    for d in range(2, degree + 1):
        weights[d - 1][length - d + 1 :] = 1e6  # d-mers that run over the end: never read
    return weights


def prefix_weight(weights, prefix, position):
    """F[prefix, position], written out."""
    length, total = weights[0].shape[0], 0.0
    for d in range(1, len(prefix) + 1):
        if position + d <= length:
            number = int("".join(str("ACGT".index(letter)) for letter in prefix[:d]), 4)
            total += weights[d - 1][position, number]
    return total


def table_value(tables, prefix, position, length):
    """Read F[prefix, position] back from the tables, in raw score."""
    column = GROUP - 1 + length - 1 - position

    number = int("0" + "".join(str("ACGT".index(letter)) for letter in prefix), 4)
    row = int(tables.first_row[len(prefix)]) + number
    return int(tables.rows[row * tables.stride + column]) * tables.unit


@pytest.mark.parametrize("length", [1, 8, 9, 141])
def test_adding_windows_is_a_sum_over_their_positions(length):
    rng = np.random.default_rng(length)
    n_rows, n = 50, 9000
    columns = np.zeros((-(-length // STEP) * STEP, n_rows), np.int32)
    columns[:length] = rng.integers(-(2**22), 2**22, (length, n_rows))
    rows = rng.integers(0, n_rows, n + length + STEP).astype(np.int32)
    for starts in (np.arange(n), np.arange(n)[::-7], np.zeros(0, np.int64)):
        total = np.ones(starts.size, np.int32)
        add_windows(columns.ravel(), n_rows, rows, starts, total)
        expected = [1 + columns[np.arange(length), rows[p : p + length]].sum() for p in starts]
        np.testing.assert_array_equal(total, np.array(expected, np.int32))


@settings(max_examples=40)
@given(
    length=st.integers(1, 30),
    degree=st.integers(1, 4),
    exponent=st.floats(-9, 9),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_size_of_weights_fits(length, degree, exponent, seed):
    rng = np.random.default_rng(seed)
    degree = min(degree, length)
    weights = random_weights(rng, length, degree, 10.0**exponent)
    tables = build_tables(weights, 1e-6)
    biggest = sum(np.abs(w[: length - d]).max() for d, w in enumerate(weights)) * length
    assert 1e-6 <= tables.unit <= max(1e-6, biggest / 2**30)
    for _ in range(20):
        prefix = "".join(rng.choice(list("ACGT"), degree))
        position = int(rng.integers(length))
        value = table_value(tables, prefix, position, length)
        expected = prefix_weight(weights, prefix, position)
        assert abs(value - expected) <= tables.unit * 0.501


def test_tables_that_cannot_fit_are_refused(monkeypatch):
    def refuse(n_bytes, what, remedy):
        raise MemoryLimitError(f"{what} would take {n_bytes}; {remedy}")

    monkeypatch.setattr(tables_module, "require_memory", refuse)
    with pytest.raises(
        MemoryLimitError, match="1-mers and windows of 5 bases would take 1344; train with"
    ):
        build_tables([np.zeros((5, 4))], 1e-6)


@given(value=st.integers(0, 2**62), n_digits=st.integers(1, 6))
def test_integers_are_written_as_python_does(value, n_digits):
    buffer = np.zeros(NUMBER_BYTES, np.uint8)
    size = write_integer(buffer, 0, value, n_digits)
    assert buffer[:size].tobytes().decode() == f"{value:0{n_digits}d}"


@given(p=st.floats(0, 1))
@settings(deadline=None)
def test_probabilities_near_0_and_1_keep_three_digits(p):
    buffer = np.zeros(NUMBER_BYTES, np.uint8)
    text = buffer[: write_probability(buffer, 0, p, 6)].tobytes().decode()
    assert 8 <= len(text) <= 14
    assert abs(float(text) - p) <= max(0.0051 * min(p, 1 - p, 1e-4), 0.51e-12)


@given(value=st.floats(-1e9, 1e9), n_decimals=st.integers(1, 6))
def test_decimals_are_written_within_half_a_digit(value, n_decimals):
    buffer = np.zeros(NUMBER_BYTES, np.uint8)
    size = write_decimal(buffer, 0, value, n_decimals)
    text = buffer[:size].tobytes().decode()
    assert text[-n_decimals - 1] == "."
    assert abs(float(text) - value) <= 0.5000001 * 10.0**-n_decimals + 1e-15 * abs(value)
    assert text == "0." + "0" * n_decimals or float(text) != 0 or value == 0 or "-" not in text


@given(st.floats(allow_nan=True, allow_infinity=True) | st.floats(-1e11, 1e11))
def test_a_number_is_written_exactly_or_refused(value):
    """Of a model with huge weights, lines had digits that were not those of its scores."""
    column = decimal_column(np.array([0.0, value]))
    if not abs(value) < 2**53 // 10**5:
        with pytest.raises(ValueError, match=r"finite and of a size below 9\.0072e"):
            next(format_lines(tabbed(b"x", column)))
        return
    text = b"".join(format_lines(tabbed(b"x", column))).decode()
    distance = abs(Decimal(text.split()[-1]) - Decimal(value))
    assert distance <= Decimal("0.500002e-5") + abs(Decimal(value)) / 2**53


@pytest.mark.parametrize("n_lines", [1, 5, 23, 100])
def test_lines_are_formatted_in_parts(n_lines):
    parts = [*format_lines(tabbed(b"x", integer_column(np.arange(23) - 9)), n_lines)]
    assert len(parts) == -(-23 // n_lines)
    assert b"".join(parts).decode() == "".join(f"x\t{value}\n" for value in range(-9, 14))


@pytest.mark.parametrize("value", [math.nan, -1e-9, 1.0000001, math.inf])
def test_what_is_no_probability_is_refused(value):
    with pytest.raises(ValueError, match="probabilities must be from 0 to 1, got"):
        next(format_lines(tabbed(probability_column(np.array([0.5, value])))))
