"""Small tab-separated tables of names and numbers."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import InputFormatError
from seqmtl.files.whole import read_text


class Place(NamedTuple):
    """A place in a file: its 1-based line, or the name of a record."""

    path: str
    line: int | None = None
    record: str | None = None

    def refuse(self, message: str) -> NoReturn:
        """Raise InputFormatError with this place."""
        raise InputFormatError(message, *self)

    def amount(self, text: str, what: str) -> float:
        """Return a finite, non-negative number; `what` names it in messages."""
        value = self.number(text)
        if not (value is not None and math.isfinite(value) and value >= 0):
            self.refuse(
                f"{what} must be a finite number from 0, got {text!r}; correct or remove it"
            )
        return value

    def number(self, text: str) -> float | None:
        """Return any number, or None if the text is none."""
        try:
            return float(text)
        except ValueError:
            return None


class Row(NamedTuple):
    """A line of a table."""

    place: Place
    fields: list[str]


class Pair(NamedTuple):
    """A number for two names, and its place in the file."""

    one: str
    other: str
    value: float
    place: Place
    is_directed: bool = False


def read_rows(path: str | os.PathLike[str], what: str) -> list[Row]:
    """Return the lines of a tab-separated file.

    Blank lines and lines that start with ``#`` are skipped; fields are stripped of blanks.

    Raises
    ------
    InputFormatError
        If the file cannot be read, or is not text.
    """
    lines = enumerate(read_text(path, what).splitlines(), 1)
    return [
        Row(Place(os.fspath(path), number), [field.strip() for field in line.split("\t")])
        for number, line in lines
        if line.strip() and not line.startswith("#")
    ]


def parse_square(
    rows: Sequence[Row], what: str, parse: Callable[[Place, str], float]
) -> tuple[list[str], NDArray[np.float64]]:
    """Return the names and numbers of a square table with a header row and column.

    `what` names the numbers in messages; `parse` converts a field, given its place.

    Raises
    ------
    InputFormatError
        If the table is not square, or the names of rows and columns differ.
    """
    names = rows[0].fields[1:]
    if len(rows) - 1 != len(names):
        rows[0].place._replace(line=None).refuse(
            f"{what} must be square, got {len(rows) - 1} rows and {len(names)} columns; "
            "give names in the first row and column"
        )
    matrix = np.empty((len(names), len(names)))
    for i, (name, (place, fields)) in enumerate(zip(names, rows[1:], strict=True)):
        if fields[0] != name or len(fields) != len(names) + 1:
            place.refuse(
                f"row must start with {name!r} and have {len(names)} numbers, got {fields[0]!r} "
                f"and {len(fields) - 1}; rows and columns must have the same order"
            )
        matrix[i] = [parse(place, field) for field in fields[1:]]
    return names, matrix


def symmetric(names: Sequence[str], pairs: Iterable[Pair], what: str) -> NDArray[np.float64]:
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
                pair.place.refuse(
                    f"{what} must have one value per pair, got {pair.value:g} for ({pair.one}, "
                    f"{pair.other}) after {matrix[i, j]:g}; give one of them"
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
