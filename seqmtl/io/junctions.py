"""Splice junctions of aligned reads: STAR's SJ.out.tab, BED12, BED6, and hints of introns."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import PathLike, source_name
from seqmtl.io.transcripts import Segment, read_blocks
from seqmtl.io.tsv import Row, as_number, is_coordinate, read_rows

logger = logging.getLogger(__name__)

_GFF = _STAR = 9
_BED12 = 12
_BED6 = 6
_STRANDS = ("+", "-", ".", "?")
_STAR_STRANDS = {"0": ".", "1": "+", "2": "-"}
_STAR_MOTIFS = {str(motif) for motif in range(7)}
_REMEDIES = {
    3: "this looks like the list of an early STAR: give the SJ.out.tab of STAR 2",
    4: "this looks like the list of an early STAR or of HISAT2: give the SJ.out.tab of STAR 2, or "
    "the BED12 of regtools",
}
_MIN_SAM_COLUMNS = 11
_SAM_HEADER = re.compile("@(?:HD|SQ|RG|PG|CO)")
_CIGAR = re.compile(r"(?:\d+[MIDNSHP=X])+")
_MAX_MINIMAP2_SCORE = 6  # its score of the letters of an intron
_HINT = re.compile(r"(?:^|;)\s*(?:src|source|mult|pri|grp|group|al_score)=")
_OF_GENE = re.compile(r"(?i)(?:^|;)\s*(?:id\s*=|parent\s*=|transcript_id|gene_id)")
_MULT = re.compile(r"(?:^|;)\s*mult=(\d{1,18})(?!\d)")

#: Contig, start, end and strand.
Intron = tuple[str, int, int, str]


class IntronChain(NamedTuple):
    """The introns of a transcript, or a single one.

    Attributes
    ----------
    contig : str
        Contig.
    strand : str
        ``+``, ``-``, or ``.`` if the file does not say.
    introns : tuple of (int, int)
        By position on the forward strand, 0-based half-open.
    transcript, gene : str
        Names, or empty.
    reads : int or None
        Number of reads.
    line : int
        1-based line of the row of its transcript, its first exon, or its first row.
    """

    contig: str
    strand: str
    introns: tuple[Segment, ...]
    transcript: str = ""
    gene: str = ""
    reads: int | None = None
    line: int = 0

    @property
    def start(self) -> int:
        """First base of the first intron."""
        return self.introns[0][0]

    @property
    def end(self) -> int:
        """End of the last intron (exclusive)."""
        return self.introns[-1][1]


def is_gff(fields: Sequence[str]) -> bool:
    """Return whether a row is GFF3, GTF or the like, not STAR's or BED.

    It has more than nine columns if there are tabs among its attributes, or columns after them.
    """
    if len(fields) < _GFF or (is_coordinate(fields[1]) and is_coordinate(fields[2])):
        return False
    return len(fields) == _GFF or fields[6] in _STRANDS


def is_hint(fields: Sequence[str]) -> bool:
    """Return whether a row of GFF is a hint of AUGUSTUS, BRAKER or GeneMark, not of a gene.

    ProtHint writes ``al_score=``, its scripts introns of which the last column says nothing.
    """
    attributes = fields[8].strip()
    return not _OF_GENE.search(attributes) and (is_intron(fields) or bool(_HINT.search(attributes)))


def is_intron(fields: Sequence[str]) -> bool:
    """Return whether a row of GFF is an intron."""
    return fields[2].lower() == "intron"


def read_junctions(path: PathLike) -> list[IntronChain]:
    """Read splice junctions; the format is detected from the columns.

    ========  ======================================================================================
    9         ``SJ.out.tab`` of STAR 2: the reads are those that map uniquely (column 7); or GFF of
              introns, such as hints as AUGUSTUS, BRAKER, ProtHint and GeneMark take them: the
              reads are ``mult=``, or else column 6 if it is whole
    12, more  BED12. If every row has two blocks, a row is a junction between them, and its score is
              the number of reads (regtools, TopHat, portcullis); otherwise a row is one spliced
              alignment (``paftools.js splice2bed``), which counts as one read
    6         BED6 of introns. If the scores are different whole numbers, they are numbers of reads
              (leafcutter), unless all rows of an intron have the same one, of 6 or less, and names:
              these are as ``minimap2 --write-junc`` writes them, a row for each read
    ========  ======================================================================================

    Reads of equal junctions are summed, so that the files of several samples may be concatenated.

    Parameters
    ----------
    path : path-like
        Plain, gzip or bgzip file, or ``"-"`` for standard input.

    Returns
    -------
    list of IntronChain
        Introns one by one, with their reads, in the order of the file.

    Raises
    ------
    InputFormatError
        If the file has another format, a row is invalid (with its line), or it has no junction.
    """
    counts: dict[Intron, list[int]] = {}  # reads of the file, rows, first line
    rows = _Rows()
    for row, introns, reads in rows.read(path):
        for key in introns:
            totals = counts.setdefault(key, [0, 0, row.line])
            totals[0] += reads
            totals[1] += 1
    if not counts:
        raise InputFormatError(
            f"a file of splice junctions must have some, but its {rows.n_rows:,} rows have none; "
            "check how it was written",
            path=source_name(path),
        )
    by_row = rows.n_columns != _STAR and not rows.scores_are_reads()
    counted = "rows" if by_row else "those of the file"
    logger.info("%s: %s, %d junctions; reads are %s", path, rows.kind, len(counts), counted)
    return [
        IntronChain(contig, strand, ((start, end),), reads=n_rows if by_row else reads, line=line)
        for (contig, start, end, strand), (reads, n_rows, line) in counts.items()
    ]


def introns_by_line(path: PathLike) -> dict[int, list[Intron]]:
    """Return the introns of each row of a file of splice junctions, by its 1-based line.

    See :func:`read_junctions` for the formats, and the errors.
    """
    return {row.line: introns for row, introns, _ in _Rows().read(path)}


class _Rows:
    """The rows of a file of junctions, and what they show of its format.

    Attributes
    ----------
    n_rows, n_columns : int
        Rows, and their columns.
    is_hints : bool
        Whether they are hints.
    """

    def __init__(self) -> None:
        self.n_rows = self.n_columns = 0
        self.is_hints = False
        # Of BED: whether all scores are whole, and all rows junctions; the first fraction; whether
        # some rows have names; the score of each intron, and whether its rows disagree.
        self._are_whole = self._are_junctions = True
        self._fraction: Row | None = None
        self._has_names = self._disagree = False
        self._scores: dict[Intron, int] = {}

    @property
    def kind(self) -> str:
        """Name of the format."""
        if self.n_columns != _STAR:
            return f"BED{self.n_columns}"
        return "hints" if self.is_hints else "STAR"

    def read(self, path: PathLike) -> Iterator[tuple[Row, list[Intron], int]]:
        """Yield each row with its introns and its reads."""
        for row in read_rows(path):
            self.n_rows += 1
            self.n_columns = _check_columns(row, self.n_columns)
            if self.n_rows == 1:
                self.is_hints = is_gff(row.fields) and (
                    is_hint(row.fields) or is_intron(row.fields)
                )
            if self.n_columns != _STAR:
                introns = _of_bed(row)
                yield row, introns, self._score(row, introns)
            else:
                yield row, *(_of_hint(row) if self.is_hints else _of_star(row))

    def _score(self, row: Row, introns: list[Intron]) -> int:
        """Return the score of a junction, 0 if it is not a whole number, or an alignment."""
        if len(introns) != 1:
            self._are_junctions = False
            return 0
        self._has_names |= row.fields[3] != "."
        text = row.fields[4]
        number = row.integer(4) if text.isdigit() else as_number(text)
        if not (number >= 0 and number % 1 == 0):
            self._are_whole = False
            if number % 1 != 0 and number == number:
                self._fraction = self._fraction or row
            return 0
        score = int(number)
        self._disagree |= self._scores.setdefault(introns[0], score) != score
        return score

    def scores_are_reads(self) -> bool:
        """Return whether the scores of BED are numbers of reads.

        Raises
        ------
        InputFormatError
            If they are fractions.
        """
        if self._fraction is not None and (self._are_junctions or self.n_columns == _BED6):
            self._fraction.refuse(
                "scores of junctions must be numbers of reads (whole), got "
                f"{self._fraction.fields[4][:30]!r}; put the numbers of reads there, or 0 in all "
                "rows if each is a read"
            )
        if self.n_columns == _BED12:
            return self._are_whole and self._are_junctions
        values = {*self._scores.values()}
        is_small = max(values, default=0) <= _MAX_MINIMAP2_SCORE
        is_of_letters = self._has_names and not self._disagree and is_small
        return self._are_whole and (self._disagree or len(values) > 1) and not is_of_letters


def _check_columns(row: Row, expected: int) -> int:
    """Return the number of columns, that of a format and the same in all rows; 12 is 12 or more."""
    if not expected and _are_alignments(row.fields):
        row.refuse(
            "junctions must be introns, but these are alignments of reads (SAM or PAF); make "
            "junctions of them with regtools, or BED12 with paftools.js splice2bed"
        )
    n = min(len(row.fields), _BED12)
    if n not in (_STAR, _BED12, _BED6):
        hint = _REMEDIES.get(n, "check how it was written")
        row.refuse(
            "junctions must have nine tab-separated columns (STAR's SJ.out.tab), twelve (BED12) "
            f"or six (BED6), got {n}; {hint}"
        )
    if expected and n != expected:
        row.refuse(f"all rows must have {expected} columns, got {n}; correct the line")
    return n


def _are_alignments(fields: Sequence[str]) -> bool:
    """Return whether the first row of a file is that of SAM or PAF."""
    if len(fields) < _MIN_SAM_COLUMNS:
        return bool(_SAM_HEADER.fullmatch(fields[0])) and len(fields) > 1
    return bool(_CIGAR.fullmatch(fields[5])) or fields[4] in ("+", "-")


def _of_star(row: Row) -> tuple[list[Intron], int]:
    """Return the intron of a row of SJ.out.tab, whose coordinates are 1-based closed, and reads."""
    first, _, strand, motif, annotated, unique = row.fields[1:7]
    if not (first.isdigit() and strand in _STAR_STRANDS and motif in _STAR_MOTIFS):
        remedy = "give the SJ.out.tab of STAR 2"
        if strand.isdigit() and unique in ("+", "-", ".", "?"):
            remedy = "this looks like GFF3 or GTF: name it annotation instead of junctions"
        columns = " ".join(row.fields[:6])[:60]
        row.refuse(
            "SJ.out.tab must have contig, first and last base of the intron, strand (0 to 2), "
            f"motif (0 to 6), got {columns!r}; {remedy}"
        )
    if annotated not in ("0", "1"):
        row.refuse(
            f"column 6 of SJ.out.tab (annotated) must be 0 or 1, got {annotated[:30]!r}; give the "
            "SJ.out.tab of STAR 2"
        )
    start, end = row.integer(1) - 1, row.integer(2)
    return [_intron(row, start, end, _STAR_STRANDS[strand])], row.integer(6)


def _of_hint(row: Row) -> tuple[list[Intron], int]:
    """Return the intron of a hint, whose coordinates are 1-based closed, and its reads.

    Hints of other kinds, such as those of exons, have none.
    """
    if not is_intron(row.fields):
        return [], 0
    start = row.integer(3) - 1
    end = row.integer(4)
    score = row.fields[5]
    mult = _MULT.search(row.fields[8])
    reads = int(mult[1]) if mult else int(score) if score.isdigit() and len(score) < 19 else 1
    return [_intron(row, start, end, row.strand(6, unknown=".?"))], max(1, reads)


def _of_bed(row: Row) -> list[Intron]:
    """Return the introns of a row of BED."""
    strand = row.strand(5, unknown=".?")
    if len(row.fields) == _BED6:
        return [_intron(row, row.integer(1), row.integer(2), strand)]
    blocks = pairwise(read_blocks(row))
    return [_intron(row, left[1], right[0], strand) for left, right in blocks]


def _intron(row: Row, start: int, end: int, strand: str) -> Intron:
    if not 0 < start < end:
        row.refuse(
            "an intron must begin after the first base of its contig and before its end, got "
            f"{start}-{end} (0-based); correct it"
        )
    return row.fields[0], start, end, strand
