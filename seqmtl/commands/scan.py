"""``seqmtl scan``: find signals in a genome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from seqmtl._checks import check_choice
from seqmtl.commands import _kinds, _options
from seqmtl.commands._command import Command
from seqmtl.commands._request import option, python_function, required

_WHICH = "which sites"


def format_name(value: Any) -> str:
    """Take the name of a format, in any case."""
    from seqmtl.scanning.writers.formats import FORMATS

    name = str(value).lower()
    check_choice("", name if name in FORMATS else value, FORMATS)
    return name


@dataclass(frozen=True, kw_only=True)
class Scan(_options.Relatives, _options.Threads):
    """Score every candidate site of a genome, on both strands."""

    model: str = _options.model_file(_options.STARTER_OR_FILE)
    genome: str = required(
        "genome: plain, gzip or bgzip; - for stdin", metavar="FASTA", is_positional=True
    )
    output: str = required(
        "-o", "file to write; - for standard output", metavar="OUT", affects_output=False
    )
    format: str | None = option(
        "bigwig, bedgraph, bed, gff3, spsc (splice scores for minimap2 and miniprot), hints "
        "(for AUGUSTUS); of a model of seqmtl pair also introns (BED12, or GFF3 if OUT ends in "
        ".gff3), or all (OUT.introns.gff3, OUT.donor.bed.gz, OUT.donor.plus.bw and so on); "
        "default: by suffix: .bw .bigwig, .bedgraph .bg, .bed, .gff3 .gff, .spsc .tsv, "
        ".hints, text formats also .gz; none: BED",
        metavar="FORMAT",
        kind=format_name,
    )
    organism: str | None = option(
        "organism whose model to use; all writes one file per organism (default: the only one)",
        metavar="NAME",
    )
    track_value: str | None = option(
        "value in bedGraph and bigWig (default: the probability if the model is calibrated for "
        "the organism or of seqmtl pair, else the raw score)",
        choices=("score", "probability"),
    )
    consensus: str | None = option(
        "report only sites with these letters, such as AG or GT,GC; any for every position "
        "(default: the letters that all training windows share, if any)",
        metavar="LETTERS",
        group=_WHICH,
    )
    strand: str = option(
        "strands to scan (default: both; bigWig then writes OUT.plus.bw and OUT.minus.bw)",
        choices=("both", "+", "-"),
        default="both",
        group=_WHICH,
    )
    contigs: str | None = option(
        "scan only these contigs; @FILE lists one per line", metavar="NAME,...", group=_WHICH
    )
    regions: str | None = option(
        "report only sites whose interval starts in a region", metavar="BED", group=_WHICH
    )
    softmask: str = option(
        "skip: omit sites that overlap lower-case letters (default: ignore case)",
        choices=("ignore", "skip"),
        default="ignore",
        group=_WHICH,
    )
    threshold: float | None = option(
        "minimum raw score", metavar="X", kind=_kinds.finite_float, group=_WHICH
    )
    min_probability: float | None = option(
        "minimum probability; calibrate the model first, as otherwise probabilities assume the "
        "share of true sites among the training windows",
        metavar="P",
        kind=_kinds.probability,
        group=_WHICH,
    )
    top: int | None = option(
        "at most the N best sites per megabase of a contig, or part of one, over both strands; "
        "with --format introns the N best of all, best first",
        group=_WHICH,
    )
    json: str | None = _options.summary_file("write a summary; - for standard output")

    def run(self) -> list[dict[str, Any]]:
        """Scan, and write the sites.

        Returns
        -------
        list of dict
            For every organism its name, files, counts and seconds, as ``json`` has them.
        """
        from seqmtl.commands._scan import scan_genome

        return scan_genome(self)


_TEXT = """\
  seqmtl scan starter:donor mosquito.fa.gz --like Diptera --top 200 -o donors.bed.gz
  seqmtl scan splice.seqmtl worm.fa --organism worm -o worm.bw     # worm.plus.bw, worm.minus.bw
  seqmtl scan splice.seqmtl worm.fa.gz --organism worm --min-probability 0.5 -o sites.gff3
  seqmtl scan splice.seqmtl worm.fa --organism all --top 500 -o ag.bed.gz    # ag.NAME.bed.gz each
  seqmtl scan starter:splice worm.fa.gz --organism c_elegans --format introns -o introns.bed
  seqmtl scan donor.seqmtl worm.fa --organism worm --min-probability 0.1 -o donor.hints
  seqmtl scan donor.seqmtl worm.fa --organism worm -o donor.spsc
  cat donor.spsc acceptor.spsc > both.tsv; minimap2 -cx splice:hq --spsc=both.tsv worm.fa rna.fa

sites: if all training windows have the same letters at the site (GT of donors, AG of acceptors),
only sites with these letters are reported: the model was trained on no others, so its scores are
meaningless elsewhere. --consensus any reports every position. Output is sorted by contig (in FASTA
order), start and strand.

coordinates: 0-based half-open on the forward strand (GFF3: 1-based closed). A BED or GFF3 record is
the site itself: the AG of an acceptor, or the base at offset window // 2 if the training windows
share no two letters. bedGraph and bigWig put the value at the first base of that interval; bedGraph
takes the larger value of both strands. Files ending in .gz are bgzipped and indexed (.tbi).

A model of seqmtl pair reports donors and acceptors, with probabilities given their partners, in
OUT.donor.bed and OUT.acceptor.bed (and OUT.start.bed and so on, with pair --boundary-model), or in
one file for spsc; the score is the log-odds of the probability. --format introns writes introns of
at least --min-probability (default: 0.1), with the probabilities of the intron, its donor and its
acceptor. Filters affect only what is written: the model uses all candidates. An intron is in a
region if it starts there, and soft-masked if one of its sites is."""

COMMAND = Command(Scan, "score every candidate site of a genome, both strands", _TEXT)

scan = python_function(Scan)
