"""Introns known of a genome that has no annotation else: of reads, proteins or a few genes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.dataset.config import JunctionRules, SiteRules
from seqmtl.dataset.introns import find_introns
from seqmtl.dataset.signals import Place, places_of
from seqmtl.dataset.true_sites import Contigs, Finder
from seqmtl.exceptions import InputFormatError
from seqmtl.io.annotation import read_annotation
from seqmtl.io.genome import load_genome
from seqmtl.io.junctions import read_junctions
from seqmtl.models.model import MultiTaskModel
from seqmtl.sequences.genome import Genome
from seqmtl.sequences.sites import Sites

_GENES = (".gff", ".gff3", ".gtf")
_FEWEST = 2  # sites of each signal that can be learnt from


class KnownIntrons(NamedTuple):
    """Sites that are known to be true.

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
    """Read introns that are known of a genome.

    Parameters
    ----------
    path : str
        GFF3 or GTF of genes (``.gff``, ``.gff3``, ``.gtf``, also with ``.gz``), whose introns are
        the gaps between exons; or what :func:`seqmtl.io.junctions.read_junctions` reads, BED12 of
        genes or alignments among it. A single read is enough.
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
    signals, rules = ("donor", "acceptor"), SiteRules()
    is_genes = path.lower().removesuffix(".gz").endswith(_GENES)
    annotation = read_annotation(path) if is_genes else None
    junctions = [] if is_genes else read_junctions(path)
    genome = load_genome(fasta, padding=max(model.length for model in models) + 1)
    contigs = Contigs(genome, {})
    places: list[list[Place]] = []
    if annotation is not None:
        places = [places_of(annotation, signal, rules.min_intron) for signal in signals]
        own = {(t.contig, *intron) for t in annotation.transcripts for intron in t.introns}
    else:
        introns = find_introns(organism, path, junctions, contigs, JunctionRules(min_reads=1))
        places = [introns.places(signal, rules.min_intron) for signal in signals]
        own = {(row.junction.contig, row.junction.start, row.junction.end) for row in introns.rows}
    found: list[Sites] = []
    for signal, model, rows in zip(signals, models, places, strict=True):
        finder = Finder(organism, path, genome, model.site, model.length)
        sites = finder.find(rows, contigs, allow_missing=False).sites
        if len(sites) < _FEWEST:
            raise InputFormatError(
                f"at least {_FEWEST} {signal}s with the letters of the model and a whole window "
                f"are needed, got {len(sites)}; give more introns, or none",
                path=path,
            )
        found.append(Sites(sites.starts, sites.is_reverse))
    lengths = np.array([end - start for _, start, end in sorted(own)], dtype=np.int64)
    return KnownIntrons(genome, found[0], found[1], lengths[lengths >= rules.min_intron])
