"""Windows that are cut from genomes around sites, where a model has its site."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from seqmtl._names import NameIndex, check_distinct, match_names
from seqmtl.exceptions import InputFormatError, UsageError
from seqmtl.io import load_genomes, read_sites
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.sequences import Windows, add_decoys, concatenate

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class GenomeSites:
    """Genomes, and the sites in each.

    Attributes
    ----------
    genome : tuple of (str, str)
        Organisms, and the FASTA files of their genomes.
    sites : tuple of (str, str)
        Organisms, and the files of their sites, see :func:`seqmtl.io.read_sites`.
    contig_ends : {"pad", "drop"}
        What becomes of windows over the ends of contigs.
    split : str or None
        Split to read of files that have several; None for all sites.
    decoys : float
        Decoys to draw per site of an organism that has none.
    seed : int
        Seed of the decoys.
    """

    genome: tuple[tuple[str, str], ...]
    sites: tuple[tuple[str, str], ...]
    contig_ends: str = "pad"
    split: str | None = None
    decoys: float = 10.0
    seed: int = 0

    def by_organism(self) -> list[tuple[str, str, str]]:
        """Return organism, genome and sites, in the order of the genomes.

        Raises
        ------
        UsageError
            If an organism lacks one of both, or is named twice.
        """
        genomes, sites = _distinct(self.genome, "--genome"), _distinct(self.sites, "--sites")
        alone = [name for name in genomes if not NameIndex(list(sites)).find(name)]
        alone += [name for name in sites if not NameIndex(list(genomes)).find(name)]
        if alone:
            raise UsageError(
                "every organism needs --genome and --sites, but only one was given for "
                f"{', '.join(sorted(alone))}"
            )
        files = list(sites.values())
        indices = match_names(genomes, list(sites), "--sites")
        return [(*each, files[i]) for each, i in zip(genomes.items(), indices, strict=True)]

    def read_for(self, model: MultiTaskModel, *, require_labels: bool) -> Windows:
        """Read windows with the site at the position of the model.

        If labels are required, decoys are drawn for organisms of which no decoys are given.

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
        windows = concatenate(self._read(wide, require_labels=require_labels))
        return windows.center(window, shift) if shift else windows

    def _read(self, window: int, *, require_labels: bool) -> list[Windows]:
        """Return the windows of every organism."""
        named = self.by_organism()
        genomes = load_genomes({name: fasta for name, fasta, _ in named}, padding=window)
        parts = []
        for organism, _, path in named:
            genome = genomes[organism]
            windows = read_sites(
                path,
                genome,
                window=window,
                organism=organism,
                contig_ends=self.contig_ends,
                require_labels=require_labels,
            )
            if windows.splits is not None and self.split is not None:
                windows = windows.select_split(self.split)
            if require_labels and (windows.labels > 0).all():
                windows = add_decoys(windows, genome, ratio=self.decoys, seed=self.seed)
            n_sites, n_decoys = ((windows.labels == label).sum() for label in (1, -1))
            logger.info(
                "%s: %d sites, %d decoys on %d contigs",
                organism,
                n_sites,
                n_decoys,
                len(genome.names),
            )
            parts.append(windows)
        return parts


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
