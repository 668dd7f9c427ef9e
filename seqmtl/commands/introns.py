r"""Judge the introns of an annotation, of reads or hints.

examples:
  seqmtl introns starter:splice genome.fa annotation.gff3 --organism a_thaliana -o judged
  seqmtl introns starter:splice beetle.fa.gz braker.gtf --like Coleoptera -o judged
  seqmtl introns starter:splice beetle.fa.gz SJ.out.tab --like Coleoptera --min-probability 0.1 \
      -o filtered

For every intron: the probability that both of its ends are right, by their sites, the alternatives
within 100 bases, lengths, and the reading frames around. An intron below 0.1 is doubtful. FOLDER
gets

  introns.tsv        each intron once: contig, first and last base (1-based), strand, letters,
                     length, log-odds of both sites alone, probability (the highest among its
                     transcripts), a more probable intron in its place, reads, transcripts
  transcripts.tsv    of GFF3, GTF and BED12: introns, doubtful ones, the least probable one
  NAME               FILE again, with the attribute intron_probability: of genes in the row of each
                     transcript, its introns in reading direction; BED and SJ.out.tab have no
                     attributes, and are written with --min-probability

An end without the letters of a site (GT or GC, AG, or those of U12-type introns if the organism
has them) has probability 0. An intron whose windows are not all on the contig has a dot; it stays
in the file, and so do rows on contigs that the genome lacks. The worst introns come first by sort
-k9,9g introns.tsv. If the genome was given to seqmtl annotate, give the model that it has
written. BED12 in which all rows have two blocks is one of splice junctions (regtools).
"""

from __future__ import annotations

import itertools
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from seqmtl.commands import _kinds, _options
from seqmtl.commands._request import Document, option, python_function, required
from seqmtl.exceptions import SeqmtlError, UsageError
from seqmtl.files.streams import check_regular
from seqmtl.files.write import check_outputs, output_folder, write_lines

if TYPE_CHECKING:
    from seqmtl.io.junctions import IntronChain
    from seqmtl.scanning.predictor import Predictor
    from seqmtl.splicing.judging import JudgedChain

logger = logging.getLogger("seqmtl")

_BATCH = 1 << 16  # lines that are compressed at a time
_TABLE, _TRANSCRIPTS = "introns.tsv", "transcripts.tsv"
_COLUMNS = (
    *("contig", "first", "last", "strand", "letters", "length"),
    *("donor_log_odds", "acceptor_log_odds", "probability", "alternative"),
    *("reads", "transcripts"),
)
_TRANSCRIPT_COLUMNS = (
    *("transcript", "gene", "contig", "strand", "introns", "doubtful"),
    *("lowest_probability", "least_probable_intron"),
)


class _Intron(NamedTuple):
    """An intron of one or several chains, and its highest probability among them."""

    letters: str
    log_odds: list[float]
    probability: float
    alternative: tuple[int, int] | None
    reads: int | None
    transcripts: list[str]

    @property
    def lacks_letters(self) -> bool:
        """Whether an end lacks the letters of a site."""
        return self.probability == 0 and any(value != value for value in self.log_odds)


#: Introns by contig, start, end and strand.
_Introns: TypeAlias = dict[tuple[str, int, int, str], _Intron]


@dataclass(frozen=True, kw_only=True)
class Introns(_options.Relatives):
    """Judge given introns: how probable both ends of each are, by a paired model."""

    model: str = _options.model_file("model file of seqmtl pair, such as starter:splice")
    genome: str = required("genome: plain, gzip or bgzip", metavar="FASTA", is_positional=True)
    introns: str = required(
        "introns: GFF3, GTF, BED12, BED6, SJ.out.tab or hints (GFF)",
        metavar="FILE",
        is_positional=True,
    )
    output: str = required("-o", "folder to write", metavar="FOLDER", affects_output=False)
    organism: str | None = option(
        "organism whose model to use (default: the only one)", metavar="NAME"
    )
    min_probability: float | None = option(
        "leave out rows with an intron of less (not of GFF3 or GTF of genes)",
        metavar="P",
        kind=_kinds.probability,
    )

    def run(self) -> Document:
        """Judge the introns.

        Returns
        -------
        dict
            The organism, and numbers of introns.
        """
        from seqmtl.io.intron_chains import read_intron_chains
        from seqmtl.loading import load_site_model
        from seqmtl.scanning.predictor import NOT_OF_INTRONS

        check_regular(self.genome, "genome")
        check_regular(self.introns, "introns")
        predictor = load_site_model(self.model).predictor(
            self.organism, like=self.like, genome=self.genome
        )
        if not predictor.has_introns:
            raise UsageError(NOT_OF_INTRONS)
        chains, kind = read_intron_chains(self.introns)
        if self.min_probability is not None and kind == "genes":
            raise UsageError(
                "is for rows of introns (BED, SJ.out.tab, hints); of genes, transcripts.tsv has "
                "the least probable intron of each transcript: leave it out",
                "min_probability",
            )
        paths = [
            os.path.join(self.output, name)
            for name in (_TABLE, _TRANSCRIPTS, os.path.basename(self.introns))
        ]
        with output_folder(self.output):
            inputs = [self.model, self.genome, self.introns]
            check_outputs(inputs, paths)
            judged = _judge(predictor, self.genome, self.introns, chains)
            introns = _by_intron(judged)
            _check_letters(introns, self.introns, self.genome)
            self._write(paths, kind, judged, introns)
        counts = _counts(self.introns, introns, n_given=len(_distinct(chains)))
        return {"organism": predictor.organism, **counts}

    def _write(
        self,
        paths: Sequence[str],
        kind: str,
        judged: list[JudgedChain],
        introns: _Introns,
    ) -> None:
        """Write the tables, and the file again."""
        table, transcripts, copy = paths
        write_lines(table, _table(introns))
        if any(one.chain.transcript for one in judged):
            write_lines(transcripts, _transcript_table(judged))
        else:
            with suppress(FileNotFoundError):  # of an earlier run
                os.unlink(transcripts)
        if kind != "rows" or self.min_probability is not None:
            self._write_copy(copy, kind, judged, introns)

    def _write_copy(
        self,
        path: str,
        kind: str,
        judged: list[JudgedChain],
        introns: _Introns,
    ) -> None:
        """Write the file again, with the probabilities of its introns."""
        from seqmtl.files.bgzip import open_packed, packer
        from seqmtl.io.intron_chains import introns_with_probabilities, lines_with_probabilities

        if kind == "genes":
            lines = lines_with_probabilities(
                self.introns, ((one.chain, one.texts()) for one in judged)
            )
        else:
            probabilities = {key: one.probability for key, one in introns.items()}
            for (contig, start, end, _), one in introns.items():
                key = contig, start, end, "."  # the higher one of both strands
                probabilities[key] = max(one.probability, probabilities.get(key, 0.0))
            lines = introns_with_probabilities(
                self.introns,
                probabilities,
                self.min_probability or 0.0,
                are_hints=kind == "hints",
            )
        with open_packed(path) as stream:
            while batch := b"".join(itertools.islice(lines, _BATCH)):
                stream.write(packer(path)(batch))


def _judge(
    predictor: Predictor, genome: str, path: str, chains: Iterable[IntronChain]
) -> list[JudgedChain]:
    """Judge the introns on the contigs of a genome, and warn of others."""
    from seqmtl.io.genome import contig_lengths, read_contigs
    from seqmtl.sequences.genome import unknown_contig

    lengths = contig_lengths(genome)
    chains_of: dict[str, list[IntronChain]] = {}
    for chain in chains:
        if chain.introns:
            chains_of.setdefault(chain.contig, []).append(chain)
    missing = [name for name in chains_of if name not in lengths]
    if len(missing) == len(chains_of):
        if not chains_of:
            raise SeqmtlError(
                f"{path}: no transcript has an intron; check that it is the right file"
            )
        raise SeqmtlError(f"{path}, {genome}: {unknown_contig(missing, list(lengths))}")
    if missing:
        n = sum(len(_distinct(chains_of.pop(name))) for name in missing)
        logger.warning(
            "%s: %d introns are left out, on %d contigs that %s lacks (such as %s)",
            path,
            n,
            len(missing),
            genome,
            missing[0],
        )
    for name, of_contig in chains_of.items():
        last = max(chain.introns[-1][1] for chain in of_contig)
        if last > lengths[name]:
            raise SeqmtlError(
                f"{path}: an intron ends at base {last:,} of {name}, which has {lengths[name]:,} "
                f"in {genome}; check that it is the right genome"
            )
    return [
        judged
        for contig in read_contigs(genome, only={*chains_of})
        if contig.name in chains_of
        for judged in predictor.judge(contig, chains_of[contig.name])
    ]


def _check_letters(introns: _Introns, path: str, genome: str) -> None:
    """Check that introns are those of the genome.

    Raises
    ------
    SeqmtlError
        If most have an end without the letters of a site.
    """
    n = sum(one.lacks_letters for one in introns.values())
    if 2 * n > len(introns):
        raise SeqmtlError(
            f"{path}: {n:,} of {len(introns):,} introns have an end without the letters of a site; "
            f"check that it is made for {genome}, and that its coordinates are those of its format"
        )


def _distinct(chains: Iterable[IntronChain]) -> set[tuple[str, int, int, str]]:
    """Return the introns of chains, each once."""
    return {(one.contig, *intron, one.strand) for one in chains for intron in one.introns}


def _by_intron(judged: Iterable[JudgedChain]) -> _Introns:
    """Return the introns, each once with its highest probability, by contig and position."""
    introns: _Introns = {}
    for one in judged:
        chain = one.chain
        for bounds, letters, log_odds, p, alternative in zip(
            chain.introns,
            one.letters,
            one.log_odds.tolist(),
            one.probabilities.tolist(),
            one.alternatives,
            strict=True,
        ):
            key = (chain.contig, *bounds, chain.strand)
            known = introns.get(key)
            names = [*(known.transcripts if known else []), *filter(None, [chain.transcript])]
            if known is not None and not p > known.probability:
                p, alternative = known.probability, known.alternative
            reads = chain.reads
            if known is not None and known.reads is not None:
                reads = (reads or 0) + known.reads  # of the same intron without a strand
            introns[key] = _Intron(letters, log_odds, p, alternative, reads, names)
    return introns


def _table(introns: _Introns) -> Iterator[str]:
    """Yield the lines of the table of introns."""
    from seqmtl.io.intron_chains import probability_text

    yield "\t".join(_COLUMNS) + "\n"
    for (contig, start, end, strand), one in introns.items():
        fields = [
            *(contig, str(start + 1), str(end), strand, one.letters, str(end - start)),
            *(f"{value:.3f}" if value == value else "." for value in one.log_odds),
            probability_text(one.probability),
            f"{one.alternative[0] + 1}-{one.alternative[1]}" if one.alternative else ".",
            "." if one.reads is None else str(one.reads),
            ",".join(one.transcripts) or ".",
        ]
        yield "\t".join(fields) + "\n"


def _transcript_table(judged: Iterable[JudgedChain]) -> Iterator[str]:
    """Yield the lines of the table of transcripts."""
    from seqmtl.io.intron_chains import probability_text
    from seqmtl.splicing.judging import DOUBTFUL

    yield "\t".join(_TRANSCRIPT_COLUMNS) + "\n"
    for one in judged:
        chain, p = one.chain, one.probabilities.tolist()
        lowest = min(range(len(p)), key=lambda k: p[k] if p[k] == p[k] else 2.0)
        start, end = chain.introns[lowest]
        fields = [
            *(chain.transcript, chain.gene, chain.contig, chain.strand, str(len(p))),
            str(sum(value < DOUBTFUL for value in p)),
            probability_text(p[lowest]),
            f"{start + 1}-{end}" if p[lowest] == p[lowest] else ".",
        ]
        yield "\t".join(fields) + "\n"


def _counts(path: str, introns: _Introns, n_given: int) -> Document:
    """Log and return how many introns are doubtful."""
    from seqmtl.splicing.judging import DOUBTFUL

    p = [one.probability for one in introns.values()]
    n_doubtful = sum(value < DOUBTFUL for value in p)
    n_letters = sum(one.lacks_letters for one in introns.values())
    n_unjudged = sum(value != value for value in p)
    n_judged = len(p) - n_unjudged
    logger.info(
        "%s: %s introns, %s (%.1f %%) of them doubtful (p < %g), %d without the letters of a site, "
        "as those of tRNAs",
        path,
        f"{len(p):,}",
        f"{n_doubtful:,}",
        100 * n_doubtful / max(1, n_judged),
        DOUBTFUL,
        n_letters,
    )
    if n_unjudged:
        logger.warning("%d introns are not judged: too near to the end of a contig", n_unjudged)
    return {
        "introns": n_given,
        "judged": n_judged,
        "doubtful": n_doubtful,
        "without_letters": n_letters,
        "at_contig_ends": n_unjudged,
    }


introns = python_function(Introns)
