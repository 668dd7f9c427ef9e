"""Examples as models take them: tables of numbers or sequences, and windows."""

from __future__ import annotations

import argparse
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
    """What a model is trained on, or scores.

    Attributes
    ----------
    X : Windows, or TaskArray or ndarray of shape (n, d) float64 or (n,) str
        Examples, with their tasks where they have some.
    y : ndarray, shape (n,), optional
        Labels.
    tasks : ndarray of str, shape (n,), optional
        Tasks.
    names : ndarray of str, shape (n,)
        Names.
    feature_names : tuple of str
        Names of the columns, empty for windows.
    is_split : bool
        Whether the rows are of the split asked for; else the data have none.
    """

    X: Any
    y: Any
    tasks: NDArray[Any] | None
    names: NDArray[Any]
    feature_names: tuple[str, ...] = ()
    is_split: bool = False


def read_for_training(args: argparse.Namespace, *, require_labels: bool = True) -> Examples:
    """Read what the arguments of ``train-table`` name.

    Raises
    ------
    SeqmtlError
        If the arguments do not fit together, or the files are at fault.
    """
    from seqmtl.cli._input import read_input
    from seqmtl.io import read_numeric_table

    if _holds_windows(args):
        return _of_windows(
            read_input(
                args,
                split=args.split,
                window=args.window,
                require_labels=require_labels,
                shift=args.shift,
            )
        )
    if args.window or args.shift:
        raise SeqmtlError(
            f"--window and --shift cut windows of DNA, and {args.data} is a table of examples; "
            "leave them out"
        )
    table = read_numeric_table(
        args.data, label=args.label_column or LABEL, task=args.task_column or TASK,
        sequence=args.sequence, require_labels=require_labels,
    )  # fmt: skip
    return _of_table(table, args.split, args.organism)


def read_for_model(model: Model, args: argparse.Namespace, *, require_labels: bool) -> Examples:
    """Read examples as the model was trained on them.

    Raises
    ------
    SeqmtlError
        If a column of the model is missing, the tasks are not known, the files are at fault, or
        windows are of a dataset whose signal is another or elsewhere in the window.
    """
    from seqmtl.io import read_numeric_table
    from seqmtl.sequences import TaskArray

    if model.inputs == "windows":
        return _of_windows(_read_windows_for(model, args, require_labels=require_labels))
    if not args.data or args.genome:
        raise SeqmtlError("the model was trained on a table of examples; name such a file as DATA")
    columns, names = model.training.get("columns", {}), model.feature_names or None
    is_text = model.inputs == "sequences"
    table = read_numeric_table(
        args.data,
        label=columns.get(LABEL, LABEL),
        task=TASK if args.organism else columns.get(TASK, TASK),
        sequence=(names or ("sequence",))[0] if is_text else None,
        features=None if is_text else names,
        require_labels=require_labels,
    )
    found = _of_table(table, None if args.split == "all" else args.split, args.organism)
    if len(model.classes) > 2 or model.tasks == (TASK,):
        return found._replace(tasks=None)
    if found.tasks is None and len(model.tasks) > 1:
        raise SeqmtlError(
            f"{args.data} does not say the tasks of its rows; name one of "
            f"{', '.join(model.tasks)} with --task"
        )
    return found if found.tasks is None else found._replace(X=TaskArray(found.X, found.tasks))


def _read_windows_for(model: Model, args: argparse.Namespace, *, require_labels: bool) -> Windows:
    """Read the windows at the model's length; of one organism where there is only one."""
    from seqmtl.cli._input import read_input
    from seqmtl.io.dataset import is_dataset

    if args.data and is_dataset(args.data):
        model.check_dataset(args.data)
    if not args.organism and len(model.tasks) == 1 and not args.genome and _is_fasta(args.data):
        args.organism = model.tasks[0]
    split = None if args.split == "all" else args.split
    windows = read_input(
        args, split=split, window=model.length, require_labels=require_labels, shift=model.shift
    )
    if windows.task_names == ("task",) and "task" not in model.tasks:
        names = ", ".join(model.tasks)
        raise SeqmtlError(
            f"the windows do not say their organism; name one of {names} with --organism"
        )
    return windows


def _is_fasta(data: str | None) -> bool:
    from seqmtl.io import guess_format, is_dataset

    if not data or data == "-" or is_dataset(data):
        return False
    return guess_format(data) == "fasta"


def _holds_windows(args: argparse.Namespace) -> bool:
    """Tell windows from a table of examples; without either the reader of windows complains."""
    from seqmtl.io import guess_format, is_dataset, is_table_of_windows

    if args.genome or not args.data:
        return True
    if args.label_column or args.task_column or args.sequence:
        return False
    if is_dataset(args.data):
        return True
    return guess_format(args.data) == "fasta" or is_table_of_windows(args.data)


def _of_windows(windows: Windows) -> Examples:
    is_split = windows.splits is not None
    return Examples(windows, windows.labels, windows.tasks, windows.names, (), is_split)


def _of_table(table: NumericTable, split: str | None, task: str | None) -> Examples:
    """Take the rows of a split, where the table has splits, and maybe one task for all."""
    if table.splits is not None and split is not None:
        rows = np.flatnonzero(table.splits == split)
        if not rows.size:
            known = ", ".join(np.unique(table.splits).tolist())
            raise SeqmtlError(f"split must be one of {known}, got {split!r}")
        table = table.select(rows)
    tasks = table.tasks if task is None else np.full(len(table), task)
    is_split = table.splits is not None
    return Examples(table.X, table.y, tasks, table.names, table.feature_names, is_split)
