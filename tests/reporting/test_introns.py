"""Introns found without labels, and those of an annotation."""

import pytest

from seqmtl.exceptions import SeqmtlError
from seqmtl.io.annotation import read_annotation
from seqmtl.reporting.introns import (
    PredictedIntrons,
    annotated_introns,
    intron_rows,
    likely_lengths,
    read_introns,
)

FOUND = """\
##gff-version 3
chr1\tseqmtl\tintron\t11\t20\t0.95\t+\t.\tID=a
chr1\tseqmtl\tintron\t11\t20\t0.6\t-\t.\tID=b
chr1\tseqmtl\tintron\t31\t45\t0.5\t+\t.\tID=c
chr2\tseqmtl\tintron\t5\t9\t0.1\t-\t.\tID=d
"""
# two transcripts of a gene share their first intron, 11 to 20; another one is from 61 to 70
EXONS = [("t", 1, 10), ("t", 21, 30), ("u", 5, 10), ("u", 21, 60), ("u", 71, 80)]


@pytest.fixture
def files(tmp_path):
    """Return a file of introns, and an annotation."""
    lines = ["##gff-version 3\n", "chr1\tx\tgene\t1\t80\t.\t+\t.\tID=g\n"]
    lines += [f"chr1\tx\tmRNA\t1\t80\t.\t+\t.\tID={name};Parent=g\n" for name in "tu"]
    lines += [
        f"chr1\tx\texon\t{start}\t{end}\t.\t+\t.\tParent={name}\n" for name, start, end in EXONS
    ]
    (tmp_path / "found.gff3").write_text(FOUND)
    (tmp_path / "known.gff3").write_text("".join(lines))
    return tmp_path / "found.gff3", tmp_path / "known.gff3"


def test_introns_are_counted_by_probability_and_compared_by_both_ends_and_strand(files):
    found = read_introns(files[0])
    assert list(found) == [
        ("chr1", 10, 20, False),
        ("chr1", 10, 20, True),
        ("chr1", 30, 45, False),
        ("chr2", 4, 9, True),
    ]
    known = annotated_introns(read_annotation(files[1]), {"chr1", "chr2"})
    assert known == {("chr1", 10, 20, False), ("chr1", 60, 70, False)}
    assert [row["predicted"] for row in intron_rows(found)] == [4, 3, 1]
    rows = intron_rows(found, known)
    assert rows == [
        {"min_probability": 0.1, "predicted": 4, "annotated": 1, "others": 3, "missed": 1},
        {"min_probability": 0.5, "predicted": 3, "annotated": 1, "others": 2, "missed": 1},
        {"min_probability": 0.9, "predicted": 1, "annotated": 1, "others": 0, "missed": 1},
    ]
    own = PredictedIntrons("ant", rows, "a/known.gff3", 0, "", [], "")
    assert own.sentence() == (
        "ant: 3 introns predicted (p >= 0.5); 1 of the 2 introns in known.gff3 are among them."
    )
    assert (
        PredictedIntrons("ant", rows, "", 0, "", [], "").sentence()
        == "ant: 3 introns predicted (p >= 0.5)."
    )


def test_gaps_without_splice_sites_are_no_introns(tmp_path):
    """As in yeast: a frame shift, introns of a tRNA and of a mitochondrion, and three others."""
    gaps = {  # name: contig, strand, first and last base, 1-based, and the letters of the intron
        "mrna": ("chr1", "+", 101, 160, "GT", "AG"),
        "gc": ("chr1", "+", 401, 440, "GC", "AG"),
        "u12": ("chr1", "-", 961, 990, "GT", "AT"),  # AT-AC
        "mixed": ("chr1", "+", 461, 490, "AT", "AG"),
        "minus": ("chr1", "-", 301, 330, "CT", "AC"),  # as on the plus strand
        "again": ("chr1", "+", 101, 160, "GT", "AG"),  # of another transcript
        "short": ("chr1", "+", 501, 519, "GT", "AG"),  # 19 bases
        "shift": ("chr1", "+", 601, 601, "A", "A"),
        "trna": ("chr1", "+", 701, 732, "TA", "CC"),
        "half": ("chr1", "+", 801, 840, "GT", "AA"),
        "wrong": ("chr1", "-", 901, 950, "GT", "AG"),  # those letters are of the other strand
        "mito": ("chrM", "+", 201, 600, "AT", "TA"),
        "away": ("chrX", "+", 201, 600, "GT", "AG"),  # of another assembly
        "long": ("chrM", "+", 701, 780, "GT", "AG"),
    }
    letters = {name: ["A"] * 1_000 for name in ("chr1", "chrM")}
    lines = ["##gff-version 3\n"]
    for name, (contig, strand, first, last, begin, end) in gaps.items():
        if contig in letters:
            letters[contig][first - 1 : first - 1 + len(begin)] = begin
            letters[contig][last - len(end) : last] = end
        kind = "tRNA" if name == "trna" else "mRNA"
        lines.append(f"{contig}\tx\t{kind}\t{first - 9}\t{last + 9}\t.\t{strand}\t.\tID={name}\n")
        for start, stop in ((first - 9, first - 1), (last + 1, last + 9)):
            lines.append(f"{contig}\tx\texon\t{start}\t{stop}\t.\t{strand}\t.\tParent={name}\n")
    (tmp_path / "x.gff3").write_text("".join(lines))
    (tmp_path / "x.fa").write_text("".join(f">{n}\n{''.join(own)}\n" for n, own in letters.items()))
    annotation = read_annotation(tmp_path / "x.gff3")
    assert len(annotated_introns(annotation, {"chr1"})) == 13
    assert annotated_introns(annotation, {"chr1"}, tmp_path / "x.fa") == {
        ("chr1", 100, 160, False),
        ("chr1", 300, 330, True),
        ("chr1", 400, 440, False),
        ("chr1", 960, 990, True),
        ("chrM", 700, 780, False),
    }


def test_introns_of_yeast_are_counted_as_a_dataset_counts_them(shared_data):
    """Of 412 gaps between exons, 298 are of mRNAs and have 20 bases or more."""
    folder = shared_data / "genome_scerevisiae"
    annotation = read_annotation(folder / "S_cerevisiae.gff3.gz")
    gaps = annotated_introns(annotation, {"chrI"})
    found = annotated_introns(annotation, {"chrI"}, folder / "S_cerevisiae.fasta.gz")
    mrna = {
        (t.contig, *intron, t.is_reverse)
        for t in annotation.transcripts
        if t.biotype == "mRNA"
        for intron in t.introns
        if intron[1] - intron[0] >= 20
    }
    assert (len(gaps), len(mrna)) == (412, 298)
    nuclear = {intron for intron in mrna if intron[0] != "chrmt"}
    assert found < gaps
    assert len(found - nuclear) == 2  # of both genes of the snoRNA U3
    assert len(nuclear - found) < 15  # GC-AG and the like


def test_an_annotation_of_another_genome_is_refused(files):
    with pytest.raises(
        SeqmtlError, match=r"known\.gff3: none of its contigs \(chr1, \.\.\.\) has predicted .* I;"
    ):
        annotated_introns(read_annotation(files[1]), {"II", "I"})


def test_contigs_of_a_pangenome_are_those_of_the_annotation(tmp_path):
    """HG#1#chr1 as scan writes it, or with every letter escaped, and annotated in GTF."""
    name, paths = "HG#1#a/b;c", (tmp_path / "raw.gff3", tmp_path / "escaped.gff3")
    for path, written in zip(paths, (name, "HG%231%23a%2Fb%3Bc"), strict=True):
        path.write_text(f"{written}\tseqmtl\tintron\t11\t20\t0.9\t+\t.\tID=a\n")
        assert read_introns(path) == {(name, 10, 20, False): 0.9}
    exons = [
        f'{name}\tx\texon\t{start}\t{end}\t.\t+\t.\tgene_id "g"; transcript_id "t";\n'
        for start, end in ((1, 10), (21, 30))
    ]
    (tmp_path / "known.gtf").write_text("".join(exons))
    known = annotated_introns(read_annotation(tmp_path / "known.gtf"), {name})
    assert known == {(name, 10, 20, False)}


def test_lengths_are_those_of_probable_introns():
    found = {("c", 0, 50, False): 0.4, ("c", 100, 180, True): 0.5, ("d", 7, 10, False): 0.95}
    assert likely_lengths(found) == [80, 3]
