"""Introns predicted by ``seqmtl annotate``: their number, and how many are annotated."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from seqmtl.calibration.curve import to_probability
from seqmtl.evaluation.expected import expected_sites
from seqmtl.exceptions import SeqmtlError
from seqmtl.files.streams import PathLike
from seqmtl.io.genome import load_genome
from seqmtl.io.transcripts import Annotation
from seqmtl.io.tsv import read_rows
from seqmtl.linear_model.site import Site
from seqmtl.scanning.blocks import Block
from seqmtl.scanning.writers.base import SitesBySignal
from seqmtl.scanning.writers.lines import DECIMALS
from seqmtl.splicing.layer import ENDS

#: An intron: contig, first base and the base after the last (0-based), whether on the minus strand.
Intron = tuple[str, int, int, bool]

#: Part of the names of files with introns.
INTRONS = "introns.gff3"
_LEVELS = (0.1, 0.5, 0.9)
_LIKELY, _HIGHEST = 1, 2  # levels of the summary, and of the warning


class Call(NamedTuple):
    """A site or an intron that was called: 0-based half-open, with its probability."""

    start: int
    end: int
    is_reverse: bool
    probability: float


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
        Gaps between exons in it, of which those with splice sites are introns; 0 if all count.
    path : str
        File of the introns.
    lengths : list of int
        Lengths of the introns of probability 0.5 or more, in bases.
    """

    organism: str
    rows: list[dict[str, Any]]
    annotation: str = ""
    n_gaps: int = 0
    path: str = ""
    lengths: Sequence[int] = ()

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

    def warning(self) -> str:
        """Return a warning if fewer of the most probable introns are annotated than expected.

        That is by more than a factor, and by more than chance: see
        :func:`seqmtl.evaluation.expected_sites`.
        """
        if not self.annotation:
            return ""
        row = self.rows[_HIGHEST]
        n, n_annotated, p_min = row["predicted"], row["annotated"], row["min_probability"]
        labels, p = np.arange(n) < n_annotated, np.full(n, p_min)
        expected = expected_sites(labels, p, np.full(n, ""))[""] if n else {"reliability": []}
        calibrated = [level["calibrated"] for level in expected["reliability"][:1]]
        if calibrated != ["no"] or n_annotated > p_min * n:
            return ""
        return (
            f"{self.organism}: only {n_annotated / n:.0%} of {n:,} introns with p >= {p_min} are "
            f"in {os.path.basename(self.annotation)}, so it is incomplete or the probabilities are "
            "too high; check some of them in a genome browser"
        )


def read_calls(path: PathLike) -> Iterator[tuple[str, Call]]:
    """Yield contig and call of the introns of a GFF3 file, or of the sites of a BED file.

    Parameters
    ----------
    path : path-like
        Such as FOLDER/sites.introns.gff3 of ``seqmtl annotate`` or ``scan``.
    """
    is_gff = os.fspath(path).endswith(".gff3")
    start, end, strand, probability = (3, 4, 6, 5) if is_gff else (1, 2, 5, 7)
    for row in read_rows(path):
        first, p = row.integer(start) - is_gff, float(row.fields[probability])
        contig = unquote(row.fields[0]) if is_gff else row.fields[0]
        yield contig, Call(first, row.integer(end), row.fields[strand] == "-", p)


def calls_in(files: Sequence[str], kind: str) -> Iterator[tuple[str, Call]]:
    """Yield the calls of a kind in the files of a scan of format all; see :class:`Calls`."""
    ending = INTRONS if kind == "introns" else f".{kind}.bed.gz"
    for path in files:
        if path.endswith(ending):
            yield from read_calls(path)


class Calls:
    """Introns and their ends that a scan finds, as its files have them, in memory."""

    def __init__(self) -> None:
        self._parts: dict[str, list[tuple[tuple[str, ...], list[NDArray[Any]]]]] = {}

    def add(self, block: Block, sites_by_signal: SitesBySignal) -> None:
        """Add what was found in a block of the genome."""
        for kind in ("introns", *ENDS):
            sites = sites_by_signal[kind]
            if kind == "introns":
                p = np.rint(sites["probability"] * 10**DECIMALS) / 10**DECIMALS
            else:
                p = to_probability(sites["scores"].astype(np.float64))
                sites = sites.adding(probability=p, ends=sites.starts + 2)
                sites = sites.take(p >= _LEVELS[0]).in_order()
                p = sites["probability"]
            numbers, starts = block.contig.located(sites.starts)
            ends = sites["ends"] - sites.starts + starts
            columns = [numbers, starts, ends, sites.is_reverse, p]
            self._parts.setdefault(kind, []).append((block.contig.names, columns))

    def of(self, kind: str) -> Iterator[tuple[str, Call]]:
        """Yield contig and call of introns, or of donors or acceptors: "introns", "donor", ..."""
        for names, columns in self._parts.get(kind, []):
            for number, *call in zip(*(column.tolist() for column in columns), strict=True):
                yield names[number], Call(*call)


def by_intron(calls: Iterable[tuple[str, Call]]) -> dict[Intron, float]:
    """Return the probabilities of introns."""
    return {(contig, *call[:3]): call.probability for contig, call in calls}


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
        Result of :func:`by_intron`.
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
