"""Introns predicted by ``seqmtl annotate``: their number, and how many are annotated."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np

from seqmtl.exceptions import InputFormatError, SeqmtlError
from seqmtl.files.streams import PathLike
from seqmtl.io.genome import load_genome
from seqmtl.io.transcripts import Annotation
from seqmtl.io.tsv import read_rows
from seqmtl.linear_model.site import Site
from seqmtl.scanning.blocks import Block
from seqmtl.scanning.writers.base import SitesBySignal
from seqmtl.scanning.writers.lines import DECIMALS

#: An intron: contig, first base and the base after the last (0-based), whether on the minus strand.
Intron = tuple[str, int, int, bool]

_LEVELS = (0.1, 0.5, 0.9)
_LIKELY = 1  # level of the summary


class PredictedIntrons(NamedTuple):
    """Introns predicted in the genome of an organism.

    Attributes
    ----------
    organism : str
        Its name.
    rows : list of dict
        See :func:`intron_rows`.
    annotation : str
        File that the introns are compared with, or "".
    n_gaps : int
        Gaps between exons in it, of which those with splice sites are introns.
    path : str
        File of the introns.
    lengths : list of int
        Lengths of the introns of probability 0.5 or more, in bases.
    genome : str
        FASTA of the genome.
    """

    organism: str
    rows: list[dict[str, Any]]
    annotation: str
    n_gaps: int
    path: str
    lengths: Sequence[int]
    genome: str

    def sentence(self) -> str:
        """Return the numbers of predicted introns, and of annotated ones among them."""
        row = self.rows[_LIKELY]
        n, p_min = row["predicted"], row["min_probability"]
        text = f"{self.organism}: {n:,} introns predicted (p >= {p_min})"
        if not self.annotation:
            return f"{text}."
        return (
            f"{text}; {row['annotated']:,} of the {row['annotated'] + row['missed']:,} introns in "
            f"{os.path.basename(self.annotation)} are among them."
        )


def predicted_introns(
    path: str,
    predicted: Mapping[Intron, float],
    organism: str,
    genome: str,
    annotation: Annotation | None = None,
) -> PredictedIntrons:
    """Return the introns of a file and their probabilities, compared with an annotation.

    Raises
    ------
    SeqmtlError
        If there is no genome, or the annotation is not of it.
    """
    annotated, n_gaps = None, 0
    if annotation is not None:
        contigs = {intron[0] for intron in predicted}
        gaps = annotated_introns(annotation, contigs)
        if not os.path.isfile(genome):
            raise SeqmtlError(f"{genome}: no such genome; run seqmtl report where annotate was run")
        try:  # those predicted are introns, whatever the letters that the model was given
            with_sites = annotated_introns(annotation, contigs, genome)
        except InputFormatError as error:  # not of what is in the folder
            fault = SeqmtlError(error.message)
            fault.path = error.path
            raise fault from error
        annotated, n_gaps = with_sites | (gaps & predicted.keys()), len(gaps)
    rows, lengths = intron_rows(predicted, annotated), likely_lengths(predicted)
    compared = "" if annotation is None else annotation.path
    return PredictedIntrons(organism, rows, compared, n_gaps, path, lengths, genome)


def read_introns(path: PathLike) -> dict[Intron, float]:
    """Return the probabilities of the introns of a GFF3 file, as of ``seqmtl annotate``."""
    return {
        (
            unquote(row.fields[0]),
            row.integer(3) - 1,
            row.integer(4),
            row.fields[6] == "-",
        ): float(row.fields[5])
        for row in read_rows(path)
    }


def introns_of(block: Block, sites_by_signal: SitesBySignal) -> dict[Intron, float]:
    """Return the probabilities of the introns of a block of a scan, as its files have them."""
    sites = sites_by_signal["introns"]
    p = np.rint(sites["probability"] * 10**DECIMALS) / 10**DECIMALS
    numbers, starts = block.contig.located(sites.starts)
    columns = [numbers, starts, sites["ends"] - sites.starts + starts, sites.is_reverse, p]
    return {
        (block.contig.names[number], *intron): probability
        for number, *intron, probability in zip(*(c.tolist() for c in columns), strict=True)
    }


def likely_lengths(predicted: Mapping[Intron, float]) -> list[int]:
    """Return the lengths of the introns of probability 0.5 or more, in bases."""
    return [end - start for (_, start, end, _), p in predicted.items() if p >= _LEVELS[_LIKELY]]


def annotated_introns(
    annotation: Annotation, contigs: Collection[str], genome: PathLike | None = None
) -> set[Intron]:
    """Return the introns of an annotation, each once.

    With the genome, they are gaps between exons of 20 bases or more that are GT-AG, GC-AG or AT-AC.
    Others are frame shifts, introns of tRNAs and of mitochondria, which are not spliced as others
    are.

    Parameters
    ----------
    annotation : Annotation
        Of the genome with the predicted introns.
    contigs : collection of str
        Contigs with predicted introns.
    genome : path-like, optional
        FASTA of the genome. Default: all gaps between exons are introns.

    Raises
    ------
    SeqmtlError
        If the annotation has none of the contigs, or is not of the genome.
    """
    if contigs and not set(contigs) & set(annotation.contigs):
        error = SeqmtlError(
            f"none of its contigs ({', '.join(annotation.contigs[:3])}, ...) has predicted "
            f"introns, unlike {min(contigs)}; give the annotation of the same genome"
        )
        error.path = annotation.path
        raise error
    gaps = {
        (transcript.contig, start, end, transcript.is_reverse)
        for transcript in annotation.transcripts
        for start, end in transcript.introns
    }
    return _with_sites(gaps, annotation, genome) if gaps and genome is not None else gaps


def _with_sites(gaps: set[Intron], annotation: Annotation, genome: PathLike) -> set[Intron]:
    """Return the gaps between exons whose two ends are those of an intron."""
    from seqmtl.datasets.config import SiteRules
    from seqmtl.datasets.introns import MOTIFS
    from seqmtl.datasets.signals import annotated_sites, positions_of
    from seqmtl.datasets.true_sites import SiteResolver

    loaded = load_genome(genome, padding=1, only={gap[0] for gap in gaps})
    ends = []
    for signal, side in (("donor", slice(2)), ("acceptor", slice(2, 4))):
        words = list(dict.fromkeys(motif[side] for motif in MOTIFS))
        site = Site(0, 2, ",".join(words), signal)
        resolver = SiteResolver("", annotation.path, loaded, site, site.length)
        annotated = annotated_sites(annotation, signal, SiteRules().min_intron)
        sites = resolver.find(annotated, allow_missing=True).sites
        positions = positions_of(annotated.take(sites["row"]))
        ends.append({at: words[i] for at, i in zip(positions, sites["consensus"], strict=True)})
    donors, acceptors = ends
    introns = set()
    for contig, start, end, is_reverse in gaps:
        first, last = (contig, start, is_reverse), (contig, end - 2, is_reverse)
        donor, acceptor = (last, first) if is_reverse else (first, last)
        if donors.get(donor, "") + acceptors.get(acceptor, "") in MOTIFS:
            introns.add((contig, start, end, is_reverse))
    return introns


def intron_rows(
    predicted: Mapping[Intron, float], annotated: Collection[Intron] | None = None
) -> list[dict[str, Any]]:
    """Count introns by minimum probability: 0.1, 0.5 and 0.9.

    Parameters
    ----------
    predicted : mapping of tuple to float
        Probabilities of introns.
    annotated : collection of tuple, optional
        Result of :func:`annotated_introns`. Both ends must be the same.

    Returns
    -------
    list of dict
        "min_probability", "predicted", and with `annotated` "annotated" (of those predicted),
        "others" and "missed".
    """
    rows = []
    for p_min in _LEVELS:
        called = {intron for intron, p in predicted.items() if p >= p_min}
        row: dict[str, Any] = {"min_probability": p_min, "predicted": len(called)}
        if annotated is not None:
            n_annotated = len(called.intersection(annotated))
            row |= {
                "annotated": n_annotated,
                "others": len(called) - n_annotated,
                "missed": len(annotated) - n_annotated,
            }
        rows.append(row)
    return rows
