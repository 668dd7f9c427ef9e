"""Read the windows named on the command line."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

from seqmtl.exceptions import InputFormatError, SeqmtlError

if TYPE_CHECKING:
    from seqmtl.sequences import Windows

logger = logging.getLogger("seqmtl")

DEFAULT_WINDOW = 141


def read_input(
    source: Any,
    organism: str | None,
    *,
    split: str | None,
    window: int | None,
    require_labels: bool,
    shift: int = 0,
) -> Windows:
    """Read the windows named by the arguments.

    Parameters
    ----------
    source : WindowInput
        Where they are.
    organism : str or None
        Organism of all of them, which overrides what they say.
    split : str or None
        Split to read, if the source has a split column.
    window : int or None
        Window length; longer sequences are trimmed to their centre.
    require_labels : bool
        Whether every window must have a label.
    shift : int
        Bases by which the window is moved in the 3' direction.

    Raises
    ------
    SeqmtlError
        If the arguments conflict or a file is invalid.
    """
    if source.genome and source.data:
        raise SeqmtlError("give either DATA, or --genome with --sites, not both")
    if source.genome and window is None:
        window = DEFAULT_WINDOW
    if shift and window is None:
        raise SeqmtlError("--shift needs a window length; give --window")
    wide = None if window is None else window + 2 * abs(shift)
    windows = _read(source, organism, split, wide, require_labels)
    return windows if window is None or not shift else windows.center(window, shift)


def read_as_of_model(
    model: Any, source: Any, organism: str | None, *, require_labels: bool
) -> Windows:
    """Read windows in which the site is where the model has it, as far as their source knows it.

    Those of datasets, and of sites in genomes, are cut there; those of tables and FASTA files are
    taken as they are.

    Raises
    ------
    SeqmtlError
        See :func:`read_input`, or if a dataset has another signal.
    """
    from seqmtl.io.dataset import is_dataset, read_dataset, read_summary
    from seqmtl.models.site import site_of_model

    split = None if source.split == "all" else source.split
    window, shift, site = model.length, model.shift, getattr(model, "site", None)
    if site and source.data and not source.genome and is_dataset(source.data):
        here = site_of_model(site, source.data, window, shift)
        cut = read_summary(source.data)["site"]["offset"] - here.offset, window
        return read_dataset(source.data, split=split, organism=organism, cut=cut).windows
    if source.genome and site and (site.signal or site.words):
        shift = window // 2 - site.offset - site.length // 2
    return read_input(
        source, organism, split=split, window=window, require_labels=require_labels, shift=shift
    )


def read_for_training(source: Any, *, split: str | None) -> Windows:
    """Read the labelled windows named by the arguments, and warn of what is probably wrong."""
    from seqmtl.models.site import find_misplaced
    from seqmtl.sequences.quality import find_faults

    windows = read_input(
        source,
        getattr(source, "organism", None),  # compare has no such option
        split=split,
        window=source.window,
        require_labels=True,
        shift=source.shift,
    )
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
    return [name for name, own in facts if own["splits"].get(source.split, {}).get("sites")]


def _read(
    source: Any, organism: str | None, split: str | None, window: int | None, require_labels: bool
) -> Windows:
    if source.genome:
        return _from_genomes(source, window or DEFAULT_WINDOW, require_labels, split)
    if not source.data:
        raise SeqmtlError("no windows given; name a DATA file, or give --genome and --sites")
    from seqmtl.io import guess_format, is_dataset, read_dataset, read_fasta_windows, read_windows

    if os.path.isdir(source.data) and not is_dataset(source.data):
        raise SeqmtlError(
            f"{source.data}: a folder must be a dataset with windows.tsv and summary.json; make "
            "one with seqmtl dataset, or name a file"
        )
    if is_dataset(source.data):
        windows = read_dataset(source.data, split=split, organism=organism).windows
        return windows if window is None else windows.center(window)
    if guess_format(source.data) == "fasta":
        return read_fasta_windows(
            source.data, window=window, organism=organism, require_labels=require_labels
        )
    options: dict[str, Any] = {
        "window": window,
        "organism": organism,
        "require_labels": require_labels,
    }
    try:
        return read_windows(source.data, split=split, **options)
    except InputFormatError:
        if split != "train":
            raise
        windows = read_windows(source.data, **options)
        if not all_of_one_split(windows, source.data):
            raise
        return windows


def all_of_one_split(windows: Windows, data: str, *, tell: bool = True) -> bool:
    """Tell whether all windows have one split, and warn that it is ignored."""
    is_one = len(windows.split_names) == 1
    if is_one and tell:
        logger.warning(
            "the split column is %r in every row of %s; ignoring it and using all rows",
            windows.split_names[0], data,
        )  # fmt: skip
    return is_one


def _from_genomes(source: Any, window: int, require_labels: bool, split: str | None) -> Windows:
    from seqmtl.io import load_genomes, read_sites
    from seqmtl.sequences import add_decoys, concatenate

    named = genomes_with_sites(source)
    paths = {organism: fasta for organism, fasta, _ in named}
    sites = {organism: path for organism, _, path in named}
    parts = []
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
