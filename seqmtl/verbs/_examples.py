"""Read the examples a model is trained on or scores: tables and windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import SeqmtlError

if TYPE_CHECKING:
    from seqmtl.io import NumericTable
    from seqmtl.models.base import Model
    from seqmtl.sequences import Windows

LABEL, TASK = "label", "task"


class Examples(NamedTuple):
    """Examples to train on or score.

    Attributes
    ----------
    X : Windows, or TaskArray or ndarray of shape (n, d) float64 or (n,) str
        Examples, with their tasks if they have any.
    y : ndarray, shape (n,), optional
        Labels.
    tasks : ndarray of str, shape (n,), optional
        Tasks.
    names : ndarray of str, shape (n,)
        Names.
    feature_names : tuple of str
        Column names; empty for windows.
    is_split : bool
        Whether the rows come from the requested split; False if the data have no splits.
    """

    X: Any
    y: Any
    tasks: NDArray[Any] | None
    names: NDArray[Any]
    feature_names: tuple[str, ...] = ()
    is_split: bool = False


def read_for_training(source: Any, *, require_labels: bool = True) -> Examples:
    """Read the training examples of ``train-table``.

    Raises
    ------
    SeqmtlError
        If the arguments conflict or a file is invalid.
    """
    from seqmtl.io import read_numeric_table
    from seqmtl.verbs._options import WindowInput
    from seqmtl.verbs._windows import read_windows_of

    if _holds_windows(source):
        return _of_windows(read_windows_of(WindowInput.of(source), require_labels=require_labels))
    if source.window or source.shift:
        raise SeqmtlError(
            f"--window and --shift apply to DNA windows, but {source.data} is a table of examples; "
            "leave them out"
        )
    table = read_numeric_table(
        source.data, label=source.label_column or LABEL, task=source.task_column or TASK,
        sequence=source.sequence, require_labels=require_labels,
    )  # fmt: skip
    return _of_table(table, source.split, source.organism)


def read_for_model(model: Model, source: Any, *, require_labels: bool) -> Examples:
    """Read examples in the form the model was trained on.

    Raises
    ------
    SeqmtlError
        If a column is missing, a task is unknown, a file is invalid, or a dataset has another
        signal than the model.
    """
    from seqmtl.io import read_numeric_table
    from seqmtl.models.paired import NOT_WINDOWS
    from seqmtl.sequences import TaskArray

    if model.inputs == "genomes":
        raise SeqmtlError(NOT_WINDOWS)
    if model.inputs == "windows":
        return _of_windows(_read_windows_for(model, source, require_labels=require_labels))
    if not source.data or source.genome:
        raise SeqmtlError("the model was trained on a table of examples; give such a file as DATA")
    columns, names = model.training.get("columns", {}), model.feature_names or None
    is_text = model.inputs == "sequences"
    table = read_numeric_table(
        source.data,
        label=columns.get(LABEL, LABEL),
        task=TASK if source.organism else columns.get(TASK, TASK),
        sequence=(names or ("sequence",))[0] if is_text else None,
        features=None if is_text else names,
        require_labels=require_labels,
    )
    found = _of_table(table, None if source.split == "all" else source.split, source.organism)
    if len(model.classes) > 2 or model.tasks == (TASK,):
        return found._replace(tasks=None)
    if found.tasks is None and len(model.tasks) > 1:
        raise SeqmtlError(
            f"{source.data} has no task column; name one of {', '.join(model.tasks)} with --task"
        )
    return found if found.tasks is None else found._replace(X=TaskArray(found.X, found.tasks))


def _read_windows_for(model: Model, source: Any, *, require_labels: bool) -> Windows:
    """Read windows of the model's length; with a single task, FASTA needs no --organism."""
    from seqmtl.verbs._windows import read_as_of_model

    organism = source.organism
    if not organism and len(model.tasks) == 1 and not source.genome and _is_fasta(source.data):
        organism = model.tasks[0]
    windows = read_as_of_model(model, source, organism, require_labels=require_labels)
    if windows.task_names == ("task",) and "task" not in model.tasks:
        names = ", ".join(model.tasks)
        raise SeqmtlError(
            f"the windows do not name their organism; give one of {names} with --organism"
        )
    return windows


def _is_fasta(data: str | None) -> bool:
    from seqmtl.io import guess_format, is_dataset

    if not data or data == "-" or is_dataset(data):
        return False
    return guess_format(data) == "fasta"


def _holds_windows(source: Any) -> bool:
    """Tell windows from a table of examples; without DATA, the reader of windows raises."""
    from seqmtl.io import guess_format, is_dataset, is_table_of_windows

    if source.genome or not source.data:
        return True
    if source.label_column or source.task_column or source.sequence:
        return False
    if is_dataset(source.data):
        return True
    return guess_format(source.data) == "fasta" or is_table_of_windows(source.data)


def _of_windows(windows: Windows) -> Examples:
    is_split = windows.splits is not None
    return Examples(windows, windows.labels, windows.tasks, windows.names, (), is_split)


def _of_table(table: NumericTable, split: str | None, task: str | None) -> Examples:
    """Select the rows of a split, if the table has splits; `task` overrides the task column."""
    if table.splits is not None and split is not None:
        rows = np.flatnonzero(table.splits == split)
        if not rows.size:
            known = ", ".join(np.unique(table.splits).tolist())
            raise SeqmtlError(f"split must be one of {known}, got {split!r}")
        table = table.select(rows)
    tasks = table.tasks if task is None else np.full(len(table), task)
    is_split = table.splits is not None
    return Examples(table.X, table.y, tasks, table.names, table.feature_names, is_split)
