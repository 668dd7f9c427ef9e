"""Read the windows that a request names."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from seqmtl.commands._options import WindowInput
from seqmtl.exceptions import InputFormatError, SeqmtlError
from seqmtl.io import guess_format
from seqmtl.io.dataset import read_dataset, read_summary
from seqmtl.io.tables import read_windows, read_windows_around, read_windows_in_parts
from seqmtl.linear_model.dataset_site import site_of_model
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.sequences import Windows
from seqmtl.sequences.quality import window_warnings
from seqmtl.splicing.model import NOT_WINDOWS, PairedModel
from seqmtl.training.site_detection import find_in_shorter, find_misplaced

logger = logging.getLogger("seqmtl")

_HELD_OUT = {"valid", "test"}  # splits that are trained on only if asked for


def read_for_model(
    model: MultiTaskModel | PairedModel, source: Any, *, require_labels: bool
) -> Windows:
    """Read windows of the model's length; with a single task, FASTA needs no --organism.

    Raises
    ------
    SeqmtlError
        If the model does not score windows, an organism is unknown, a file is invalid, or a
        dataset has another signal than the model.
    """
    if isinstance(model, PairedModel):
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
    wide = None if window is None else window + 2 * abs(shift)
    windows = _read(source, organism, wide, require_labels)
    return windows if window is None or not shift else windows.center(window, shift)


def _read(
    source: WindowInput,
    organism: str | None,
    window: int | None,
    require_labels: bool,
    base: int | None = None,
) -> Windows:
    """Read windows; `base` is the site in the `window` bases of a model."""
    data = str(source.data)
    options: dict[str, Any] = {"window": window, "organism": organism}
    if source.is_dataset or os.path.isdir(data):
        return read_windows(data, split=source.split_or_all, **options)
    if guess_format(data) == "fasta":
        read, site_arguments = _reader(source, base)
        return read(data, require_labels=require_labels, **site_arguments, **options)
    (windows,) = parts_of_table(source, organism, window, require_labels=require_labels, base=base)
    return windows


def _reader(source: WindowInput, base: int | None) -> tuple[Callable[..., Windows], dict[str, Any]]:
    """Return the reader of a file, for training or for a model, and its arguments for the site."""
    if base is None:
        return read_windows, {"site": source.site}
    return read_windows_around, {"base": base}


def read_as_of_model(
    model: MultiTaskModel, source: WindowInput, organism: str | None, *, require_labels: bool
) -> Windows:
    """Read windows, and cut them so that the site is at the position of the model.

    Windows of datasets, and of tables and FASTA files with the position of their site, are cut
    around it, with N for bases that they lack. Others are cut around their centre if they are
    longer than those of the model, or aligned by the letters of the site if they are shorter.

    Raises
    ------
    SeqmtlError
        If a file is invalid, a dataset has another signal, or the site of shorter windows is
        unknown.
    """
    window, shift = model.length, model.shift
    if not source.is_dataset:
        return _as_of_model(model, source, organism, require_labels)
    data = str(source.data)
    here = site_of_model(model.site, data, window, shift)
    cut = read_summary(data)["site"]["offset"] - here.offset, window
    return read_dataset(data, split=source.split_or_all, organism=organism, cut=cut).windows


def _as_of_model(
    model: MultiTaskModel, source: WindowInput, organism: str | None, require_labels: bool
) -> Windows:
    """Read windows of a table or a FASTA file with the site at the position of the model."""
    window, shift, site = model.length, model.shift, model.site
    wide = window + 2 * abs(shift)
    in_wide = replace(site, offset=site.offset + abs(shift) + shift)
    windows = _read(source, organism, wide, require_labels, in_wide.offset)
    if windows.site is not None:
        site.require_known()
    if windows.length == wide:
        return windows.center(window, shift) if shift else windows
    likely = [in_wide.offset - (wide - windows.length) // 2]
    if windows.length == window and site.offset not in likely:
        likely.append(site.offset)
    windows.site = find_in_shorter(site, windows, wide, likely)
    logger.info(
        "windows of %d bases: the site begins at base %d (0-based); what they lack of the "
        "model's %d is N",
        windows.length,
        windows.site,
        window,
    )
    return windows.with_site_at(site.offset, window)


def read_training_windows(
    source: WindowInput, window: int | None = None, shift: int = 0
) -> Windows:
    """Read labelled windows, and warn of what is probably wrong."""
    windows = read_windows_of(source, source.organism, window, shift, require_labels=True)
    warn_of([*window_warnings([windows]), *find_misplaced(windows)], source)
    return windows


def warn_of(faults: list[str], source: Any) -> None:
    """Warn of what is probably wrong with training windows."""
    for fault in faults:
        logger.warning("%s: %s", source.data or "the windows", fault)


def organisms_named(source: Any) -> list[str]:
    """Return the organisms that are named before the training data is read."""
    if source.organism:
        return [source.organism]
    if not source.is_dataset:
        return []
    facts = read_summary(source.data)["organisms"].items()
    is_all = source.split == "all"
    return [n for n, entry in facts if is_all or entry["splits"].get(source.split, {}).get("sites")]


def parts_of_table(
    source: WindowInput,
    organism: str | None,
    window: int | None,
    n: int | None = None,
    *,
    require_labels: bool = True,
    base: int | None = None,
) -> Iterator[Windows]:
    """Yield the windows of a table, about n at a time: those of the split, or all if none has it.

    With `base` they are those of a model, see :func:`seqmtl.io.tables.read_windows_around`.

    Raises
    ------
    InputFormatError
        If the table is invalid, has other splits, or only one that is held out.
    """
    read, site_arguments = _reader(source, base)
    data, options = str(source.data), {"window": window, "organism": organism, **site_arguments}

    def parts(split: str | None) -> Iterator[Windows]:
        if n is None:
            yield read(data, split=split, require_labels=require_labels, **options)
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
    """Return whether all windows have one split, and warn that it is ignored."""
    is_one = len(windows.split_names) == 1
    if is_one and tell:
        logger.warning(
            "the split column is %r in every row of %s; ignoring it and using all rows",
            windows.split_names[0],
            data,
        )
    return is_one
