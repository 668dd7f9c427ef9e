"""Read the windows that a request names."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from typing import Any

from seqmtl.exceptions import InputFormatError, SeqmtlError
from seqmtl.io import guess_format
from seqmtl.io.dataset import read_dataset, read_summary
from seqmtl.io.tables import read_windows, read_windows_in_parts
from seqmtl.models.base import Model
from seqmtl.models.paired import NOT_WINDOWS
from seqmtl.models.site import find_misplaced, site_of_model
from seqmtl.sequences import Windows
from seqmtl.sequences.quality import find_faults
from seqmtl.verbs._options import WindowInput

logger = logging.getLogger("seqmtl")

_HELD_OUT = {"valid", "test"}  # splits that are trained on only if asked for


def read_for_model(model: Model, source: Any, *, require_labels: bool) -> Windows:
    """Read windows of the model's length; with a single task, FASTA needs no --organism.

    Raises
    ------
    SeqmtlError
        If the model does not score windows, an organism is unknown, a file is invalid, or a
        dataset has another signal than the model.
    """
    if model.inputs == "genomes":
        raise SeqmtlError(NOT_WINDOWS)
    if model.inputs == "numbers":
        raise SeqmtlError(f"{source.model}: is a model of numbers; use it in Python")
    organism = source.organism
    is_file = source.data != "-" and not source.is_dataset
    if not organism and len(model.tasks) == 1 and is_file and guess_format(source.data) == "fasta":
        organism = model.tasks[0]
    windows = read_as_of_model(model, source, organism, require_labels=require_labels)
    if windows.task_names == ("task",) and "task" not in model.tasks:
        names = ", ".join(model.tasks)
        raise SeqmtlError(
            f"the windows do not name their organism; give one of {names} with --organism"
        )
    return windows


def read_windows_of(
    source: WindowInput,
    organism: str | None,
    window: int | None,
    shift: int,
    *,
    require_labels: bool,
) -> Windows:
    """Read windows; longer sequences are trimmed to their centre, or what `shift` makes of it.

    Raises
    ------
    InputFormatError
        If the file is invalid.
    """
    data, wide = str(source.data), None if window is None else window + 2 * abs(shift)
    options: dict[str, Any] = {"window": wide, "organism": organism}
    if source.is_dataset:
        windows = read_windows(data, split=source.split_or_all, **options)
    elif os.path.isdir(data) or guess_format(data) == "fasta":
        windows = read_windows(data, require_labels=require_labels, **options)
    else:
        (windows,) = parts_of_table(source, organism, wide, require_labels=require_labels)
    return windows if window is None or not shift else windows.center(window, shift)


def read_as_of_model(
    model: Any, source: WindowInput, organism: str | None, *, require_labels: bool
) -> Windows:
    """Read windows in which the site is where the model has it, as far as their source knows it.

    Those of datasets are cut there; those of tables and FASTA files are taken as they are.

    Raises
    ------
    SeqmtlError
        If a file is invalid, or a dataset has another signal.
    """
    window, shift = model.length, model.shift
    if not source.is_dataset:
        return read_windows_of(source, organism, window, shift, require_labels=require_labels)
    data = str(source.data)
    here = site_of_model(model.site, data, window, shift)
    cut = read_summary(data)["site"]["offset"] - here.offset, window
    return read_dataset(data, split=source.split_or_all, organism=organism, cut=cut).windows


def read_training_windows(
    source: WindowInput, window: int | None = None, shift: int = 0
) -> Windows:
    """Read labelled windows, and warn of what is probably wrong."""
    windows = read_windows_of(source, source.organism, window, shift, require_labels=True)
    warn_of([*find_faults([windows]), *find_misplaced(windows)], source)
    return windows


def warn_of(faults: list[str], source: Any) -> None:
    """Warn of what is probably wrong with training windows."""
    for fault in faults:
        logger.warning("%s: %s", source.data or "the windows", fault)


def organisms_named(source: Any) -> list[str]:
    """Return the organisms that are known before the training data is read."""
    if source.organism:
        return [source.organism]
    if not source.is_dataset:
        return []
    facts = read_summary(source.data)["organisms"].items()
    is_all = source.split == "all"
    return [n for n, own in facts if is_all or own["splits"].get(source.split, {}).get("sites")]


def parts_of_table(
    source: WindowInput,
    organism: str | None,
    window: int | None,
    n: int | None = None,
    *,
    require_labels: bool = True,
) -> Iterator[Windows]:
    """Yield the windows of a table, about n at a time: those of the split, or all if none has it.

    Raises
    ------
    InputFormatError
        If the table is invalid, has other splits, or only one that is held out.
    """
    data = str(source.data)
    options: dict[str, Any] = {"window": window, "organism": organism}

    def parts(split: str | None) -> Iterator[Windows]:
        if n is None:
            yield read_windows(data, split=split, require_labels=require_labels, **options)
        else:
            yield from read_windows_in_parts(data, n, split=split, **options)

    n_parts = 0
    try:
        for windows in parts(source.split_or_all):
            yield windows
            n_parts += 1
    except InputFormatError:
        if n_parts or source.split != "train":
            raise
        for windows in parts(None):
            if {*windows.split_names} & _HELD_OUT:
                raise
            if not all_of_one_split(windows, data, tell=not n_parts):
                raise
            yield windows
            n_parts += 1


def all_of_one_split(windows: Windows, data: str, *, tell: bool = True) -> bool:
    """Tell whether all windows have one split, and warn that it is ignored."""
    is_one = len(windows.split_names) == 1
    if is_one and tell:
        logger.warning(
            "the split column is %r in every row of %s; ignoring it and using all rows",
            windows.split_names[0],
            data,
        )
    return is_one
