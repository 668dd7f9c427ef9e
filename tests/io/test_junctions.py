"""Splice junctions of STAR, regtools and minimap2."""

import pytest

from seqmtl.exceptions import InputFormatError
from seqmtl.io.annotation import read_annotation
from seqmtl.io.junctions import read_junctions

STAR = "c1\t101\t200\t1\t1\t0\t7\t2\t30\n"
# the two blocks are the anchors of the reads; the intron lies between them
REGTOOLS = "c1\t80\t230\tJUNC00000001\t9\t-\t80\t230\t255,0,0\t2\t20,30\t0,120\n"
ALIGNED = "c1\t80\t400\tread1\t1000\t+\t80\t400\t0,128,255\t3\t20,30,40,\t0,120,280,\n"
UNSPLICED = "c1\t80\t90\tread2\t1000\t+\t80\t90\t0,128,255\t1\t10,\t0,\n"
BED6 = "c1\t100\t200\tread1\t0\t+\n"


def rows(junctions):
    return [(one.contig, one.start, one.end, one.strand, *one[-2:]) for one in junctions]


def test_star_is_1_based_closed_and_unique_reads_count(write):
    second = STAR.replace("101\t200\t1", "301\t400\t2")
    undefined = STAR.replace("101\t200\t1\t1", "501\t600\t0\t0")
    found = read_junctions(write(STAR + second + undefined))
    assert rows(found) == [
        ("c1", 100, 200, "+", 7, 1),
        ("c1", 300, 400, "-", 7, 2),
        ("c1", 500, 600, ".", 7, 3),
    ]


def test_reads_of_concatenated_samples_are_summed(write):
    assert rows(read_junctions(write(STAR + STAR))) == [("c1", 100, 200, "+", 14, 1)]
    assert rows(read_junctions(write(REGTOOLS + REGTOOLS))) == [("c1", 100, 200, "-", 18, 1)]


def test_bed12_of_two_blocks_has_reads_as_score_and_any_other_counts_rows(write):
    assert rows(read_junctions(write(REGTOOLS))) == [("c1", 100, 200, "-", 9, 1)]
    text = "track name=x\n" + ALIGNED + UNSPLICED + ALIGNED.replace("read1", "read3")
    assert rows(read_junctions(write(text))) == [
        ("c1", 100, 200, "+", 2, 2),
        ("c1", 230, 360, "+", 2, 2),
    ]
    # one alignment of three exons makes all rows alignments
    assert {junction.reads for junction in read_junctions(write(REGTOOLS + ALIGNED))} == {1}


def test_more_columns_than_twelve_are_those_of_bed12(write):
    text = REGTOOLS.replace("\n", "\tmore\n") + REGTOOLS
    assert rows(read_junctions(write(text))) == [("c1", 100, 200, "-", 18, 1)]


def _bed6(*scores, name="."):
    return "".join(f"c1\t{100 * k}\t{100 * k + 50}\t{name}\t{score}\t+\n" for k, score in scores)


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        # rows of an intron have different scores
        (_bed6((1, 5), (1, 7), (2, 4), name="JUNC1"), [12, 4]),
        (_bed6((1, 5), (1, 0), (2, 4), name="x"), [5, 4]),
        (_bed6((1, "5.0"), (1, "7.0"), (2, "4e1")), [12, 40]),
        # one is more than minimap2 gives
        (_bed6((1, 5), (2, 40), name="JUNC1"), [5, 40]),
        # minimap2 has names of reads, and one score for all rows of an intron
        (_bed6((1, 6), (1, 6), (2, 3), name="read1"), [2, 1]),
        (_bed6((1, 2), (2, 3)), [2, 3]),
        # the same score everywhere says nothing
        (_bed6((1, 1000), (1, 1000), (2, 1000)), [2, 1]),
        (_bed6((1, "."), (1, "."), (2, ".")), [2, 1]),
        (_bed6((1, 9), (1, "."), (2, 3)), [2, 1]),
    ],
)
def test_scores_of_bed6_are_reads_if_they_are_counts(write, text, reads):
    assert [junction.reads for junction in read_junctions(write(text))] == reads


HINT = "c1\tb2h\tintron\t101\t200\t{}\t{}\t.\t{}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HINT.format(5, "+", "mult=7;pri=4;src=E"), ("+", 7)),
        (HINT.format(0, "-", "src=P;grp=x"), ("-", 1)),
        (HINT.format(12, ".", "."), (".", 12)),
        (HINT.format(".", "?", "src=M"), (".", 1)),
        (HINT.format(0.9, "+", "src=P;mult=3"), ("+", 3)),
        (HINT.format(5, "+", "mult=7;src=E") + HINT.format(5, "+", "src=P"), ("+", 12)),
        (HINT.format(5, "+", "mult=7;src=E").replace("intron", "Intron"), ("+", 7)),
        (
            HINT.format(5, "+", "mult=7;src=E").replace("intron", "dss")
            + HINT.format(5, "+", "mult=3;src=E"),
            ("+", 3),
        ),
    ],
)
def test_hints_of_introns(write, text, expected):
    (junction,) = read_junctions(write(text))
    assert (junction.start, junction.end) == (100, 200)
    assert (junction.strand, junction.reads) == expected


def test_bed6_is_one_read_per_row(write):
    found = read_junctions(write(BED6 + BED6 + BED6.replace("+", ".")))
    assert rows(found) == [("c1", 100, 200, "+", 2, 1), ("c1", 100, 200, ".", 1, 3)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"data.txt: .* must have some, but its 0 rows have none; check how it was written"),
        (UNSPLICED, "its 1 rows have none"),
        (STAR + "c1\t1\t2\n", ":2: .* got 3; this looks like the list of an early STAR: give"),
        ("c1\t101\t200\t+\n", "got 4; this looks like the list of an early STAR or of HISAT2: g"),
        ("c1\t1\t2\ta\t1\t+\t0\n", r"nine .* twelve .* or six .*, got 7; check how it was written"),
        (
            "@HD\tVN:1.6\n",
            ":1: .* these are alignments of reads .SAM or PAF.; make junctions of th",
        ),
        ("r\t0\tc1\t1\t60\t9M50N9M\t*\t0\t0\tA\tF\tts:A:+\n", ":1: .* these are alignments"),
        ("r\t9\t0\t9\t+\tc1\t99\t1\t9\t9\t9\t60\tcg:Z:9M\n", ":1: .* these are alignments"),
        (STAR + BED6, ":2: all rows must have 9 columns, got 6; correct the line"),
        (STAR.replace("1\t1\t0", "3\t1\t0"), r"strand \(0 to 2\), .* got 'c1 101 200 3 1 0'; give"),
        (STAR.replace("1\t1\t0", "1\t7\t0"), r"motif \(0 to 6\), got 'c1 101 200 1 7 0'; give the"),
        (STAR.replace("1\t1\t0", "1\t1\t5"), r"column 6 .* must be 0 or 1, got '5'"),
        (STAR.replace("101", "201"), "before its end, got 200-200 .0-based.; correct it"),
        (STAR.replace("101", "1"), "begin after the first base of its contig .*, got 0-200"),
        (
            "c1\tx\texon\t101\t200\t7\t+\t.\tID=a\n",
            "this looks like GFF3 or GTF: name it annotation instead of junctions",
        ),
        (
            _bed6((1, 0.5), (2, 0.25)),
            r":1: scores of junctions must be numbers of reads .*, got '0.5'; put the numbers",
        ),
        (
            REGTOOLS.replace("\t9\t", "\t0.9\t"),
            r":1: scores .* numbers of reads .*, got '0.9'; put",
        ),
        (HINT.format(5, "*", "src=E"), "strand must be [+], - or [.], got '[*]'"),
        (BED6.replace("+", "1"), "strand must be [+], - or [.], got '1'; give that"),
        (REGTOOLS.replace("0,120", "0,119"), "blocks must span 80-230, got 80-229"),
        (REGTOOLS.replace("\t9\t", "\t" + 5000 * "9" + "\t"), ":1: .* up to 18 digits"),
        (REGTOOLS.replace("-", ".?"), "strand must be [+], - or [.], got '.[?]'"),
    ],
)
def test_errors_name_the_file_and_the_line(write, text, message):
    with pytest.raises(InputFormatError, match=message):
        read_junctions(write(text))


def test_junctions_given_as_annotation_are_recognized(write):
    with pytest.raises(InputFormatError, match=r":1: .* name it junctions instead of annot"):
        read_annotation(write(STAR))
