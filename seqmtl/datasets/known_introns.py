"""Introns of a genome without a full annotation: from reads, proteins or a few genes."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.datasets.config import JunctionRules, SiteRules
from seqmtl.datasets.introns import check_introns, find_introns
from seqmtl.datasets.signals import annotated_sites, positions_of
from seqmtl.datasets.true_sites import SiteResolver, count_reasons
from seqmtl.exceptions import InputFormatError
from seqmtl.io.annotation import read_annotation
from seqmtl.io.genome import load_genome
from seqmtl.io.intron_chains import has_genes
from seqmtl.io.junctions import read_junctions
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.sequences.genome import Genome
from seqmtl.sequences.sites import Sites

logger = logging.getLogger(__name__)

_MIN_SITES = 2  # of each signal, to learn from


class KnownIntrons(NamedTuple):
    """Sites with evidence: annotated, or in introns of reads or proteins.

    Attributes
    ----------
    genome : Genome
        The genome, padded with the length of the models' windows.
    donors, acceptors : Sites
        Each once; starts count from the first base of the genome's buffer.
    lengths : ndarray of int64
        Bases of the introns, each once.
    """

    genome: Genome
    donors: Sites
    acceptors: Sites
    lengths: NDArray[np.int64]


def read_known_introns(
    path: str, organism: str, fasta: str, models: Sequence[MultiTaskModel]
) -> KnownIntrons:
    """Read the introns of a genome that have evidence.

    Parameters
    ----------
    path : str
        GFF3 or GTF of genes, whose introns are the gaps between exons; or what
        :func:`seqmtl.io.junctions.read_junctions` reads, BED12 of genes or alignments and hints of
        introns among it. A single read is enough. Introns and sites that are left out, such as
        those on contigs that the genome lacks, are counted in a warning.
    organism : str
        Its name, for messages.
    fasta : str
        The genome.
    models : sequence of two MultiTaskModel
        The models of donors and of acceptors.

    Raises
    ------
    InputFormatError
        If a file cannot be read, they do not belong together, or fewer than two donors or
        acceptors have the letters and the surroundings that the models need.
    """
    signals = ("donor", "acceptor")
    rules = SiteRules()
    annotation = read_annotation(path) if path != "-" and has_genes(path) else None
    junctions = [] if annotation is not None else read_junctions(path)
    genome = load_genome(fasta, padding=max(model.length for model in models) + 1)
    introns = annotation
    if introns is None:
        introns = find_introns(organism, path, junctions, genome, JunctionRules(min_reads=1))
        for reason, n in Counter(row.reason for row in introns.exclusions).items():
            logger.warning("%s: %d introns are left out: %s", path, n, reason)
    bounds = {
        (t.contig, *intron) for t in introns.transcripts if not t.weak for intron in t.introns
    }
    bounds = _on_contigs(bounds, genome, path, fasta)
    sites_of_signals: list[Sites] = []
    for signal, model in zip(signals, models, strict=True):
        resolver = SiteResolver(organism, path, genome, model.site, model.length)
        annotated = annotated_sites(introns, signal, rules.min_intron)
        true_sites = resolver.find(annotated, allow_missing=True, remedy="")
        sites = true_sites.sites
        if len(sites) < _MIN_SITES:
            raise InputFormatError(
                f"at least {_MIN_SITES} {signal}s with the letters of the model and a whole window "
                f"are needed, got {len(sites)}; give more introns, or none",
                path=path,
            )
        n_annotated = len({*positions_of(annotated)})
        if len(sites) < n_annotated:
            logger.warning(
                "%s: %d of %d %ss are left out: %s",
                path,
                n_annotated - len(sites),
                n_annotated,
                signal,
                "; ".join(count_reasons(true_sites.exclusions)),
            )
        sites_of_signals.append(Sites(sites.starts, sites.is_reverse))
    if annotation is not None:
        check_introns(annotation, genome, rules.min_intron, "")
    lengths = np.array([end - start for _, start, end in sorted(bounds)], dtype=np.int64)
    return KnownIntrons(
        genome, sites_of_signals[0], sites_of_signals[1], lengths[lengths >= rules.min_intron]
    )


def _on_contigs(
    introns: set[tuple[str, int, int]], genome: Genome, path: str, fasta: str
) -> set[tuple[str, int, int]]:
    """Return the introns on contigs of the genome, and warn of the others."""
    names = sorted({intron[0] for intron in introns})
    index_of = dict(zip(names, genome.indices(names).tolist(), strict=True))
    missing_contigs = [name for name in names if index_of[name] < 0]
    if missing_contigs and len(missing_contigs) < len(names):
        logger.warning(
            "%s: %d of %d introns are left out, on %d contigs that %s lacks (such as %s)",
            path,
            sum(index_of[intron[0]] < 0 for intron in introns),
            len(introns),
            len(missing_contigs),
            fasta,
            missing_contigs[0],
        )
    return {intron for intron in introns if index_of[intron[0]] >= 0}
