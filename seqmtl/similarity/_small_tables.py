"""Small tab-separated tables of names and numbers."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import InputFormatError
from seqmtl.files.whole import read_text


class Row(NamedTuple):
    """A line of a table: its 1-based number and its fields."""

    line: int
    fields: list[str]


class Pair(NamedTuple):
    """A number for two names, and its place in the file: its line or record."""

    one: str
    other: str
    value: float
    place: dict[str, Any]
    is_directed: bool = False


def read_rows(path: str | os.PathLike[str], what: str) -> list[Row]:
    """Return the lines of a tab-separated file as (line number, fields).

    Blank lines and lines that start with ``#`` are skipped; fields are stripped of blanks.

    Raises
    ------
    InputFormatError
        If the file cannot be read, or is not text.
    """
    lines = enumerate(read_text(path, what).splitlines(), 1)
    return [
        Row(number, [field.strip() for field in line.split("\t")])
        for number, line in lines
        if line.strip() and not line.startswith("#")
    ]


def parse_square(
    rows: Sequence[Row], what: str, parse: Callable[[str, int], float], path: str
) -> tuple[list[str], NDArray[np.float64]]:
    """Return the names and numbers of a square table with a header row and column.

    `what` names the numbers in messages; `parse` converts a field, given its line number.

    Raises
    ------
    InputFormatError
        If the table is not square, or the names of rows and columns differ.
    """
    error = partial(InputFormatError, path=path)
    names = rows[0].fields[1:]
    if len(rows) - 1 != len(names):
        raise error(
            f"{what} must be square, got {len(rows) - 1} rows and {len(names)} columns; "
            "give names in the first row and column"
        )
    matrix = np.empty((len(names), len(names)))
    for i, (name, (line, fields)) in enumerate(zip(names, rows[1:], strict=True)):
        if fields[0] != name or len(fields) != len(names) + 1:
            raise error(
                f"row must start with {name!r} and have {len(names)} numbers, got {fields[0]!r} "
                f"and {len(fields) - 1}; rows and columns must have the same order",
                line=line,
            )
        matrix[i] = [parse(field, line) for field in fields[1:]]
    return names, matrix


def symmetric(
    names: Sequence[str], pairs: Iterable[Pair], what: str, path: str
) -> NDArray[np.float64]:
    """Return the numbers of pairs as a matrix, NaN where there is none.

    `what` names the numbers in messages. A pair that is not directed is set in both directions.

    Raises
    ------
    InputFormatError
        If a pair has two numbers.
    """
    number = {name: i for i, name in enumerate(names)}
    matrix = np.full((len(names), len(names)), np.nan)
    for pair in pairs:
        s, t = number[pair.one], number[pair.other]
        for i, j in [(s, t)] if pair.is_directed else [(s, t), (t, s)]:
            if not (np.isnan(matrix[i, j]) or matrix[i, j] == pair.value):
                raise InputFormatError(
                    f"{what} must have one value per pair, got {pair.value:g} for ({pair.one}, "
                    f"{pair.other}) after {matrix[i, j]:g}; give one of them",
                    path=path,
                    **pair.place,
                )
            matrix[i, j] = pair.value
    return matrix


def drop_header(rows: list[Row]) -> list[Row]:
    """Remove a first row of two names and a word if no later row has these names."""
    first = rows[0].fields if rows else []
    if len(first) != 3 or not all(first) or _is_amount(first[2]):
        return rows
    later = {name for _, fields in rows[1:] for name in fields[:2]}
    return rows if later & set(first) else rows[1:]


def _is_amount(text: str) -> bool:
    """Tell whether a field is meant as a number, even if malformed."""
    return text.lower() in {"nan", "inf", "-inf"} or any(letter.isdigit() for letter in text)


def parse_amount(text: str, what: str, **place: Any) -> float:
    """Parse a finite, non-negative number.

    Parameters
    ----------
    text : str
        Text of the field.
    what : str
        Name of the quantity, for the message.
    **place
        Path and line or record, for :class:`InputFormatError`.

    Raises
    ------
    InputFormatError
        If it is not such a number.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise InputFormatError(
            f"{what} must be a finite number from 0, got {text!r}; correct or remove it", **place
        )
    return value
