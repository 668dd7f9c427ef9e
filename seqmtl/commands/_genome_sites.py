"""Read windows that ``adapt`` and ``explain`` cut from genomes around sites."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

from seqmtl._names import NameIndex, check_distinct, match_names
from seqmtl.exceptions import InputFormatError, UsageError
from seqmtl.io import load_genomes, read_sites
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.sequences import Windows, add_decoys, concatenate

logger = logging.getLogger("seqmtl")


def read_as_of_model(
    model: MultiTaskModel, source: Any, organism: str | None, *, require_labels: bool
) -> Windows:
    """Read windows of DATA, or of sites in genomes, with the site at the position of the model.

    If labels are required, decoys are drawn for organisms of which no decoys are given.

    Raises
    ------
    SeqmtlError
        If the options conflict, a file is invalid, or a dataset has another signal.
    """
    if not source.genome and not source.sites:
        examples = replace(source.source, organism=organism)
        return examples.read_for(model, require_labels=require_labels)
    if source.data:
        raise UsageError("give either DATA, or --genome with --sites, not both")
    window, shift, site = model.length, model.shift, model.site
    site.require_known()
    if site.signal or site.consensus or site.offset != model.length // 2:
        shift = window // 2 - site.offset - site.length // 2
    windows = concatenate(_by_genome(source, window + 2 * abs(shift), require_labels))
    return windows.center(window, shift) if shift else windows


def _by_genome(source: Any, window: int, require_labels: bool) -> list[Windows]:
    named = genomes_with_sites(source)
    genomes = load_genomes({name: fasta for name, fasta, _ in named}, padding=window)
    options: dict[str, Any] = {"window": window, "require_labels": require_labels}
    parts = []
    for organism, _, path in named:
        genome = genomes[organism]
        windows = read_sites(
            path, genome, organism=organism, contig_ends=source.contig_ends, **options
        )
        if windows.splits is not None and source.source.split_or_none is not None:
            windows = windows.select_split(source.split)
        if require_labels and (windows.labels > 0).all():
            windows = add_decoys(windows, genome, ratio=source.decoys, seed=source.seed)
        n_sites = int((windows.labels > 0).sum())
        n_decoys = int((windows.labels < 0).sum())
        logger.info(
            "%s: %d sites, %d decoys on %d contigs", organism, n_sites, n_decoys, len(genome.names)
        )
        parts.append(windows)
    return parts


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
    indices = match_names(paths, list(sites), "--sites")
    in_order = list(sites.values())
    return [
        (name, path, in_order[i]) for (name, path), i in zip(paths.items(), indices, strict=True)
    ]


def _by_organism(named: list[tuple[str, str]], option: str) -> dict[str, str]:
    """Return the files of an option by organism, after checking that each is named once."""
    names = [name for name, _ in named]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(
            f"{option} must name every organism once, got {twice[0]!r} twice; leave one out"
        )
    try:
        check_distinct(names)
    except InputFormatError as error:
        raise UsageError(f"{option}: {error}") from None
    return dict(named)
