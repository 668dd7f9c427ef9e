"""Small tab-separated tables of names and numbers."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import InputFormatError
from seqmtl.files.whole import read_text


def read_rows(path: str | os.PathLike[str], what: str) -> list[tuple[int, list[str]]]:
    """Return the lines of a tab-separated file as (line number, fields).

    Blank lines and lines that start with ``#`` are skipped; fields are stripped of blanks.

    Raises
    ------
    InputFormatError
        If the file cannot be read, or is not text.
    """
    lines = enumerate(read_text(path, what).splitlines(), 1)
    return [
        (number, [field.strip() for field in line.split("\t")])
        for number, line in lines
        if line.strip() and not line.startswith("#")
    ]


def parse_square(
    rows: Sequence[tuple[int, list[str]]],
    what: str,
    parse: Callable[[str, int], float],
    path: str,
) -> tuple[list[str], NDArray[np.float64]]:
    """Return the names and numbers of a square table with a header row and column.

    `what` names the numbers in messages; `parse` converts a field, given its line number.

    Raises
    ------
    InputFormatError
        If the table is not square, or the names of rows and columns differ.
    """
    names = [name.strip() for name in rows[0][1][1:]]
    if len(rows) - 1 != len(names):
        raise InputFormatError(
            f"{what} must be square, got {len(rows) - 1} rows and {len(names)} columns; "
            "give names in the first row and column",
            path=path,
        )
    matrix = np.empty((len(names), len(names)))
    for i, (name, (line, fields)) in enumerate(zip(names, rows[1:], strict=True)):
        if fields[0].strip() != name or len(fields) != len(names) + 1:
            raise InputFormatError(
                f"row must start with {name!r} and have {len(names)} numbers, got {fields[0]!r} "
                f"and {len(fields) - 1}; rows and columns must have the same order",
                path=path,
                line=line,
            )
        matrix[i] = [parse(field, line) for field in fields[1:]]
    return names, matrix


def drop_header(rows: list[tuple[int, list[str]]]) -> list[tuple[int, list[str]]]:
    """Remove a first row of two names and a word if no later row has these names."""
    first = rows[0][1] if rows else []
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
