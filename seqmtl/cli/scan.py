"""``seqmtl scan``: find signals in a genome."""

from __future__ import annotations

import argparse
from typing import Any

from seqmtl.cli import _options
from seqmtl.cli._scoring import add_relatives
from seqmtl.exceptions import SeqmtlError

_EXAMPLES = """\
  seqmtl scan starter:donor mosquito.fa.gz --like Diptera --top 200 -o donors.bed.gz
  seqmtl scan splice.seqmtl worm.fa --organism worm -o worm.bw     # worm.plus.bw, worm.minus.bw
  seqmtl scan splice.seqmtl worm.fa.gz --organism worm --min-probability 0.5 -o sites.gff3
  seqmtl scan splice.seqmtl worm.fa --organism all --top 500 -o ag.bed.gz    # ag.NAME.bed.gz each
  seqmtl scan pair.seqmtl worm.fa --organism worm --format introns -o introns.bed
  seqmtl scan donor.seqmtl worm.fa --organism worm --min-probability 0.1 -o donor.hints
  seqmtl scan donor.seqmtl acceptor.seqmtl --genomes genomes.tsv --dask local:4 -o scans
  seqmtl scan donor.seqmtl worm.fa --organism worm -o donor.spsc
  cat donor.spsc acceptor.spsc > both.tsv; minimap2 -cx splice:hq --spsc=both.tsv worm.fa rna.fa

sites: if all training windows have the same letters at the site (GT of donors, AG of acceptors),
only sites with these letters are reported, because the model has seen no others and its scores are
meaningless elsewhere. --consensus any reports every position. Output is sorted by contig (in FASTA
order), start and strand.

coordinates: 0-based half-open on the forward strand (GFF3: 1-based closed). A BED or GFF3 record is
the site itself: the AG of an acceptor, or the base at offset window // 2 if the training windows
share no two letters. bedGraph and bigWig put the value at the first base of that interval; bedGraph
takes the larger value of both strands. Files ending in .gz are bgzipped and indexed (.tbi).

A model of seqmtl pair reports donors and acceptors, with probabilities given their partners: as
OUT.donor.bed and OUT.acceptor.bed, or in one file for spsc; the score is the log-odds of the
probability. --format introns writes the introns of at least --min-probability (default: .1), with
the probabilities of the intron, its donor and its acceptor. Filters choose what is written: the
model sees all candidates. An intron is in a region if it starts there, and soft-masked if one of
its sites is.

An interrupted scan leaves OUT.partial and a journal; repeat the command with --resume to go on.

--genomes TABLE scans many genomes with every MODEL that is named: DIR/NAME.bed.gz (or the suffix of
--format; with several models NAME.MODEL), as the command for one genome writes it, and its summary
DIR/NAME.json. TABLE is tab-separated, with the columns genome (a file, relative to TABLE) and any
of organism and like (in the place of --organism and --like), name (default: that of the file) and
model (a file, relative to TABLE, in the place of MODEL). Repeat the command to go on after an
interruption: a scan that is complete, of the same files and options, is not done again."""


def add_parser(subparsers: _options.Subparsers) -> None:
    """Add the command."""
    parser = _options.new_command(
        subparsers, "scan", run, "score every candidate site of a genome, both strands", _EXAMPLES
    )
    parser.add_argument(
        "model", metavar="MODEL", help="model file, starter:donor or starter:acceptor"
    )
    parser.add_argument("genome", metavar="FASTA", help="genome: plain, gzip or bgzip; - for stdin")
    parser.add_argument("more", nargs="*", default=[], help=argparse.SUPPRESS)
    parser.add_argument(
        "-o", "--output", required=True, metavar="OUT", help="file to write; - for standard output"
    )
    parser.add_argument(
        "--genomes", action=_ManyGenomes, metavar="TABLE",
        help="scan the genomes of a table instead of FASTA (see below); OUT is then a folder",
    )  # fmt: skip
    parser.add_argument(
        "--format", type=_format, dest="file_format", metavar="FORMAT",
        help="bigwig, bedgraph, bed, gff3, spsc (splice scores for minimap2 and miniprot), "
        "hints (for AUGUSTUS), or introns (of a model of seqmtl pair: BED12, or GFF3 if OUT ends "
        "in .gff3); default: by suffix: .bw .bigwig, .bedgraph .bg, .bed, .gff3 .gff, .spsc .tsv, "
        ".hints, text formats also .gz; none: BED",
    )  # fmt: skip
    parser.add_argument(
        "--organism", metavar="NAME",
        help="organism whose model to use; all writes one file per organism (default: the only "
        "one)",
    )  # fmt: skip
    parser.add_argument(
        "--value", choices=("score", "probability"),
        help="value in bedGraph and bigWig (default: the probability if the model is calibrated "
        "for the organism or of seqmtl pair, else the raw score)",
    )  # fmt: skip
    _add_what(parser)
    add_relatives(parser)
    parser.add_argument(
        "--resume", action="store_true",
        help="resume an interrupted scan (same model, genome and options)",
    )  # fmt: skip
    parser.add_argument("--json", metavar="FILE", help="write a summary; - for standard output")
    _options.add_threads(parser)
    _options.add_dask(parser, "scan the genomes of --genomes, or parts of one,")


class _ManyGenomes(argparse.Action):
    """Take what is in the place of FASTA for another model, which may be missing."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, *values: Any) -> None:
        namespace.genomes = values[0]
        for action in parser._actions:
            action.required &= action.dest != "genome"


def _add_what(parser: argparse.ArgumentParser) -> None:
    """Add the options that filter the reported sites."""
    what = parser.add_argument_group("which sites")
    what.add_argument(
        "--consensus", metavar="LETTERS",
        help="report only sites with these letters, such as AG or GT,GC; any for every position "
        "(default: the letters that all training windows share, if any)",
    )  # fmt: skip
    what.add_argument(
        "--strand", choices=("both", "+", "-"), default="both",
        help="strands to scan (default: both; bigWig then writes OUT.plus.bw and OUT.minus.bw)",
    )  # fmt: skip
    what.add_argument(
        "--contigs", metavar="NAME,...", help="scan only these contigs; @FILE lists one per line"
    )
    what.add_argument(
        "--regions", metavar="BED", help="report only sites whose interval starts in a region"
    )
    what.add_argument(
        "--softmask", choices=("ignore", "skip"), default="ignore",
        help="skip: omit sites that overlap lower-case letters (default: ignore case)",
    )  # fmt: skip
    what.add_argument(
        "--threshold", type=_options.finite_float, metavar="X", help="minimum raw score"
    )
    what.add_argument(
        "--min-probability", type=float, metavar="P",
        help="minimum probability; calibrate the model first, as otherwise probabilities assume "
        "the share of true sites among the training windows",
    )  # fmt: skip
    what.add_argument(
        "--top", type=_options.positive_int, metavar="N",
        help="at most the N best sites per megabase of a contig, or part of one, over both "
        "strands; with --format introns the N best of all, best first",
    )  # fmt: skip


def _format(text: str) -> str:
    """Parse the name of a format."""
    from seqmtl._checks import check_choice
    from seqmtl.scan.writers import FORMATS

    try:
        check_choice("FORMAT", text, FORMATS)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from seqmtl.cli._scan_genomes import scan_genomes
    from seqmtl.cli._scan_single import scan_single

    if args.genomes is not None:
        return scan_genomes(args)
    if args.more:
        raise SeqmtlError("several models are for many genomes; give --genomes TABLE")
    return scan_single(args)
