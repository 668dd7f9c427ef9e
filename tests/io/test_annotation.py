"""Transcripts of GFF3, GTF and BED12: one gene in many dialects, bad files, and an oracle."""

import gzip

import pytest

from seqmtl import read_annotation
from seqmtl.datasets.signals import annotated_sites
from seqmtl.exceptions import InputFormatError

# One gene on the plus strand with three exons and one on the minus strand with two, both coding;
# 0-based. The stop codons are the last three coding bases.
EXONS = [((100, 200), (300, 400), (500, 650)), ((1100, 1250), (1350, 1450))]
PLACES = {
    "donor": {(200, False), (400, False), (1348, True)},
    "acceptor": {(298, False), (498, False), (1250, True)},
    "tss": {(100, False), (1449, True)},
    "polya": {(649, False), (1100, True)},
    "start": {(150, False), (1427, True)},
    "stop": {(596, False), (1120, True)},
}

#: Intervals of the rows of both genes by kind of feature: 1-based, closed, in the order of a file.
ROWS = {
    "gene": [[(101, 650)], [(1101, 1450)]],
    "mRNA": [[(101, 650)], [(1101, 1450)]],
    "protein": [[(151, 599)], [(1121, 1430)]],
    "five_prime_UTR": [[(101, 150)], [(1431, 1450)]],
    "exon": [[(101, 200), (301, 400), (501, 650)], [(1351, 1450), (1101, 1250)]],
    "CDS": [[(151, 200), (301, 400), (501, 599)], [(1351, 1430), (1121, 1250)]],
    "intron": [[(201, 300), (401, 500)], [(1251, 1350)]],
    "start_codon": [[(151, 153)], [(1428, 1430)]],
    "stop_codon": [[(597, 599)], [(1121, 1123)]],
    "three_prime_UTR": [[(600, 650)], [(1101, 1120)]],
}
CODING_END = {(501, 599): (501, 596), (1121, 1250): (1124, 1250)}  # without the stop codon

GTF = 'gene_id "G{n}"; transcript_id "T{n}";'
AUGUSTUS = {
    **dict.fromkeys(["gene", "mRNA"], "g{n}.t1"),
    **dict.fromkeys(["five_prime_UTR", "start_codon", "intron", "CDS", "stop_codon"], GTF),
    "three_prime_UTR": GTF,
}
#: Attributes by kind of feature, for gene n and its row i.
DIALECTS = {
    "Ensembl GFF3": {
        "gene": "ID=gene:G{n};Name=abc%3Bd;biotype=protein_coding;gene_id=G{n}",
        "mRNA": "ID=transcript:G{n}.1;Parent=gene:G{n};biotype=protein_coding",
        "five_prime_UTR": "Parent=transcript:G{n}.1",
        "exon": "Parent=transcript:G{n}.1;constitutive=1;exon_id=E{i};rank={i}",
        "CDS": "ID=CDS:P{n};Parent=transcript:G{n}.1;protein_id=P{n}",
    },
    "Ensembl GTF": {
        "gene": 'gene_id "G{n}"; gene_name "a;b"; gene_biotype "protein_coding";',
        "exon": 'gene_id "G{n}"; note "x; transcript_id no"; transcript_id "T{n}";',
        "CDS": GTF + ' transcript_biotype "coding";',
        "start_codon": GTF,
        "stop_codon": GTF,
    },
    "NCBI": {
        "gene": "ID=gene-{n};Dbxref=GeneID:1;gbkey=Gene;gene_biotype=protein_coding",
        "mRNA": "ID=rna-NM_{n}.1;Parent=gene-{n};Dbxref=GeneID:1;gbkey=mRNA",
        "exon": "ID=exon-NM_{n}.1-{i};Parent=rna-NM_{n}.1;gbkey=mRNA",
        "CDS": "ID=cds-NP_{n}.1;Parent=rna-NM_{n}.1;gbkey=CDS",
    },
    "FlyBase": {
        "gene": "ID=FBgn{n};Name=l(2)gl;Ontology_term=SO:0000087,SO:0000336",
        "mRNA": "ID=FBtr{n};Name=a-RA;Parent=FBgn{n}",
        "exon": "Parent=FBtr{n},FBtr{n}b",
        "intron": "Parent=FBtr{n},FBtr{n}b",
        "CDS": "Parent=FBtr{n},FBtr{n}b",
    },
    "TAIR": {
        "gene": "ID=AT{n};Note=protein_coding_gene;Name=AT{n}",
        "protein": "ID=AT{n}.1-Protein;Name=AT{n}.1;Derives_from=AT{n}.1",
        "mRNA": "ID=AT{n}.1;Parent=AT{n};Name=AT{n}.1;Index=1",
        "exon": "Parent=AT{n}.1",
        "CDS": "Parent=AT{n}.1,AT{n}.1-Protein;",
    },
    "AUGUSTUS GTF": AUGUSTUS,
    "AUGUSTUS GFF3": {
        "mRNA": "ID=g{n}.t1;Parent=g{n}",
        "five_prime_UTR": "ID=g{n}.t1.5UTR1;Parent=g{n}.t1",
        "CDS": "ID=g{n}.t1.cds;Parent=g{n}.t1",
        "stop_codon": "Parent=g{n}.t1",
        "three_prime_UTR": "ID=g{n}.t1.3UTR1;Parent=g{n}.t1",
    },
}
#: Alignments of proteins, which have no untranslated regions.
ALIGNMENTS = {
    "miniprot": {
        "mRNA": "ID=MP{n};Rank=1;Identity=1.0000;Target=P{n} 1 149",
        "CDS": "Parent=MP{n};Rank=1;Identity=1.0000;Target=P{n} 1 17",
        "stop_codon": "Parent=MP{n};Rank=1",
    },
    "MetaEuk": {
        "mRNA": "Target_ID=P{n};TCS_ID=P{n}|chr1|150_mRNA;Parent=P{n}|chr1|150",
        "exon": "Target_ID=P{n};TCS_ID=P{n}a_exon_{i};Parent=P{n}|chr1|150_mRNA",
        "CDS": "Target_ID=P{n};TCS_ID=P{n}a_CDS_{i};Parent=P{n}a_exon_{i}",
    },
}
OTHERS = """
chr1\tRefSeq\tregion\t1\t5000\t.\t+\t.\tID=NC_1:1..5000;Dbxref=taxon:1;gbkey=Src
chr1\tRefSeq\tcDNA_match\t1\t90\t.\t+\t.\tID=aln1;Target=NM_1.1 1 90 +
chr1\tRNASeq_splice\tintron\t201\t250\t23\t+\t.\tID=FBsf1;Name=junction
chr1\tRNASeq_stranded\ttranscript_region\t210\t300\t4\t.\t.\tName=Region
###
"""
BED12 = """
chr1 100 650 T1 0 + 150 599 0 3 100,100,150, 0,200,400,
chr1 1100 1450 T2 0 - 1120 1430 0 2 150,100 0,250
"""


def gff(attributes, source="ensembl", rows=ROWS, kinds=()):
    """Write both genes; `kinds` has other names of features."""
    lines = ["# a comment"]
    is_gtf = 'transcript_id "' in attributes["CDS"]
    for n in (0, 1):
        for kind, pattern in attributes.items():
            for i, (start, end) in enumerate(rows[kind][n]):
                if is_gtf and "exon" in attributes:
                    start, end = CODING_END.get((start, end), (start, end))
                phase = "01"[i % 2] if kind == "CDS" else "."
                place = ["chr1", source, dict(kinds).get(kind, kind), str(start), str(end), "."]
                lines.append("\t".join([*place, "+-"[n], phase, pattern.format(n=n, i=i)]))
    return "\n".join(lines) + ("" if is_gtf else OTHERS) + "\n"


def bed12():
    return "\n".join("\t".join(row.split()) for row in BED12.strip().splitlines()) + "\n"


def places(annotation, signal):
    found = annotated_sites(annotation, signal, 20)
    found = found.take(found["reasons"] == "")
    return {*zip(found.starts.tolist(), found.is_reverse.tolist(), strict=True)}


def row(start=101, end=200, strand="+", kind="exon", attributes="Parent=t1", phase="."):
    return f"chr1\tx\t{kind}\t{start}\t{end}\t.\t{strand}\t{phase}\t{attributes}\n"


@pytest.mark.parametrize("dialect", [*DIALECTS, "BED12"])
def test_every_dialect_gives_the_same_transcripts_and_sites(write, dialect):
    text = "track name=genes\n" + bed12() if dialect == "BED12" else ""
    kinds = {"five_prime_UTR": "5'-UTR", "three_prime_UTR": "3'-UTR"} if "GTF" in dialect else {}
    annotation = read_annotation(write(text or gff(DIALECTS[dialect], kinds=kinds)))
    assert list(dict.fromkeys(t.exons for t in annotation.transcripts)) == EXONS
    assert annotation.format == next((f for f in ("GTF", "BED12") if f in dialect), "GFF3")
    assert annotation.contigs == ["chr1"]
    assert not annotation.exclusions
    for signal, expected in PLACES.items():
        assert places(annotation, signal) == expected, signal


@pytest.mark.parametrize("dialect", ALIGNMENTS)
def test_alignments_of_proteins_have_the_sites_of_coding_sequences(write, dialect):
    rows = ROWS | {"mRNA": ROWS["protein"], "exon": ROWS["CDS"]}
    annotation = read_annotation(write(gff(ALIGNMENTS[dialect], rows=rows)))
    for signal in ("donor", "acceptor", "start", "stop"):
        assert places(annotation, signal) == PLACES[signal], signal
    for signal in ("tss", "polya"):  # an alignment ends where the protein does
        assert not places(annotation, signal)


def test_how_a_file_is_written_does_not_matter(write):
    text = gff(DIALECTS["Ensembl GFF3"])
    for data in (
        text.replace("\n", "\r\n").encode(),
        gzip.compress(text.encode()),
        text.rstrip("\n").encode(),
        "".join(sorted(text.splitlines(keepends=True), reverse=True)).encode(),
        text.encode() + b"##FASTA\n>chr1\nACGT\nnot\ta\trow\n",
    ):
        annotation = read_annotation(write(data, "annotation"))
        assert {t.exons for t in annotation.transcripts} == set(EXONS)


def test_genes_biotypes_phases_and_lines_are_kept(write):
    one, two = read_annotation(write(gff(DIALECTS["Ensembl GFF3"]))).transcripts
    assert (one.name, one.gene, one.biotype) == ("transcript:G0.1", "gene:G0", "protein_coding")
    assert (one.line, one.phase, two.phase) == (4, 0, 0)
    assert one.cds == ((150, 200), (300, 400), (500, 599))
    gtf = read_annotation(write(gff(DIALECTS["Ensembl GTF"]))).transcripts[0]
    assert (gtf.name, gtf.gene, gtf.biotype) == ("T0", "G0", "protein_coding")
    assert gtf.stop_codon == ((596, 599),)
    for phase in "012":
        text = row(kind="mRNA", attributes="ID=t1") + row() + row(kind="CDS", phase=phase)
        (transcript,) = read_annotation(write(text)).transcripts
        assert (transcript.biotype, transcript.phase) == ("mRNA", int(phase))


def test_sources_restrict_the_second_column(write):
    text = gff(DIALECTS["NCBI"], "WormBase")
    path = write(text + row(attributes="Parent=other").replace("\tx\t", "\tWormBase_te\t"))
    assert len(read_annotation(path).transcripts) == 3
    assert len(read_annotation(path, sources=["WormBase"]).transcripts) == 2
    with pytest.raises(InputFormatError, match=r"got havana; the second column has WormBase \(1"):
        read_annotation(path, sources=["havana"])
    with pytest.raises(InputFormatError, match="sources must be left out for BED12") as caught:
        read_annotation(write(bed12()), sources=["x"])
    assert caught.value.path == str(path)


GENE = row(kind="gene", attributes="ID=g1")
GTF1 = 'gene_id "G"; transcript_id "t1";'
A, B = (row(n, 300, kind="CDS", attributes=f"ID={n};Parent=t1", phase="0") for n in (151, 181))
ONE = ((100, 200),)
UNKNOWN = 'transcript_id "unknown_transcript_1"'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # coding sequences of a gene, and of their own
        (GENE + row(kind="CDS", attributes="ID=c;Parent=g1"), [("g1", ONE, ONE)]),
        (row(kind="CDS", attributes="ID=c;product=x"), [("c", ONE, ONE)]),
        # SGD
        (
            row(101, 150, kind="noncoding_exon")
            + row(151, 180, kind="intron")
            + row(181, 220, kind="noncoding_exon"),
            [("t1", ((100, 150), (180, 220)), ())],
        ),
        # a protein without a row of its own
        (
            row() + row(101, 160, kind="CDS", attributes="Parent=t1,t1-Protein;"),
            [("t1", ((100, 200),), ((100, 160),))],
        ),
        # exons that overlap or touch
        (
            row(101, 200) + row(150, 260) + row(261, 280) + row(301, 400),
            [("t1", ((100, 280), (300, 400)), ())],
        ),
        # an exon from the first base, and one of a single base
        (row(1, 40) + row(50, 50), [("t1", ((0, 40), (49, 50)), ())]),
        # alternatives, as in the example of the GFF3 specification
        (
            row(101, 400) + A + B,
            [("t1", ((100, 400),), ((150, 300),)), ("t1", ((100, 400),), ((180, 300),))],
        ),
        # parts of one coding sequence with IDs of their own
        (
            row(101, 400)
            + row(151, 200, kind="CDS", attributes="ID=a.1;Parent=t1")
            + row(251, 300, kind="CDS", attributes="ID=a.2;Parent=t1"),
            [("t1", ((100, 400),), ((150, 200), (250, 300)))],
        ),
        # transcripts of two genes with one name
        (
            row(attributes=f'gene_id "A"; {UNKNOWN};')
            + row(301, 400, attributes=f'gene_id "B"; {UNKNOWN};'),
            [("unknown_transcript_1", ONE, ()), ("unknown_transcript_1", ((300, 400),), ())],
        ),
        # exons of a gene that has transcripts
        (
            row(kind="mRNA", attributes="ID=t1;Parent=g1") + row() + row(attributes="Parent=g1"),
            [("t1", ((100, 200),), ())],
        ),
    ],
)
def test_transcripts_of_rows(write, text, expected):
    annotation = read_annotation(write(text))
    assert [(t.name, t.exons, t.cds) for t in annotation.transcripts] == expected
    of_gene = ["transcripts of its own" in left.reason for left in annotation.exclusions]
    assert of_gene == [True] * ("mRNA" in text)


def test_a_microrna_is_left_out_and_its_precursor_is_not(write):
    # as NCBI writes them: the start of a microRNA is no start of transcription
    text = row(kind="gene", attributes="ID=g1;gene_biotype=miRNA")
    text += row(kind="primary_transcript", attributes="ID=t1;Parent=g1")
    text += row(attributes="ID=e1;Parent=t1")
    for name, first in (("m5", 120), ("m3", 160)):
        text += row(first, first + 21, kind="miRNA", attributes=f"ID={name};Parent=t1")
        text += row(first, first + 21, attributes=f"ID=e{name};Parent={name}")
    annotation = read_annotation(write(text))
    assert [(t.name, t.gene, t.biotype) for t in annotation.transcripts] == [
        ("t1", "g1", "primary_transcript")
    ]
    assert [left.name for left in annotation.exclusions] == ["m5", "m3"]
    assert "part of a longer transcript" in annotation.exclusions[0].reason
    assert places(annotation, "tss") == {(100, False)}


MRNA = row(kind="mRNA", attributes="ID=t1")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (row(strand="."), "transcript without a strand"),
        (row(strand="?"), "transcript without a strand"),
        # an exon on another strand or contig than the row, in another place, and both of two genes
        (row() + row(301, 400, strand="-") + MRNA, "exons outside its own row"),
        (row() + row(301, 400).replace("chr1", "chr2") + MRNA, "exons outside its own row"),
        (row() + row(kind="mRNA", attributes="ID=t1", strand="-"), "exons outside its own row"),
        (row() + MRNA.replace("chr1", "chr2"), "exons outside its own row"),
        (row() + row(203, 400) + MRNA, "exons outside its own row"),
        (row() + row(kind="CDS") + row(301, 400, kind="CDS") + MRNA, "exons outside its own row"),
        (row() + row(kind="mRNA", attributes="ID=t1", start=301, end=400), "outside its own row"),
        (
            row() + row(301, 400) + row(501, 600) + MRNA + MRNA.replace("101\t200", "301\t400"),
            "exons outside its own row",
        ),
        # rows of exons that are missing, of a stop codon, a start codon and a UTR
        (row() + row(300, 302, kind="stop_codon"), "exons or CDS are missing"),
        (row(101, 103, kind="start_codon") + row(201, 300), "exons or CDS are missing"),
        (row() + row(101, 120, kind="UTR") + row(301, 400, kind="UTR"), "or CDS are missing"),
        (row(attributes="Parent=t1;exception=trans-splicing"), "trans-splicing"),
        (row(attributes="Parent=t1;part=1/2"), "in parts"),
        (row(attributes="Parent=t1;part=1%2F12"), "in parts"),
        (row(attributes="ID=e1"), "belongs to no transcript"),
    ],
)
def test_transcripts_that_cannot_be_used_are_left_out_with_a_reason(write, text, reason, caplog):
    text += "".join(row(attributes=f"Parent=good{i}") for i in range(200))
    annotation = read_annotation(write(text))
    assert len(annotation.transcripts) == 200
    (left_out,) = annotation.exclusions
    assert "1 of 201 transcripts are left out" in caplog.text
    assert reason in left_out.reason
    assert (left_out.line, left_out.start) == (1, 100)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # one ID on two strands or contigs, without a row of its own
        (row() + row(301, 400, strand="-"), [("+", ONE), ("-", ((300, 400),))]),
        (row() + row(301, 400).replace("chr1", "chr2"), [("+", ONE), ("+", ((300, 400),))]),
        # rows without a strand are of the others' on their contig, or of the transcript's row
        (row() + row(301, 400, strand="."), [("+", ((100, 200), (300, 400)))]),
        (row(strand=".") + row(kind="mRNA", attributes="ID=t1", strand="-"), [("-", ONE)]),
        # a discontinuous feature: its rows are its exons
        (
            MRNA + MRNA.replace("101\t200", "301\t400") + row() + row(301, 400),
            [("+", ((100, 200), (300, 400)))],
        ),
        # copies with rows apart, exons by position
        (
            MRNA + row() + MRNA.replace("101\t200", "301\t400") + row(301, 400),
            [("+", ONE), ("+", ((300, 400),))],
        ),
        # one part of one, as NCBI wrote until 2016
        (
            row(attributes="Parent=t1;part=1%2F1") + row(201, 300, attributes="Parent=t1;part=1/1"),
            [("+", ((100, 300),))],
        ),
        # a row of the transcript twice, its exons once
        (MRNA + MRNA + row(), [("+", ONE)]),
        # exons that begin or end a little beyond the row, as programs add UTRs and stop codons
        (row(91, 120) + row(151, 201) + MRNA, [("+", ((90, 120), (150, 201)))]),
        (row() + row(201, 203, kind="stop_codon") + MRNA, [("+", ((100, 203),))]),
        # a stop codon behind an intron, which is in no exon row as there are none
        (
            row(101, 199, kind="CDS") + row(301, 303, kind="stop_codon"),
            [("+", ((100, 199), (300, 303)))],
        ),
        # a codon that an intron splits
        (
            row(101, 150, attributes=GTF1)
            + row(201, 250, attributes=GTF1)
            + row(150, 150, kind="start_codon", attributes=GTF1)
            + row(201, 202, kind="start_codon", attributes=GTF1),
            [("+", ((100, 150), (200, 250)))],
        ),
    ],
)
def test_which_rows_are_one_transcript(write, text, expected):
    annotation = read_annotation(write(text))
    found = [("+-"[t.is_reverse], t.exons) for t in annotation.transcripts]
    assert sorted(found) == sorted(expected)
    assert not annotation.exclusions


@pytest.mark.parametrize(
    "text",
    [
        # more than seven million bases apart, without rows of transcripts
        row() + row(9_000_001, 9_000_100),
        # overlapping copies with and without rows of their own
        row(101, 400, kind="mRNA", attributes="ID=t1")
        + row(151, 600, kind="mRNA", attributes="ID=t1")
        + "".join(row(a, b) for a, b in ((101, 200), (151, 250), (301, 400), (501, 600))),
        row(101, 400) + row(101, 200) + row(301, 400),
        # two transcripts of one extent
        "".join(
            row(101, 600, kind="mRNA", attributes="ID=t1")
            + "".join(row(a, a + 49) for a in (101, middle, 551))
            for middle in (301, 401)
        ),
        # a UTR is in part beyond both rows
        MRNA
        + MRNA.replace("101\t200", "301\t400")
        + row()
        + row(301, 400)
        + row(391, 410, kind="UTR"),
        # a start codon after a stop codon
        "".join(
            row(a, b, kind=kind, attributes=GTF1)
            for first in (101, 501)
            for kind, a, b in (
                ("start_codon", first, first + 2),
                ("exon", first, first + 50),
                ("exon", first + 100, first + 150),
                ("stop_codon", first + 148, first + 150),
            )
        ),
    ],
)
def test_transcripts_of_one_id_that_cannot_be_told_apart_are_left_out(write, text, caplog):
    good = "".join(row(attributes=f"Parent=good{i}") for i in range(200))
    annotation = read_annotation(write(text + good))
    assert len(annotation.transcripts) == 200
    assert [left.reason for left in annotation.exclusions] == ["several transcripts with one ID"]
    assert "1 of 201 transcripts are left out: several transcripts with one ID (1)" in caplog.text
    assert {100} < {own.exons[0][0] for own in annotation.uncertain}


@pytest.mark.parametrize(
    ("attributes", "kind", "expected"),
    [
        ("tag=basic,mRNA_start_NF,cds_end_NF", "exon", ("tss", "stop")),
        ("partial=true;start_range=.,101", "exon", ("tss",)),
        ("partial=true;end_range=200,.", "CDS", ("stop",)),
        ("partial=true", "CDS", ("start", "stop")),
        ("partial=true", "exon", ("tss", "polya")),
        ("partial=10", "CDS", ("start",)),
        ("partial=00", "CDS", ()),
        ("partial=false", "exon", ()),
        ("Name=ORF%20type%3A5prime_partial%20len", "CDS", ("start",)),
        ("Note=partial sequence;product=part of a partner of splicing", "exon", ()),
    ],
)
@pytest.mark.parametrize("strand", "+-")
def test_ends_that_the_annotation_calls_incomplete(write, attributes, kind, expected, strand):
    text = row(kind=kind, attributes=f"Parent=t1;{attributes}", phase="0")
    text += row() + row(kind="CDS", phase="0") if kind == "exon" else row()
    text = text.replace("\t+\t", f"\t{strand}\t")
    if strand == "-" and ("_range" in attributes or "partial=10" in attributes):
        other = {"tss": "polya", "start": "stop", "stop": "start"}
        expected = tuple(other[own] for own in expected)
    (transcript,) = read_annotation(write(text)).transcripts
    assert transcript.incomplete == expected


def test_what_is_unsure_is_listed(write):
    """Exons that overlap others, orphans, and rows of introns that are no gaps."""
    text = row(101, 200) + row(151, 260) + row(301, 400)
    text += row(501, 600, attributes="ID=e1", strand=".")
    text += row(201, 300, kind="intron") + row(261, 300, kind="intron")
    uncertain = read_annotation(write(text)).uncertain
    assert sorted((own.exons, own.introns, own.is_reverse) for own in uncertain) == [
        ((), ((200, 300),), False),
        (((100, 200),), (), False),
        (((150, 260),), (), False),
        (((500, 600),), (), False),
        (((500, 600),), (), True),
    ]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (row() + row(0, 5), 2, "start must be 1 or more .*, got 0"),
        (row() + row(200, 101), 2, "start must not be after end, got 200-101"),
        (row() + row("1.5"), 2, "must each be a whole number of up to 18 digits, got '1.5'"),
        (row(101, "9" * 5000), 1, "must each be .* of up to 18 digits, got '9{60}'; correct it"),
        (row(1, "9" * 19, attributes=GTF1), 1, "must each be .* of up to 18 digits, got '9{19}'"),
        (row() + row(strand="plus"), 2, r"strand must be \+, -, . or \?, got 'plus'"),
        (row() + "chr1\tx\texon\n", 2, "nine tab-separated fields, got 3"),
        (row(attributes="t1"), 1, "ninth field must have attributes .*, got 't1'"),
        ("chr1\t1\t2\tn\t0\t+\n", 1, "nine tab-separated fields .* this looks like BED"),
        (row(attributes="gene 1 ; note 2") * 2, 1, r"none of 2 does, .* 'gene 1 ; note 2'"),
        ("t\tchr1\t+\t0\t9\t0\t9\t1\t0,\t9,\n", 1, "this looks like genePred"),
        ("9\tt\tchr1\t+\t0\t9\t0\t9\t1\t0,\t9,\t0\tt\tcmpl\tcmpl\t0,\n", 1, "genePred"),
        ("c\t5\t9\tn\t0\t+\t5\t9\t0,0,0\n", 1, "got 9; this looks like BED"),
        ("gene1\tc\t5\t9\t+\n", 1, "got 5; check how it was written"),
        (">chr1\nACGT\n", 1, "this looks like FASTA"),
        ("LOCUS  X\n", 1, "this looks like GenBank"),
        ("chr1 x exon 1 2 . + . Parent=t\n", 1, "separate the fields by tabs"),
        ("##gff-version 3\n", None, "the file has no rows"),
        (row(kind="cdna_match") * 3, None, r"must have transcripts .* only cdna_match \(3\)"),
        ("c\t5\t5\tn\t0\t+\t5\t5\t0\t1\t1\t0\n", 1, "start must be before end, got 5-5"),
        ("c\t5\t9\tn\t0\tx\t5\t5\t0\t1\t4\t0\n", 1, r"strand must be \+, - or ., got 'x'"),
        ("c\t5\t9\tn\t0\t+\t5\t5\t0\t2\t4\t0\n", 1, "blockCount must be the number"),
        ("c\t5\t9\tn\t0\t+\t5\t5\t0\t1\t3\t0\n", 1, "blocks must span 5-9, got 5-8"),
        ("c\t5\t9\tn\t0\t+\t5\t5\t0\t2\t3,2\t0,2\n", 1, "blocks must not be empty or overlap"),
    ],
)
def test_bad_rows_are_refused_with_file_and_line(write, text, line, message):
    path = write(text)
    with pytest.raises(InputFormatError, match=message) as caught:
        read_annotation(path)
    assert (caught.value.path, caught.value.line) == (str(path), line)


def test_an_annotation_without_introns_says_what_it_has(write):
    annotation = read_annotation(write(row() + row(kind="gene", attributes="ID=g")))
    with pytest.raises(
        InputFormatError, match=r"must have introns .* 1 transcripts of exon \(1\), g"
    ):
        annotated_sites(annotation, "donor", 20)
    with pytest.raises(InputFormatError, match="must have coding sequences for stop sites"):
        annotated_sites(annotation, "stop", 20)


@pytest.mark.parametrize(
    ("text", "signal", "reason"),
    [
        (row(101, 200) + row(211, 300), "donor", "intron shorter than min_intron"),
        (row() + row(kind="CDS", phase="0"), "tss", "ends where its coding sequence does"),
        (row() + row(kind="CDS", phase="0"), "polya", "ends where its coding sequence does"),
        (row() + row(150, 182, kind="CDS", phase="1"), "start", "its first phase is not 0"),
        (row() + row(150, 181, kind="CDS", phase="0"), "stop", "not a multiple of three"),
        (
            row(1, 300) + row(100, 101, kind="CDS", phase="0") + row(200, 209, kind="CDS"),
            "start",
            "codon that spans an intron",
        ),
    ],
)
def test_sites_that_are_left_out_of_a_transcript(write, text, signal, reason):
    for shown in annotated_sites(read_annotation(write(text)), signal, 20)["reasons"]:
        assert reason in shown


@pytest.mark.parametrize(
    ("strand", "exons", "cds", "expected"),
    [
        ("+", [(101, 230)], (101, 199), 199),
        ("+", [(101, 199)], (101, 199), 199),  # beyond the last exon, and in part
        ("+", [(101, 200)], (101, 199), 199),
        ("+", [(101, 199), (301, 400)], (101, 199), 300),  # behind an intron, and split by one
        ("+", [(101, 200), (301, 400)], (101, 199), -1),
        ("-", [(51, 199)], (101, 199), 97),
        ("-", [(101, 199)], (101, 199), 97),
        ("-", [(100, 199)], (101, 199), 97),
        ("-", [(11, 50), (101, 199)], (101, 199), 47),
        ("-", [(11, 50), (100, 199)], (101, 199), -1),
    ],
)
def test_the_stop_codon_may_follow_the_coding_sequence(write, strand, exons, cds, expected):
    text = "".join(row(*exon, strand) for exon in exons) + row(*cds, strand, "CDS", phase="0")
    annotation = read_annotation(write(text))
    assert annotated_sites(annotation, "stop", 20)["alternatives"].tolist() == [expected]
