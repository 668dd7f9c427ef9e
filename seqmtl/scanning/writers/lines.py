"""Lines of text from columns: constant text, letters, numbers and probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.io.genome import ContigPiece
from seqmtl.scanning.writers.line_loops import (
    DECIMAL,
    END,
    INTEGER,
    LETTERS,
    NUMBER_BYTES,
    PROBABILITY,
    TEXT,
    write_lines,
)
from seqmtl.sequences.sites import Sites

#: Decimals of a raw score; a probability has one more, or as many as show three digits of it.
DECIMALS = 5
#: Lines formatted at a time.
LINES = 1 << 15
_ALPHABETS = np.frombuffer(b"ACGTNTGCAN", dtype=np.uint8)  # of the plus and the minus strand


class Column(NamedTuple):
    """A field that differs between lines.

    Attributes
    ----------
    kind : int
        One of the kinds of :mod:`seqmtl.scanning.writers.line_loops`.
    values : ndarray, shape (n,) or (n, m)
        Values by line; of texts, their numbers.
    n_decimals : int
        Decimals of a real number.
    texts : sequence of bytes
        The texts.
    """

    kind: int
    values: NDArray[Any]
    n_decimals: int = 0
    texts: Sequence[bytes] = ()


Field = bytes | Column  # a constant word, or a column
#: What a line is made of, up to the end of the line.
Fields = Sequence[Field]


def max_number(n_decimals: int = DECIMALS) -> float:
    """Return the bound of numbers with exact decimals: double precision has 53 bits."""
    return float(2**53 // 10**n_decimals)


def integer_column(values: NDArray[np.int64]) -> Column:
    """Return a column of whole numbers."""
    return Column(INTEGER, values)


def decimal_column(values: NDArray[Any], n_decimals: int = DECIMALS) -> Column:
    """Return a column of numbers with some decimals, at least 1."""
    return Column(DECIMAL, values, n_decimals)


def probability_column(values: NDArray[Any]) -> Column:
    """Return a column of probabilities, with more decimals where they are close to 0 or 1."""
    return Column(PROBABILITY, values, DECIMALS + 1)


def strand_column(is_reverse: NDArray[np.bool_]) -> Column:
    """Return a column of + and -."""
    return Column(LETTERS, np.where(is_reverse, ord("-"), ord("+"))[:, np.newaxis])


def strand_field(sites: Sites, has_strand: bool) -> Field:
    """Return the strands of sites; a constant dot if they have none."""
    return strand_column(sites.is_reverse) if has_strand else b"."


def text_column(numbers: NDArray[Any], texts: Sequence[bytes]) -> Column:
    """Return a column of texts, given the number of that of each line."""
    return Column(TEXT, numbers.astype(np.int64), texts=texts)


def name_field(
    piece: ContigPiece, numbers: NDArray[np.int64], write: Callable[[str], bytes]
) -> Field:
    """Return the names of contigs, given their numbers in a piece and how a name is written."""
    if piece.contigs is None:
        return write(piece.name)
    return text_column(numbers, [write(name) for name in piece.names])


def letters_field(
    piece: ContigPiece, sites: Sites, length: int, consensus: Sequence[str] | None
) -> Field:
    """Return the letters of sites in reading direction; constant for a single consensus."""
    if consensus is not None and len(consensus) == 1:
        return consensus[0].encode()
    is_reverse = sites.is_reverse[:, np.newaxis]
    offset = np.arange(length)
    positions = (sites.starts - piece.start)[:, np.newaxis] + np.where(
        is_reverse, offset[::-1], offset
    )
    return Column(LETTERS, _ALPHABETS.take(piece.codes.take(positions) + np.uint8(5) * is_reverse))


def tabbed(*fields: Field) -> Fields:
    """Return lines with these fields and a tab between two of them."""
    joined: list[Field] = [part for field in fields for part in (field, b"\t")]
    return [*joined[:-1], b"\n"]


def _check(column: Column) -> None:
    """Check that real numbers are not too large for their digits."""
    values = column.values
    if column.kind == PROBABILITY and not ((values >= 0) & (values <= 1)).all():
        raise ValueError(f"probabilities must be from 0 to 1, got {values.min()} to {values.max()}")
    limit = max_number(column.n_decimals)
    if column.kind == DECIMAL and not (np.abs(values) < limit).all():
        raise ValueError(
            f"numbers must be finite and of a size below {limit:g} to be written with "
            f"{column.n_decimals} decimals, got {values.min()} to {values.max()}"
        )


def format_lines(fields: Fields, n_lines: int = LINES) -> Iterator[bytes]:
    """Yield the text of many lines, a few thousand at a time; one field must be a column.

    Raises
    ------
    ValueError
        If a number is not finite or reaches :func:`max_number`, or a probability is not in [0, 1].
    """
    for field in fields:
        if isinstance(field, Column):
            _check(field)
    parts: dict[int, list[NDArray[Any]]] = {LETTERS: [], INTEGER: [], DECIMAL: []}
    constant = b""
    begin = 0
    table = []
    texts: list[bytes] = []  # texts of columns
    for field in fields:
        if isinstance(field, bytes):
            constant += field
            continue
        part = parts[{PROBABILITY: DECIMAL, TEXT: INTEGER}.get(field.kind, field.kind)]
        is_letters = field.kind == LETTERS
        values = field.values + len(texts) if field.kind == TEXT else field.values
        texts += field.texts
        first_column = sum(array.shape[1] for array in part) if is_letters else len(part)
        size = field.values.shape[1] if is_letters else field.n_decimals
        table.append((begin, len(constant) - begin, field.kind, first_column, size))
        begin = len(constant)
        part.append(values if is_letters else values[:, np.newaxis])
    table.append((begin, len(constant) - begin, END, 0, 0))
    n = next(len(field.values) for field in fields if isinstance(field, Column))
    columns = [
        np.concatenate([np.empty((n, 0)), *parts[kind]], axis=1, dtype=dtype, casting="unsafe")
        for kind, dtype in ((LETTERS, np.uint8), (INTEGER, np.int64), (DECIMAL, np.float64))
    ]
    n_numbers = columns[1].shape[1] + columns[2].shape[1]
    n_bytes = len(constant) + columns[0].shape[1] + n_numbers * NUMBER_BYTES
    n_bytes += sum(max(map(len, f.texts), default=0) for f in fields if isinstance(f, Column))
    buffer = np.empty(min(n_lines, n) * n_bytes, dtype=np.uint8)
    text = np.frombuffer(constant + b"".join(texts), dtype=np.uint8)
    ends = np.cumsum([len(constant), *map(len, texts)])
    for first in range(0, n, n_lines):
        rows = [column[first : first + n_lines] for column in columns]
        size = write_lines(np.array(table), text, ends, *rows, buffer)
        yield buffer[:size].tobytes()
