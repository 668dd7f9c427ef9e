"""Windows that are cut from genomes around sites, where a model has its site."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from seqmtl._names import NameIndex, check_distinct, match_names
from seqmtl.exceptions import InputFormatError, UsageError
from seqmtl.io import load_genomes, read_sites
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.sequences import Windows, add_decoys, concatenate

logger = logging.getLogger(__name__)


#: Organisms, and a file of each.
Named = tuple[tuple[str, str], ...]


def by_organism(genomes: Named, sites: Named) -> list[tuple[str, str, str]]:
    """Return organism, genome and sites, in the order of the genomes.

    Raises
    ------
    UsageError
        If an organism lacks one of both, or is named twice.
    """
    fastas, beds = _distinct(genomes, "--genome"), _distinct(sites, "--sites")
    alone = [name for name in fastas if not NameIndex(list(beds)).find(name)]
    alone += [name for name in beds if not NameIndex(list(fastas)).find(name)]
    if alone:
        raise UsageError(
            "every organism needs --genome and --sites, but only one was given for "
            f"{', '.join(sorted(alone))}"
        )
    files = list(beds.values())
    indices = match_names(fastas, list(beds), "--sites")
    return [(*each, files[i]) for each, i in zip(fastas.items(), indices, strict=True)]


def read_genome_sites(
    model: MultiTaskModel,
    genomes: Named,
    sites: Named,
    *,
    split: str,
    require_labels: bool,
) -> Windows:
    """Read windows around sites of genomes, with the site at the position of the model.

    If labels are required, ten decoys per site are drawn for organisms of which none are given.

    Parameters
    ----------
    model : MultiTaskModel
        The model.
    genomes, sites : tuple of (str, str)
        Organisms, and the FASTA files of their genomes and the files of their sites, see
        :func:`seqmtl.io.read_sites`. Windows over the ends of contigs are padded with N.
    split : str
        Split to read of files that have several.
    require_labels : bool
        Whether sites must have labels.

    Raises
    ------
    SeqmtlError
        If a file is invalid, or the model does not know its site.
    """
    window, shift, site = model.length, model.shift, model.site
    site.require_known()
    if site.signal or site.consensus or site.offset != model.length // 2:
        shift = window // 2 - site.offset - site.length // 2
    wide = window + 2 * abs(shift)
    named, parts = by_organism(genomes, sites), []
    loaded = load_genomes({name: fasta for name, fasta, _ in named}, padding=wide)
    for organism, _, path in named:
        genome = loaded[organism]
        windows = read_sites(
            path, genome, window=wide, organism=organism, require_labels=require_labels
        )
        if windows.splits is not None:
            windows = windows.select_split(split)
        if require_labels and (windows.labels > 0).all():
            windows = add_decoys(windows, genome)
        n_sites, n_decoys = ((windows.labels == label).sum() for label in (1, -1))
        logger.info(
            "%s: %d sites, %d decoys on %d contigs", organism, n_sites, n_decoys, len(genome.names)
        )
        parts.append(windows)
    windows = concatenate(parts)
    return windows.center(window, shift) if shift else windows


def _distinct(named: Iterable[tuple[str, str]], option: str) -> dict[str, str]:
    """Return the files of an option by organism, after checking that each is named once."""
    files = list(named)
    names = [name for name, _ in files]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(
            f"{option} must name every organism once, got {twice[0]!r} twice; leave one out"
        )
    try:
        check_distinct(names)
    except InputFormatError as error:
        raise UsageError(f"{option}: {error}") from None
    return dict(files)
