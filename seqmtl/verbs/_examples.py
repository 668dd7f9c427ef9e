"""Read what a request names: windows of a file or of genomes."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from typing import Any

from seqmtl._names import NameIndex, check_distinct, match_names
from seqmtl.exceptions import InputFormatError, SeqmtlError, UsageError
from seqmtl.io import guess_format, load_genomes, read_sites
from seqmtl.io.dataset import read_dataset, read_summary
from seqmtl.io.tables import read_windows, read_windows_in_parts
from seqmtl.models.base import Model
from seqmtl.models.paired import NOT_WINDOWS
from seqmtl.models.site import find_misplaced, site_of_model
from seqmtl.sequences import Windows, add_decoys, concatenate
from seqmtl.sequences.quality import find_faults
from seqmtl.verbs._options import WindowInput

logger = logging.getLogger("seqmtl")

DEFAULT_WINDOW = 141


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
    is_file = source.data and source.data != "-" and not source.genome and not source.is_dataset
    if not organism and len(model.tasks) == 1 and is_file and guess_format(source.data) == "fasta":
        organism = model.tasks[0]
    windows = read_as_of_model(model, source, organism, require_labels=require_labels)
    if windows.task_names == ("task",) and "task" not in model.tasks:
        names = ", ".join(model.tasks)
        raise SeqmtlError(
            f"the windows do not name their organism; give one of {names} with --organism"
        )
    return windows


def read_windows_of(source: WindowInput, *, require_labels: bool) -> Windows:
    """Read windows; longer sequences are trimmed to their centre, or what `shift` makes of it.

    Raises
    ------
    SeqmtlError
        If the options conflict or a file is invalid.
    """
    window = source.window
    if source.genome and source.data:
        raise UsageError("give either DATA, or --genome with --sites, not both")
    if source.genome and window is None:
        window = DEFAULT_WINDOW
    if source.shift and window is None:
        raise SeqmtlError("--shift needs a window length; give --window")
    wide = None if window is None else window + 2 * abs(source.shift)
    if source.genome:
        windows = _from_genomes(source, wide or DEFAULT_WINDOW, require_labels)
    else:
        windows = _from_file(source, wide, require_labels)
    return windows if window is None or not source.shift else windows.center(window, source.shift)


def read_as_of_model(
    model: Any, source: Any, organism: str | None, *, require_labels: bool
) -> Windows:
    """Read windows in which the site is where the model has it, as far as their source knows it.

    Those of datasets, and of sites in genomes, are cut there; those of tables and FASTA files are
    taken as they are.

    Raises
    ------
    SeqmtlError
        See :func:`read_windows_of`, or if a dataset has another signal.
    """
    window, shift, site = model.length, model.shift, getattr(model, "site", None)
    source = WindowInput.of(source, organism=organism)
    if site and source.data and not source.genome and source.is_dataset:
        here = site_of_model(site, source.data, window, shift)
        cut = read_summary(source.data)["site"]["offset"] - here.offset, window
        split = source.split_or_all
        return read_dataset(source.data, split=split, organism=organism, cut=cut).windows
    if source.genome and site and (site.signal or site.words):
        shift = window // 2 - site.offset - site.length // 2
    source = WindowInput.of(source, window=window, shift=shift)
    return read_windows_of(source, require_labels=require_labels)


def read_training_windows(source: Any) -> Windows:
    """Read labelled windows, and warn of what is probably wrong."""
    windows = read_windows_of(source, require_labels=True)
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
        return [name for name, _ in source.genome]
    facts = read_summary(source.data)["organisms"].items()
    is_all = source.split == "all"
    return [n for n, own in facts if is_all or own["splits"].get(source.split, {}).get("sites")]


def _from_file(source: WindowInput, window: int | None, require_labels: bool) -> Windows:

    data, organism = source.data, source.organism
    if not data:
        raise UsageError("no windows given; name a DATA file, or give --genome and --sites")
    options: dict[str, Any] = {"window": window, "organism": organism}
    if source.is_dataset:
        return read_windows(data, split=source.split_or_all, **options)
    if os.path.isdir(data) or guess_format(data) == "fasta":
        return read_windows(data, require_labels=require_labels, **options)
    (windows,) = parts_of_table(source, window, require_labels=require_labels)
    return windows


def parts_of_table(
    source: Any, window: int | None, n: int | None = None, *, require_labels: bool = True
) -> Iterator[Windows]:
    """Yield the windows of a table, about n at a time: those of the split, or all if none has it.

    Raises
    ------
    InputFormatError
        If the table is invalid, or has other splits.
    """
    data, options = source.data, {"window": window, "organism": source.organism}

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


def _from_genomes(source: WindowInput, window: int, require_labels: bool) -> Windows:

    named = genomes_with_sites(source)
    genomes = load_genomes({name: fasta for name, fasta, _ in named}, padding=window)
    options: dict[str, Any] = {"window": window, "require_labels": require_labels}
    parts = []
    for organism, _, path in named:
        genome = genomes[organism]
        found: Windows = read_sites(
            path, genome, organism=organism, at_end=source.at_end, **options
        )
        if found.splits is not None and source.split_or_all is not None:
            found = found.select_split(source.split)
        if require_labels and (found.labels > 0).all():
            found = add_decoys(found, genome, ratio=source.decoys, seed=source.seed)
        n_sites = int((found.labels > 0).sum())
        n_decoys = int((found.labels < 0).sum())
        logger.info(
            "%s: %d sites, %d decoys on %d contigs", organism, n_sites, n_decoys, len(genome.names)
        )
        parts.append(found)
    return concatenate(parts)


def genomes_with_sites(source: Any) -> list[tuple[str, str, str]]:
    """Return organism, genome and sites of --genome and --sites, in the order of the genomes."""
    paths, sites = _by_organism(source.genome, "--genome"), _by_organism(source.sites, "--sites")
    odd = [name for name in paths if not NameIndex(list(sites)).find(name)]
    odd += [name for name in sites if not NameIndex(list(paths)).find(name)]
    if odd:
        raise UsageError(
            f"every organism needs --genome and --sites, but only one was given for "
            f"{', '.join(sorted(odd))}"
        )
    own = match_names(paths, list(sites), "--sites")
    in_order = list(sites.values())
    return [(name, path, in_order[i]) for (name, path), i in zip(paths.items(), own, strict=True)]


def _by_organism(named: list[tuple[str, str]], option: str) -> dict[str, str]:
    """Return the files of an option by organism, after checking that each is named once."""
    names = [name for name, _ in named]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise SeqmtlError(
            f"{option} must name every organism once, got {twice[0]!r} twice; leave one out"
        )
    try:
        check_distinct(names)
    except InputFormatError as error:
        raise UsageError(f"{option}: {error}") from None
    return dict(named)
