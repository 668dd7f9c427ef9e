"""Read windows: those of a request, from its files."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from seqmtl.exceptions import InputFormatError, SeqmtlError
from seqmtl.verbs._options import WindowInput

if TYPE_CHECKING:
    from seqmtl.sequences import Windows

logger = logging.getLogger("seqmtl")

DEFAULT_WINDOW = 141


def read_windows_of(source: WindowInput, *, require_labels: bool) -> Windows:
    """Read windows; longer sequences are trimmed to their centre, or what `shift` makes of it.

    Raises
    ------
    SeqmtlError
        If the options conflict or a file is invalid.
    """
    window = source.window
    if source.genome and source.data:
        raise SeqmtlError("give either DATA, or --genome with --sites, not both")
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
    from seqmtl.io.dataset import is_dataset, read_dataset, read_summary
    from seqmtl.models.site import site_of_model

    window, shift, site = model.length, model.shift, getattr(model, "site", None)
    source = WindowInput.of(source, organism=organism)
    if site and source.data and not source.genome and is_dataset(source.data):
        here = site_of_model(site, source.data, window, shift)
        cut = read_summary(source.data)["site"]["offset"] - here.offset, window
        split = source.split_or_all
        return read_dataset(source.data, split=split, organism=organism, cut=cut).windows
    if source.genome and site and (site.signal or site.words):
        shift = window // 2 - site.offset - site.length // 2
    source = WindowInput.of(source, window=window, shift=shift)
    return read_windows_of(source, require_labels=require_labels)


def read_for_training(source: Any, *, split: str | None) -> Windows:
    """Read labelled windows of a split, and warn of what is probably wrong."""
    from seqmtl.models.site import find_misplaced
    from seqmtl.sequences.quality import find_faults

    windows = read_windows_of(WindowInput.of(source, split=split or "all"), require_labels=True)
    warn_of([*find_faults([windows]), *find_misplaced(windows)], source)
    return windows


def warn_of(faults: list[str], source: Any) -> None:
    """Warn of what is probably wrong with training windows."""
    for fault in faults:
        logger.warning("%s: %s", source.data or "the windows", fault)


def organisms_named(source: Any) -> list[str]:
    """Return the organisms that are known before the training data is read."""
    from seqmtl.io.dataset import is_dataset, read_summary

    if source.organism:
        return [source.organism]
    if not source.data or not is_dataset(source.data):
        return [name for name, _ in source.genome]
    facts = read_summary(source.data)["organisms"].items()
    is_all = source.split == "all"
    return [n for n, own in facts if is_all or own["splits"].get(source.split, {}).get("sites")]


def _from_file(source: WindowInput, window: int | None, require_labels: bool) -> Windows:
    from seqmtl.io import guess_format, is_dataset, read_dataset, read_fasta_windows

    data, organism = source.data, source.organism
    if not data:
        raise SeqmtlError("no windows given; name a DATA file, or give --genome and --sites")
    if is_dataset(data):
        windows = read_dataset(data, split=source.split_or_all, organism=organism).windows
        return windows if window is None else windows.center(window)
    if os.path.isdir(data):
        raise SeqmtlError(
            f"{data}: a folder must be a dataset with windows.tsv and summary.json; make one with "
            "seqmtl dataset, or name a file"
        )
    if guess_format(data) == "fasta":
        return read_fasta_windows(
            data, window=window, organism=organism, require_labels=require_labels
        )
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
    from seqmtl.io.tables import read_windows, read_windows_in_parts

    data, options = source.data, {"window": window, "organism": source.organism}

    def parts(split: str | None) -> Iterator[Windows]:
        if n is None:
            yield read_windows(data, split=split, require_labels=require_labels, **options)
        else:
            yield from read_windows_in_parts(data, n, split=split, **options)

    n_parts = 0
    try:
        for windows in parts(None if source.split == "all" else source.split):
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
            windows.split_names[0], data,
        )  # fmt: skip
    return is_one


def _from_genomes(source: WindowInput, window: int, require_labels: bool) -> Windows:
    from seqmtl.io import load_genomes, read_sites
    from seqmtl.sequences import add_decoys, concatenate

    named = genomes_with_sites(source)
    paths = {organism: fasta for organism, fasta, _ in named}
    sites = {organism: path for organism, _, path in named}
    parts = []
    split = source.split_or_all
    for organism, genome in load_genomes(paths, padding=window).items():
        found: Windows = read_sites(
            sites[organism], genome, window=window, organism=organism, at_end=source.at_end,
            require_labels=require_labels,
        )  # fmt: skip
        if found.splits is not None and split is not None:
            found = found.select_split(split)
        if require_labels and (found.labels > 0).all():
            found = add_decoys(found, genome, ratio=source.decoys, seed=source.seed)
        logger.info(
            "%s: %d sites, %d decoys on %d contigs",
            organism, (found.labels > 0).sum(), (found.labels < 0).sum(), len(genome.names),
        )  # fmt: skip
        parts.append(found)
    return concatenate(parts)


def genomes_with_sites(source: Any) -> list[tuple[str, str, str]]:
    """Return organism, genome and sites of --genome and --sites, in the order of the genomes."""
    from seqmtl._names import NameIndex, match_names

    paths, sites = _by_organism(source.genome, "--genome"), _by_organism(source.sites, "--sites")
    odd = [name for name in paths if not NameIndex(list(sites)).find(name)]
    odd += [name for name in sites if not NameIndex(list(paths)).find(name)]
    if odd:
        raise SeqmtlError(
            f"every organism needs --genome and --sites, but only one was given for "
            f"{', '.join(sorted(odd))}"
        )
    own = match_names(paths, list(sites), "--sites")
    in_order = list(sites.values())
    return [(name, path, in_order[i]) for (name, path), i in zip(paths.items(), own, strict=True)]


def _by_organism(named: list[tuple[str, str]], option: str) -> dict[str, str]:
    """Return the files of an option by organism, after checking that each is named once."""
    from seqmtl._names import check_distinct

    names = [name for name, _ in named]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise SeqmtlError(
            f"{option} must name every organism once, got {twice[0]!r} twice; leave one out"
        )
    check_distinct(names)
    return dict(named)
