"""The options of a scan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from seqmtl import _kinds
from seqmtl._checks import check_choice
from seqmtl.request import option, required
from seqmtl.verbs import _options

_WHICH = "which sites"


def format_name(value: Any) -> str:
    """Take the name of a format, in any case."""
    from seqmtl.scan.writers import FORMATS

    name = str(value).lower()
    try:
        check_choice("", name if name in FORMATS else value, FORMATS)
    except ValueError as error:
        raise ValueError(str(error).lstrip()) from None
    return name


@dataclass(frozen=True, kw_only=True)
class ScanOptions(_options.Relatives, _options.Threads):
    """What is scanned, which sites are reported, and how."""

    model: str = _options.model_file(_options.STARTER_OR_FILE)
    genome: str | None = option(
        is_positional=True, metavar="FASTA", help="genome: plain, gzip or bgzip; - for stdin"
    )
    more: tuple[str, ...] = option(
        is_positional=True, is_repeated=True, default=(), help="further models, for --genomes"
    )
    output: str = required(
        "-o", metavar="OUT", role="how", help="file to write; - for standard output"
    )
    genomes: str | None = option(
        metavar="TABLE",
        role="how",
        help="scan the genomes of a table instead of FASTA (see below); OUT is then a folder",
    )
    format: str | None = option(
        kind=format_name,
        metavar="FORMAT",
        help="bigwig, bedgraph, bed, gff3, spsc (splice scores for minimap2 and miniprot), "
        "hints (for AUGUSTUS), or introns (of a model of seqmtl pair: BED12, or GFF3 if OUT ends "
        "in .gff3); default: by suffix: .bw .bigwig, .bedgraph .bg, .bed, .gff3 .gff, .spsc .tsv, "
        ".hints, text formats also .gz; none: BED",
    )
    organism: str | None = option(
        metavar="NAME",
        help="organism whose model to use; all writes one file per organism (default: the only "
        "one)",
    )
    value: str | None = option(
        choices=("score", "probability"),
        help="value in bedGraph and bigWig (default: the probability if the model is calibrated "
        "for the organism or of seqmtl pair, else the raw score)",
    )
    consensus: str | None = option(
        metavar="LETTERS",
        group=_WHICH,
        help="report only sites with these letters, such as AG or GT,GC; any for every position "
        "(default: the letters that all training windows share, if any)",
    )
    strand: str = option(
        choices=("both", "+", "-"),
        default="both",
        group=_WHICH,
        help="strands to scan (default: both; bigWig then writes OUT.plus.bw and OUT.minus.bw)",
    )
    contigs: str | None = option(
        metavar="NAME,...", group=_WHICH, help="scan only these contigs; @FILE lists one per line"
    )
    regions: str | None = option(
        metavar="BED", group=_WHICH, help="report only sites whose interval starts in a region"
    )
    softmask: str = option(
        choices=("ignore", "skip"),
        default="ignore",
        group=_WHICH,
        help="skip: omit sites that overlap lower-case letters (default: ignore case)",
    )
    threshold: float | None = option(
        kind=_kinds.finite_float, metavar="X", group=_WHICH, help="minimum raw score"
    )
    min_probability: float | None = option(
        kind=_kinds.finite_float,
        metavar="P",
        group=_WHICH,
        help="minimum probability; calibrate the model first, as otherwise probabilities assume "
        "the share of true sites among the training windows",
    )
    top: int | None = option(
        kind=_kinds.positive_int,
        metavar="N",
        group=_WHICH,
        help="at most the N best sites per megabase of a contig, or part of one, over both "
        "strands; with --format introns the N best of all, best first",
    )
    resume: bool = option(
        default=False,
        role="how",
        help="resume an interrupted scan (same model, genome and options)",
    )
    json: str | None = _options.summary_file("write a summary; - for standard output")
    dask: str | None = _options.dask("scan the genomes of --genomes, or parts of one,")
