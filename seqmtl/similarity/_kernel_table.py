"""Task kernels as text: one table, or several with headings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seqmtl.similarity._small_tables import Place, Row, parse_square

_HEADING = "# kernel"


def write_tables(
    names: Sequence[str], matrices: NDArray[np.float64], labels: Sequence[str] | None
) -> str:
    """Return one table per matrix, each with a heading if there are labels."""
    lines = []
    for m, K in enumerate(matrices):
        if labels is not None:
            lines.append(f"{_HEADING}\t{labels[m]}")
        lines.append("\t".join(["", *names]))
        for name, row in zip(names, K.tolist(), strict=True):
            lines.append("\t".join([name, *map(repr, row)]))
    return "\n".join(lines) + "\n"


def read_tables(
    text: str, path: str
) -> tuple[list[str], NDArray[np.float64], tuple[str, ...] | None]:
    """Parse the output of :func:`write_tables`.

    Returns
    -------
    names, matrices, labels
        T names, ndarray of shape (M, T, T), and M labels or None if the table has no heading.

    Raises
    ------
    InputFormatError
        If a table is not square or not numeric, or the tables have different names.
    """
    labels: list[str] = []
    blocks: list[list[Row]] = [[]]
    for number, line in enumerate(text.split("\n"), 1):
        fields = [field.strip() for field in line.split("\t")]
        if fields[0] == _HEADING and len(fields) == 2:
            labels.append(fields[1])
            blocks.append([])
        elif line.strip():
            blocks[-1].append(Row(Place(path, number), fields))
    if labels and blocks[0]:
        blocks[0][0].place.refuse(
            f"the first line must be '{_HEADING}' and a label if there are several tables"
        )
    tables = [_read_table(block, path) for block in (blocks[1:] if labels else blocks)]
    names = tables[0][0]
    for label, (others, _) in zip(labels, tables, strict=False):
        if others != names:
            Place(path).refuse(
                f"all tables must have the same tasks in the same order, but those of {label!r} "
                f"differ from those of {labels[0]!r}"
            )
    return names, np.array([rows for _, rows in tables]), tuple(labels) or None


def _read_table(table: Sequence[Row], path: str) -> tuple[list[str], NDArray[np.float64]]:
    if len(table) < 2:
        Place(path).refuse("is not a table of similarities with named rows")

    def number(place: Place, text: str) -> float:
        value = place.number(text)
        if value is None:
            place.refuse(f"not a number: {text!r}")
        return value

    return parse_square(table, "similarity", number)
