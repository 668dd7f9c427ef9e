"""Transcripts of GFF3, GTF and BED12: one gene in many dialects, bad files, and an oracle."""

import gzip
from collections import Counter
from itertools import pairwise

import pytest

from seqmtl import read_annotation
from seqmtl.dataset.signals import places_of
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

ENSEMBL_GFF3 = """
chr1 ensembl gene 101 650 . + . ID=gene:G1;Name=abc%3Bd;biotype=protein_coding;gene_id=G1
chr1 ensembl mRNA 101 650 . + . ID=transcript:G1.1;Parent=gene:G1;biotype=protein_coding
chr1 ensembl five_prime_UTR 101 150 . + . Parent=transcript:G1.1
chr1 ensembl exon 101 200 . + . Parent=transcript:G1.1;constitutive=1;exon_id=E1;rank=1
chr1 ensembl CDS 151 200 . + 0 ID=CDS:P1;Parent=transcript:G1.1;protein_id=P1
chr1 ensembl exon 301 400 . + . Parent=transcript:G1.1;exon_id=E2;rank=2
chr1 ensembl CDS 301 400 . + 1 ID=CDS:P1;Parent=transcript:G1.1;protein_id=P1
chr1 ensembl exon 501 650 . + . Parent=transcript:G1.1;exon_id=E3;rank=3
chr1 ensembl CDS 501 599 . + 0 ID=CDS:P1;Parent=transcript:G1.1;protein_id=P1
chr1 ensembl three_prime_UTR 600 650 . + . Parent=transcript:G1.1
###
chr1 ensembl gene 1101 1450 . - . ID=gene:G2;biotype=protein_coding
chr1 ensembl mRNA 1101 1450 . - . ID=transcript:G2.1;Parent=gene:G2
chr1 ensembl exon 1351 1450 . - . Parent=transcript:G2.1
chr1 ensembl exon 1101 1250 . - . Parent=transcript:G2.1
chr1 ensembl CDS 1351 1430 . - 0 ID=CDS:P2;Parent=transcript:G2.1
chr1 ensembl CDS 1121 1250 . - 1 ID=CDS:P2;Parent=transcript:G2.1
"""
ENSEMBL_GTF = """
chr1 ensembl gene 101 650 . + . gene_id "G1"; gene_name "a;b"; gene_biotype "protein_coding";
chr1 ensembl transcript 101 650 . + . gene_id "G1"; transcript_id "T1";
chr1 ensembl exon 101 200 . + . gene_id "G1"; note "x; transcript_id no"; transcript_id "T1";
chr1 ensembl CDS 151 200 . + 0 gene_id "G1"; transcript_id "T1"; transcript_biotype "coding";
chr1 ensembl start_codon 151 153 . + 0 gene_id "G1"; transcript_id "T1";
chr1 ensembl exon 301 400 . + . gene_id "G1"; transcript_id "T1";
chr1 ensembl CDS 301 400 . + 1 gene_id "G1"; transcript_id "T1";
chr1 ensembl exon 501 650 . + . gene_id "G1"; transcript_id "T1";
chr1 ensembl CDS 501 596 . + 0 gene_id "G1"; transcript_id "T1";
chr1 ensembl stop_codon 597 599 . + 0 gene_id "G1"; transcript_id "T1";
chr1 ensembl exon 1351 1450 . - . gene_id "G2"; transcript_id "T2";
chr1 ensembl CDS 1351 1430 . - 0 gene_id "G2"; transcript_id "T2";
chr1 ensembl start_codon 1428 1430 . - 0 gene_id "G2"; transcript_id "T2";
chr1 ensembl exon 1101 1250 . - . gene_id "G2"; transcript_id "T2";
chr1 ensembl CDS 1124 1250 . - 1 gene_id "G2"; transcript_id "T2";
chr1 ensembl stop_codon 1121 1123 . - 0 gene_id "G2"; transcript_id "T2";
"""
NCBI = """
chr1 RefSeq region 1 5000 . + . ID=NC_1:1..5000;Dbxref=taxon:1;gbkey=Src
chr1 Gnomon gene 101 650 . + . ID=gene-A;Dbxref=GeneID:1;gbkey=Gene;gene_biotype=protein_coding
chr1 Gnomon mRNA 101 650 . + . ID=rna-NM_1.1;Parent=gene-A;Dbxref=GeneID:1;gbkey=mRNA
chr1 Gnomon exon 101 200 . + . ID=exon-NM_1.1-1;Parent=rna-NM_1.1;gbkey=mRNA
chr1 Gnomon exon 301 400 . + . ID=exon-NM_1.1-2;Parent=rna-NM_1.1;gbkey=mRNA
chr1 Gnomon exon 501 650 . + . ID=exon-NM_1.1-3;Parent=rna-NM_1.1;gbkey=mRNA
chr1 Gnomon CDS 151 200 . + 0 ID=cds-NP_1.1;Parent=rna-NM_1.1;gbkey=CDS
chr1 Gnomon CDS 301 400 . + 1 ID=cds-NP_1.1;Parent=rna-NM_1.1;gbkey=CDS
chr1 Gnomon CDS 501 599 . + 0 ID=cds-NP_1.1;Parent=rna-NM_1.1;gbkey=CDS
chr1 Gnomon gene 1101 1450 . - . ID=gene-B
chr1 Gnomon mRNA 1101 1450 . - . ID=rna-NM_2.1;Parent=gene-B
chr1 Gnomon exon 1351 1450 . - . ID=exon-NM_2.1-1;Parent=rna-NM_2.1
chr1 Gnomon exon 1101 1250 . - . ID=exon-NM_2.1-2;Parent=rna-NM_2.1
chr1 Gnomon CDS 1351 1430 . - 0 ID=cds-NP_2.1;Parent=rna-NM_2.1
chr1 Gnomon CDS 1121 1250 . - 1 ID=cds-NP_2.1;Parent=rna-NM_2.1
chr1 RefSeq cDNA_match 1 90 . + . ID=aln1;Target=NM_1.1 1 90 +
"""
FLYBASE = """
chr1 FlyBase gene 101 650 . + . ID=FBgn1;Name=l(2)gl;Ontology_term=SO:0000087,SO:0000336
chr1 FlyBase mRNA 101 650 . + . ID=FBtr1;Name=a-RA;Parent=FBgn1
chr1 FlyBase mRNA 101 650 . + . ID=FBtr2;Name=a-RB;Parent=FBgn1
chr1 FlyBase exon 501 650 . + . Parent=FBtr1,FBtr2
chr1 FlyBase exon 101 200 . + . Parent=FBtr1,FBtr2
chr1 FlyBase intron 201 300 . + . Parent=FBtr1,FBtr2
chr1 FlyBase exon 301 400 . + . Parent=FBtr1,FBtr2
chr1 FlyBase CDS 151 200 . + 0 Parent=FBtr1,FBtr2
chr1 FlyBase CDS 301 400 . + 1 Parent=FBtr1,FBtr2
chr1 FlyBase CDS 501 599 . + 0 Parent=FBtr1,FBtr2
chr1 RNASeq_splice intron 201 250 23 + . ID=FBsf1;Name=junction
chr1 FlyBase mRNA 1101 1450 . - . ID=FBtr3;Parent=FBgn2
chr1 FlyBase exon 1101 1250 . - . Parent=FBtr3
chr1 FlyBase exon 1351 1450 . - . Parent=FBtr3
chr1 FlyBase CDS 1121 1250 . - 1 Parent=FBtr3
chr1 FlyBase CDS 1351 1430 . - 0 Parent=FBtr3
"""
WORMBASE = """
chr1 WormBase gene 101 650 . + . ID=Gene:WBGene1;Name=WBGene1
chr1 WormBase mRNA 101 650 . + . ID=Transcript:A.1;Parent=Gene:WBGene1
chr1 WormBase exon 101 200 . + . Parent=Transcript:A.1
chr1 WormBase exon 301 400 . + . Parent=Transcript:A.1
chr1 WormBase exon 501 650 . + . Parent=Transcript:A.1
chr1 WormBase intron 201 300 . + . Parent=Transcript:A.1
chr1 WormBase CDS 151 200 . + 0 ID=CDS:A;Parent=Transcript:A.1;Name=A
chr1 WormBase CDS 301 400 . + 1 ID=CDS:A;Parent=Transcript:A.1;Name=A
chr1 WormBase CDS 501 599 . + 0 ID=CDS:A;Parent=Transcript:A.1;Name=A
chr1 RNASeq_splice intron 210 300 4 + . Name=RNASeq intron
chr1 RNASeq_stranded transcript_region 210 300 4 . . Name=Region
chr1 WormBase mRNA 1101 1450 . - . ID=Transcript:B.1;Parent=Gene:WBGene2
chr1 WormBase exon 1101 1250 . - . Parent=Transcript:B.1
chr1 WormBase exon 1351 1450 . - . Parent=Transcript:B.1
chr1 WormBase CDS 1121 1250 . - 1 ID=CDS:B;Parent=Transcript:B.1
chr1 WormBase CDS 1351 1430 . - 0 ID=CDS:B;Parent=Transcript:B.1
"""
TAIR = """
chr1 TAIR10 gene 101 650 . + . ID=AT1;Note=protein_coding_gene;Name=AT1
chr1 TAIR10 mRNA 101 650 . + . ID=AT1.1;Parent=AT1;Name=AT1.1;Index=1
chr1 TAIR10 protein 151 599 . + . ID=AT1.1-Protein;Name=AT1.1;Derives_from=AT1.1
chr1 TAIR10 exon 101 200 . + . Parent=AT1.1
chr1 TAIR10 five_prime_UTR 101 150 . + . Parent=AT1.1
chr1 TAIR10 CDS 151 200 . + 0 Parent=AT1.1,AT1.1-Protein;
chr1 TAIR10 exon 301 400 . + . Parent=AT1.1
chr1 TAIR10 CDS 301 400 . + 1 Parent=AT1.1,AT1.1-Protein;
chr1 TAIR10 exon 501 650 . + . Parent=AT1.1
chr1 TAIR10 CDS 501 599 . + 0 Parent=AT1.1,AT1.1-Protein;
chr1 TAIR10 protein 1121 1430 . - . ID=AT2.1-Protein;Derives_from=AT2.1
chr1 TAIR10 mRNA 1101 1450 . - . ID=AT2.1;Parent=AT2
chr1 TAIR10 exon 1351 1450 . - . Parent=AT2.1
chr1 TAIR10 CDS 1351 1430 . - 0 Parent=AT2.1,AT2.1-Protein;
chr1 TAIR10 exon 1101 1250 . - . Parent=AT2.1
chr1 TAIR10 CDS 1121 1250 . - 1 Parent=AT2.1,AT2.1-Protein;
"""
AUGUSTUS_GTF = """
# This output was generated with AUGUSTUS
chr1 AUGUSTUS gene 101 650 0.9 + . g1
chr1 AUGUSTUS transcript 101 650 0.9 + . g1.t1
chr1 AUGUSTUS tss 101 101 . + . transcript_id "g1.t1"; gene_id "g1";
chr1 AUGUSTUS 5'-UTR 101 150 0.9 + . transcript_id "g1.t1"; gene_id "g1";
chr1 AUGUSTUS start_codon 151 153 . + 0 transcript_id "g1.t1"; gene_id "g1";
chr1 AUGUSTUS intron 201 300 1 + . transcript_id "g1.t1"; gene_id "g1";
chr1 AUGUSTUS CDS 151 200 1 + 0 transcript_id "g1.t1"; gene_id "g1";
chr1 AUGUSTUS CDS 301 400 1 + 1 transcript_id "g1.t1"; gene_id "g1";
chr1 AUGUSTUS CDS 501 599 1 + 0 transcript_id "g1.t1"; gene_id "g1";
chr1 AUGUSTUS stop_codon 597 599 . + 0 transcript_id "g1.t1"; gene_id "g1";
chr1 AUGUSTUS 3'-UTR 600 650 0.9 + . transcript_id "g1.t1"; gene_id "g1";
# protein sequence = [MKV]
chr1 AUGUSTUS gene 1101 1450 1 - . g2
chr1 AUGUSTUS 3'-UTR 1101 1120 1 - . transcript_id "g2.t1"; gene_id "g2";
chr1 AUGUSTUS stop_codon 1121 1123 . - 0 transcript_id "g2.t1"; gene_id "g2";
chr1 AUGUSTUS CDS 1121 1250 1 - 1 transcript_id "g2.t1"; gene_id "g2";
chr1 AUGUSTUS CDS 1351 1430 1 - 0 transcript_id "g2.t1"; gene_id "g2";
chr1 AUGUSTUS 5'-UTR 1431 1450 1 - . transcript_id "g2.t1"; gene_id "g2";
"""
AUGUSTUS_GFF3 = """
chr1 AUGUSTUS gene 101 650 0.9 + . ID=g1
chr1 AUGUSTUS transcript 101 650 0.9 + . ID=g1.t1;Parent=g1
chr1 AUGUSTUS five_prime_utr 101 150 0.9 + . ID=g1.t1.5UTR1;Parent=g1.t1
chr1 AUGUSTUS start_codon 151 153 . + 0 Parent=g1.t1
chr1 AUGUSTUS CDS 151 200 1 + 0 ID=g1.t1.cds;Parent=g1.t1
chr1 AUGUSTUS CDS 301 400 1 + 1 ID=g1.t1.cds;Parent=g1.t1
chr1 AUGUSTUS CDS 501 599 1 + 0 ID=g1.t1.cds;Parent=g1.t1
chr1 AUGUSTUS stop_codon 597 599 . + 0 Parent=g1.t1
chr1 AUGUSTUS three_prime_utr 600 650 0.9 + . ID=g1.t1.3UTR1;Parent=g1.t1
chr1 AUGUSTUS transcript 1101 1450 1 - . ID=g2.t1;Parent=g2
chr1 AUGUSTUS three_prime_utr 1101 1120 1 - . ID=g2.t1.3UTR1;Parent=g2.t1
chr1 AUGUSTUS CDS 1121 1250 1 - 1 ID=g2.t1.cds;Parent=g2.t1
chr1 AUGUSTUS CDS 1351 1430 1 - 0 ID=g2.t1.cds;Parent=g2.t1
chr1 AUGUSTUS five_prime_utr 1431 1450 1 - . ID=g2.t1.5UTR1;Parent=g2.t1
"""
BED12 = """
chr1 100 650 T1 0 + 150 599 0 3 100,100,150, 0,200,400,
chr1 1100 1450 T2 0 - 1120 1430 0 2 150,100 0,250
"""
MINIPROT = """
##PAF P1 149 0 149 + chr1 2000 150 599 447 447 0 AS:i:700
chr1 miniprot mRNA 151 599 700 + . ID=MP000001;Rank=1;Identity=1.0000;Target=P1 1 149
chr1 miniprot CDS 151 200 90 + 0 Parent=MP000001;Rank=1;Identity=1.0000;Target=P1 1 17
chr1 miniprot CDS 301 400 180 + 1 Parent=MP000001;Rank=1;Identity=1.0000;Target=P1 18 50
chr1 miniprot CDS 501 599 170 + 0 Parent=MP000001;Rank=1;Identity=1.0000;Target=P1 51 149
chr1 miniprot stop_codon 597 599 0 + 0 Parent=MP000001;Rank=1
chr1 miniprot mRNA 1121 1430 300 - . ID=MP000002;Rank=1;Identity=1.0000;Target=P2 1 70
chr1 miniprot CDS 1351 1430 150 - 0 Parent=MP000002;Rank=1;Identity=1.0000;Target=P2 1 27
chr1 miniprot CDS 1121 1250 150 - 1 Parent=MP000002;Rank=1;Identity=1.0000;Target=P2 28 70
chr1 miniprot stop_codon 1121 1123 0 - 0 Parent=MP000002;Rank=1
"""
METAEUK = """
chr1 MetaEuk gene 151 599 700 + . Target_ID=P1;TCS_ID=P1|chr1|+|150
chr1 MetaEuk mRNA 151 599 700 + . Target_ID=P1;TCS_ID=P1|chr1|+|150_mRNA;Parent=P1|chr1|+|150
chr1 MetaEuk exon 151 200 90 + . Target_ID=P1;TCS_ID=P1a_exon_0;Parent=P1|chr1|+|150_mRNA
chr1 MetaEuk CDS 151 200 90 + . Target_ID=P1;TCS_ID=P1a_CDS_0;Parent=P1a_exon_0
chr1 MetaEuk exon 301 400 90 + . Target_ID=P1;TCS_ID=P1a_exon_1;Parent=P1|chr1|+|150_mRNA
chr1 MetaEuk CDS 301 400 90 + . Target_ID=P1;TCS_ID=P1a_CDS_1;Parent=P1a_exon_1
chr1 MetaEuk exon 501 599 90 + . Target_ID=P1;TCS_ID=P1a_exon_2;Parent=P1|chr1|+|150_mRNA
chr1 MetaEuk CDS 501 599 90 + . Target_ID=P1;TCS_ID=P1a_CDS_2;Parent=P1a_exon_2
chr1 MetaEuk gene 1121 1430 300 - . Target_ID=P2;TCS_ID=P2|chr1|-|1120
chr1 MetaEuk mRNA 1121 1430 300 - . Target_ID=P2;TCS_ID=P2|chr1|-|1120_mRNA;Parent=P2|chr1|-|1120
chr1 MetaEuk exon 1351 1430 90 - . Target_ID=P2;TCS_ID=P2a_exon_0;Parent=P2|chr1|-|1120_mRNA
chr1 MetaEuk CDS 1351 1430 90 - . Target_ID=P2;TCS_ID=P2a_CDS_0;Parent=P2a_exon_0
chr1 MetaEuk exon 1121 1250 90 - . Target_ID=P2;TCS_ID=P2a_exon_1;Parent=P2|chr1|-|1120_mRNA
chr1 MetaEuk CDS 1121 1250 90 - . Target_ID=P2;TCS_ID=P2a_CDS_1;Parent=P2a_exon_1
"""
DIALECTS = {
    "Ensembl GFF3": ENSEMBL_GFF3,
    "Ensembl GTF": ENSEMBL_GTF,
    "NCBI": NCBI,
    "FlyBase": FLYBASE,
    "WormBase": WORMBASE,
    "TAIR": TAIR,
    "AUGUSTUS GTF": AUGUSTUS_GTF,
    "AUGUSTUS GFF3": AUGUSTUS_GFF3,
}


def gff(text):
    """Put tabs between the first eight blanks of each row."""
    rows = (row if row.startswith("#") else "\t".join(row.split(None, 8)) for row in lines(text))
    return "\n".join(rows) + "\n"


def lines(text):
    return [row for row in text.strip().splitlines() if row]


def places(annotation, signal):
    found = places_of(annotation, signal, 20)
    return {(place.start, place.is_reverse) for place in found if not place.reason}


def row(start=101, end=200, strand="+", kind="exon", attributes="Parent=t1", phase="."):
    return f"chr1\tx\t{kind}\t{start}\t{end}\t.\t{strand}\t{phase}\t{attributes}\n"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_gives_the_same_transcripts_and_sites(write, dialect):
    annotation = read_annotation(write(gff(DIALECTS[dialect])))
    assert list(dict.fromkeys(t.exons for t in annotation.transcripts)) == EXONS
    assert annotation.format == ("GTF" if "GTF" in dialect else "GFF3")
    assert annotation.contigs == ["chr1"]
    assert not annotation.left_out
    for signal, expected in PLACES.items():
        assert places(annotation, signal) == expected, signal


@pytest.mark.parametrize("text", [MINIPROT, METAEUK])
def test_alignments_of_proteins_have_the_sites_of_coding_sequences(write, text):
    annotation = read_annotation(write(gff(text)))
    for signal in ("donor", "acceptor", "start", "stop"):
        assert places(annotation, signal) == PLACES[signal], signal
    for signal in ("tss", "polya"):  # an alignment ends where the protein does
        assert not places(annotation, signal)


def test_bed12_gives_the_same_transcripts_and_sites(write):
    text = "\n".join("\t".join(row.split()) for row in lines(BED12))
    annotation = read_annotation(write("track name=genes\n" + text + "\n"))
    assert annotation.format == "BED12"
    assert [t.exons for t in annotation.transcripts] == EXONS
    for signal, expected in PLACES.items():
        assert places(annotation, signal) == expected, signal


@pytest.mark.parametrize("change", ["crlf", "gzip", "unsorted", "fasta", "no end"])
def test_how_a_file_is_written_does_not_matter(write, change):
    text = gff(ENSEMBL_GFF3)
    if change == "unsorted":
        text = "".join(sorted(text.splitlines(keepends=True), reverse=True))
    if change == "fasta":
        text += "##FASTA\n>chr1\nACGT\nnot\ta\trow\n"
    data = text.encode()
    if change == "crlf":
        data = data.replace(b"\n", b"\r\n")
    if change == "gzip":
        data = gzip.compress(data)
    if change == "no end":
        data = data.rstrip(b"\n")
    annotation = read_annotation(write(data, "annotation"))
    assert {t.exons for t in annotation.transcripts} == set(EXONS)


def test_genes_biotypes_phases_and_lines_are_kept(write):
    one, two = read_annotation(write(gff(ENSEMBL_GFF3))).transcripts
    assert (one.name, one.gene, one.biotype) == ("transcript:G1.1", "gene:G1", "protein_coding")
    assert (one.line, one.phase, two.phase) == (3, 0, 0)
    assert one.cds == ((150, 200), (300, 400), (500, 599))
    assert two.biotype == "mRNA"
    gtf = read_annotation(write(gff(DIALECTS["Ensembl GTF"]))).transcripts[0]
    assert (gtf.name, gtf.gene, gtf.stop_codon) == ("T1", "G1", ((596, 599),))


def test_sources_restrict_the_second_column(write):
    text = gff(WORMBASE) + row(attributes="Parent=other").replace("\tx\t", "\tWormBase_te\t")
    path = write(text)
    assert len(read_annotation(path).transcripts) == 3
    assert len(read_annotation(path, sources=["WormBase"]).transcripts) == 2
    with pytest.raises(InputFormatError, match=r"got havana; the second column has WormBase \(1"):
        read_annotation(path, sources=["havana"])


def test_a_coding_sequence_of_a_gene_or_of_its_own_is_a_transcript(write):
    text = row(kind="gene", attributes="ID=gene-1") + row(
        kind="CDS", attributes="ID=c;Parent=gene-1"
    )
    text += row(301, 400, kind="CDS", attributes="ID=cds-2;product=x", phase="0")
    annotation = read_annotation(write(text))
    assert [t.exons for t in annotation.transcripts] == [((100, 200),), ((300, 400),)]


def test_noncoding_exons_and_introns_of_sgd(write):
    text = row(101, 150, kind="noncoding_exon") + row(151, 180, kind="intron")
    annotation = read_annotation(write(text + row(181, 220, kind="noncoding_exon")))
    assert annotation.transcripts[0].introns == [(150, 180)]


def test_a_protein_without_a_row_of_its_own_is_no_transcript(write):
    text = row() + row(101, 160, kind="CDS", attributes="Parent=t1,t1-Protein;", phase="0")
    (transcript,) = read_annotation(write(text)).transcripts
    assert (transcript.name, transcript.cds) == ("t1", ((100, 160),))


def test_overlapping_and_touching_exons_are_joined(write):
    text = row(101, 200) + row(150, 260) + row(261, 280) + row(301, 400)
    assert read_annotation(write(text)).transcripts[0].exons == ((100, 280), (300, 400))


def test_alternative_coding_sequences_of_one_transcript(write):
    # as in the example of the GFF3 specification
    text = row(101, 400) + row(151, 300, kind="CDS", attributes="ID=a;Parent=t1", phase="0")
    text += row(181, 300, kind="CDS", attributes="ID=b;Parent=t1", phase="0")
    annotation = read_annotation(write(text))
    assert [t.cds for t in annotation.transcripts] == [((150, 300),), ((180, 300),)]
    text = row(101, 400) + row(151, 200, kind="CDS", attributes="ID=a.1;Parent=t1", phase="0")
    text += row(251, 300, kind="CDS", attributes="ID=a.2;Parent=t1", phase="0")
    (transcript,) = read_annotation(write(text)).transcripts
    assert transcript.cds == ((150, 200), (250, 300))


def test_exons_of_a_gene_with_transcripts_are_left_out(write):
    text = row(kind="mRNA", attributes="ID=t1;Parent=g1") + row(attributes="Parent=t1")
    annotation = read_annotation(write(text + row(attributes="Parent=g1")))
    assert [t.name for t in annotation.transcripts] == ["t1"]
    assert "transcripts of its own" in annotation.left_out[0].reason


def test_bed12_has_no_sources(write):
    path = write("\t".join(BED12.split("\n")[1].split()) + "\n")
    with pytest.raises(InputFormatError, match="sources must be left out for BED12") as caught:
        read_annotation(path, sources=["x"])
    assert caught.value.path == str(path)


def test_transcripts_of_two_genes_with_one_name_are_two(write):
    name = 'transcript_id "unknown_transcript_1"'
    text = row(attributes=f'gene_id "A"; {name};') + row(
        301, 400, attributes=f'gene_id "B"; {name};'
    )
    annotation = read_annotation(write(text))
    assert [(t.name, t.gene, t.exons) for t in annotation.transcripts] == [
        ("unknown_transcript_1", "A", ((100, 200),)),
        ("unknown_transcript_1", "B", ((300, 400),)),
    ]


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
    assert [left.name for left in annotation.left_out] == ["m5", "m3"]
    assert "part of a longer transcript" in annotation.left_out[0].reason
    assert places(annotation, "tss") == {(100, False)}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (row(strand="."), "transcript without a strand"),
        (row(strand="?"), "transcript without a strand"),
        (row() + row(301, 400, strand="-"), "two strands or contigs"),
        (row() + row(301, 400).replace("chr1", "chr2"), "two strands or contigs"),
        (row(attributes="ID=e1"), "belongs to no transcript"),
    ],
)
def test_transcripts_that_cannot_be_used_are_left_out_with_a_reason(write, text, reason):
    annotation = read_annotation(write(text + row(attributes="Parent=good")))
    assert [t.name for t in annotation.transcripts] == ["good"]
    (left_out,) = annotation.left_out
    assert reason in left_out.reason
    assert (left_out.line, left_out.start) == (1, 100)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (row() + row(0, 5), 2, "start must be 1 or more .*, got 0"),
        (row() + row(200, 101), 2, "start must not be after end, got 200-101"),
        (row() + row("1.5"), 2, "must be whole numbers of up to 18 digits, got '1.5'"),
        (row() + row(-5), 2, "must be whole numbers of up to 18 digits, got '-5'"),
        (row() + row(strand="plus"), 2, r"strand must be \+, -, . or \?, got 'plus'"),
        (row() + "chr1\tx\texon\n", 2, "nine tab-separated fields, got 3"),
        (row(attributes="t1"), 1, "ninth field must have attributes .*, got 't1'"),
        ("chr1\t1\t2\tn\t0\t+\n", 1, "nine tab-separated fields .* this looks like BED"),
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
        ("c\t5\t-9\tn\t0\t+\t5\t5\t0\t2\t3,2\t0,2\n", 1, "must be whole numbers .*, got '-9'"),
    ],
)
def test_bad_rows_are_refused_with_file_and_line(write, text, line, message):
    path = write(text)
    with pytest.raises(InputFormatError, match=message) as caught:
        read_annotation(path)
    assert (caught.value.path, caught.value.line) == (str(path), line)


def test_a_truncated_gzip_is_refused(write):
    data = gzip.compress(gff(ENSEMBL_GFF3).encode())
    with pytest.raises(InputFormatError, match="the file is truncated"):
        read_annotation(write(data[:-20]))


def test_an_annotation_without_introns_says_what_it_has(write):
    annotation = read_annotation(write(row() + row(kind="gene", attributes="ID=g")))
    with pytest.raises(
        InputFormatError, match=r"must have introns .* 1 transcripts of exon \(1\), g"
    ):
        places_of(annotation, "donor", 20)
    with pytest.raises(InputFormatError, match="must have coding sequences for stop sites"):
        places_of(annotation, "stop", 20)


@pytest.mark.parametrize(
    ("text", "signal", "reason"),
    [
        (row(101, 200) + row(211, 300), "donor", "intron shorter than min_intron"),
        (row() + row(kind="CDS", phase="0"), "tss", "ends where its coding sequence does"),
        (row() + row(kind="CDS", phase="0"), "polya", "ends where its coding sequence does"),
        (row() + row(150, 182, kind="CDS", phase="1"), "start", "its first phase is not 0"),
        (row() + row(150, 181, kind="CDS", phase="0"), "stop", "no multiple of three"),
        (row(1, 300) + row(100, 101, kind="CDS", phase="0") + row(200, 209, kind="CDS"), "start",
         "codon that spans an intron"),
    ],
)  # fmt: skip
def test_sites_that_are_left_out_of_a_transcript(write, text, signal, reason):
    for place in places_of(read_annotation(write(text)), signal, 20):
        assert reason in place.reason


def test_introns_against_gffutils(shared_data, tmp_path):
    gffutils = pytest.importorskip("gffutils")
    source = shared_data / "genomes_1pct" / "a_thaliana.1pct.gff3.gz"
    rows = [r for r in gzip.open(source, "rt") if "\tTAIR10\t" in r]
    path = tmp_path / "tair.gff3"
    path.write_text("".join(rows))
    database = gffutils.create_db(
        str(path), ":memory:", merge_strategy="create_unique", keep_order=False
    )
    exons, expected = {}, Counter()
    for exon in database.features_of_type(("exon", "pseudogenic_exon"), order_by=("start",)):
        for parent in exon.attributes["Parent"]:
            exons.setdefault(parent, []).append(exon)
    for of_transcript in exons.values():
        for left, right in pairwise(of_transcript):
            expected[(left.seqid, left.end, right.start - 1)] += 1
    found = Counter(
        (t.contig, *intron) for t in read_annotation(path).transcripts for intron in t.introns
    )
    assert found == expected
    assert len(found) == 1537
