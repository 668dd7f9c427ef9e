"""Read examples, numbers or sequences of any letters, with labels and tasks from one table."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import PathLike, first_bytes, open_seekable, source_name
from seqmtl.io._delimited import DelimitedFile
from seqmtl.io._npz import Archive
from seqmtl.io._parquet import ParquetFile
from seqmtl.io._table_columns import Roles, TableFile, Wanted, find_roles

logger = logging.getLogger(__name__)

_FORMATS = {".csv": "csv", ".tsv": "tsv", ".txt": "tsv", ".parquet": "parquet", ".npz": "npz"}
_COMPRESSIONS = (".gz", ".bgz")
_MAGIC = {b"PAR1": "parquet", b"PK\x03\x04": "npz"}
_MISSING = ("", "nan", "na", "n/a", "null")
_LARGEST_EXACT = 2.0**53


@dataclass(frozen=True, eq=False)
class NumericTable:
    """Examples with their labels and tasks.

    Attributes
    ----------
    X : ndarray of shape (n, d) float64, or (n,) str
        Features, all finite; or sequences, if these are the examples.
    y : ndarray of shape (n,), optional
        Labels as given: int64 if all are whole numbers, else float64 or str.
    tasks : ndarray of str, shape (n,), optional
        Name of the task of each example; None if the file has no tasks.
    feature_names : tuple of str
        Names of the d features, or of the column of sequences.
    names : ndarray of str, shape (n,)
        Names of the examples; 0-based row numbers if the file has none.
    splits : ndarray of str, shape (n,), optional
        Contents of the column ``split``.
    source : str
        Name of the file.
    """

    X: NDArray[Any]
    y: NDArray[Any] | None
    tasks: NDArray[np.str_] | None
    feature_names: tuple[str, ...]
    names: NDArray[np.str_]
    splits: NDArray[np.str_] | None
    source: str

    def __len__(self) -> int:
        return len(self.X)

    def select(self, rows: ArrayLike | slice) -> NumericTable:
        """Return a subset of the rows, by index, boolean mask or slice."""
        chosen = rows if isinstance(rows, slice) else np.asarray(rows)
        return replace(
            self,
            X=self.X[chosen],
            y=None if self.y is None else self.y[chosen],
            tasks=None if self.tasks is None else self.tasks[chosen],
            names=self.names[chosen],
            splits=None if self.splits is None else self.splits[chosen],
        )


def read_numeric_table(
    path: PathLike,
    *,
    label: str = "label",
    task: str = "task",
    sequence: str | None = None,
    features: Sequence[str] | None = None,
    require_labels: bool = True,
) -> NumericTable:
    """Read a table of features, labels and tasks.

    The format is determined by the file name, or else by the content:

    - ``.csv`` (commas), ``.tsv`` and ``.txt`` (tabs), plain, gzip or bgzip: UTF-8 text with a
      header line and CSV quoting. Columns other than the label and the task are features, in
      order. ``name`` or ``id`` holds row names. ``split`` is kept separately, unless it holds
      numbers (in text: its first cell is a number) and is therefore a feature.
    - ``.parquet``: the same columns; requires pyarrow (``pip install 'seqmtl[tables]'``).
    - ``.npz`` (numpy.savez): the array ``X`` (n, d) and, optionally, ``label`` or ``y``, ``task``
      or ``tasks``, ``name``, ``id`` or ``names``, and ``split`` (n,); ``feature_names`` (d,);
      and ``task_names``, the names of tasks given as numbers from 0. Other arrays are ignored.
      Objects (pickle) are rejected.

    Parameters
    ----------
    path : path-like
        File, or ``"-"`` for standard input.
    label : str
        Name of the column (or array) of labels. In an archive, ``y`` is a fallback for the default.
    task : str
        Name of the column (or array) of tasks. It may be missing if this is the default.
    sequence : str, optional
        Name of a column (or array) of sequences to use as examples instead of features.
    features : sequence of str, optional
        Columns to use as features, in this order; others are ignored. Default: all columns
        without another role.
    require_labels : bool
        Whether labels are required.

    Returns
    -------
    NumericTable
        All rows, in order.

    Raises
    ------
    InputFormatError
        If the file is not such a table; the message gives the file, the 1-based line of text
        (else the row, counted from 1) and the column.
    SeqmtlError
        If the file is Parquet and pyarrow is not installed.
    ValueError
        If two of label, task and sequence have the same name.

    Examples
    --------
    >>> table = read_numeric_table("expression.csv", task="tissue")  # doctest: +SKIP
    """
    given = [name for name in (label, task, sequence) if name is not None]
    if len(set(given)) < len(given):
        raise ValueError(
            f"label, task and sequence must be different columns, got {', '.join(given)}; name each"
        )
    columns_of = None if features is None else tuple(features)
    wanted = Wanted(label, task, sequence, require_labels, columns_of)
    kind = _format_of(path)
    if kind == "npz":
        with open_seekable(path) as stream:
            return _assemble(Archive(stream, source_name(path)), wanted)
    if kind == "parquet":
        return _assemble(ParquetFile(path), wanted)
    return _assemble(DelimitedFile(path, "," if kind == "csv" else "\t"), wanted)


def _format_of(path: PathLike) -> str:
    """Return csv, tsv, parquet or npz: by the name of a file, else by its first bytes."""
    name = os.fspath(path).lower()
    stem, ending = os.path.splitext(name)
    if ending in _FORMATS:
        return _FORMATS[ending]
    inner = os.path.splitext(stem)[1]
    if ending in _COMPRESSIONS and _FORMATS.get(inner) in {"csv", "tsv"}:
        return _FORMATS[inner]
    seen = first_bytes(path)
    for magic, kind in _MAGIC.items():
        if seen.startswith(magic):
            return kind
    return "tsv" if b"\t" in seen.lstrip().partition(b"\n")[0] else "csv"


def _assemble(table: TableFile, wanted: Wanted) -> NumericTable:
    """Assign roles to the columns, and reject missing or non-finite values."""
    roles = find_roles(table, wanted)
    cells = table.read(roles)
    n = len(cells.examples)
    if not n:
        raise InputFormatError(
            "the table must have rows, but it has none; check how it was written",
            path=table.places.source,
        )
    _check_examples(cells.examples, roles, table)
    logger.info("%s: read %d examples", table.places.source, n)
    return NumericTable(
        X=cells.examples,
        y=_checked_labels(cells.labels, roles, table),
        tasks=_checked_tasks(cells.tasks, roles, table),
        feature_names=roles.feature_names,
        names=np.arange(n).astype(str) if cells.names is None else cells.names,
        splits=cells.splits,
        source=table.places.source,
    )


def _check_examples(X: NDArray[Any], roles: Roles, table: TableFile) -> None:
    places = table.places
    if X.ndim == 1:
        missing = np.flatnonzero(X == "")
        if missing.size:
            rule = f"{places.what} {roles.feature_names[0]!r} must hold a sequence in every row"
            places.refuse(int(missing[0]), rule, "an empty cell", "fill it in or leave the row out")
        return
    rows = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if rows.size:
        row = int(rows[0])
        j = int(np.flatnonzero(~np.isfinite(X[row]))[0])
        places.refuse_number(row, roles.feature_names[j], X[row, j])


def _checked_labels(
    labels: NDArray[Any] | None, roles: Roles, table: TableFile
) -> NDArray[Any] | None:
    if labels is None or roles.label is None:
        return None
    kind = labels.dtype.kind
    if kind == "U":
        is_missing = np.isin(np.char.lower(labels), _MISSING)
    else:
        is_missing = ~np.isfinite(labels)
    if is_missing.any():
        row = int(is_missing.argmax())
        rule = f"{table.places.what} {table.names[roles.label]!r} must hold a label in every row"
        got, remedy = (
            repr(labels[row].item()),
            "fill it in, or leave the row or the whole column out",
        )
        table.places.refuse(row, rule, got, remedy)
    if kind == "f" and not _is_whole(labels).all():
        return labels.astype(np.float64)
    return labels if kind == "U" else labels.astype(np.int64)


def _checked_tasks(
    tasks: NDArray[Any] | None, roles: Roles, table: TableFile
) -> NDArray[np.str_] | None:
    if tasks is None or roles.task is None:
        return None
    kind = tasks.dtype.kind
    is_bad = np.zeros(tasks.size, dtype=bool)
    if kind == "U":
        is_bad = tasks == ""
    elif kind == "f":
        is_bad = ~_is_whole(tasks)
    if is_bad.any():
        row = int(is_bad.argmax())
        name = table.names[roles.task]
        rule = f"{table.places.what} {name!r} must hold the name or number of a task"
        got = repr(tasks[row].item())
        table.places.refuse(row, rule, got, "fill it in, or leave the row out")
    return (tasks if kind == "U" else tasks.astype(np.int64)).astype(str)


def _is_whole(values: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
    """Tell which values are exact whole numbers."""
    with np.errstate(invalid="ignore"):
        return (values == np.round(values)) & (np.abs(values) < _LARGEST_EXACT)
