"""Datasets from splice junctions: strands, evidence, decoys; against annotation and brute force."""

import logging

import numpy as np
import pytest

from seqmtl.datasets import read_config, write_dataset
from seqmtl.datasets.introns import max_overlapping
from seqmtl.exceptions import InputFormatError, SeqmtlError
from tests.datasets.test_build import (
    annotated,
    config_text,
    make_genome,
    read_excluded,
    read_rows,
    site_of,
    write_inputs,
)
from tests.oracles.annotation import reverse_complement

REACH = 250


def introns_of(genes):
    return [(contig, exons[0][1], exons[1][0], strand) for contig, strand, exons in genes]


def star(introns, reads=10):
    """Return SJ.out.tab; an intron may have its own number of reads as a fifth value."""
    lines = []
    for contig, start, end, strand, *own in introns:
        n = own[0] if own else reads
        lines.append(f"{contig}\t{start + 1}\t{end}\t{'.+-'.index(strand)}\t0\t0\t{n}\t0\t20\n")
    return "".join(lines)


def build(folder, text, junctions, more="", signal=None):
    (folder / "x.sj").write_text(junctions)
    text = text.replace('annotation = "x.gff3"', 'junctions = "x.sj"') + more
    (folder / "config.toml").write_text(text)
    return write_dataset(read_config(folder / "config.toml", signal=signal), folder / "out")


def sites(folder, label="1"):
    return {site_of(row) for row in read_rows(folder) if row["label"] == label}


@pytest.fixture
def genome(tmp_path):
    contigs, genes = make_genome(1)
    write_inputs(tmp_path, contigs, genes)
    return tmp_path, contigs, genes


@pytest.mark.parametrize("signal", ["donor", "acceptor"])
@pytest.mark.parametrize("strands", ["given", "undefined", "wrong"])
def test_sites_are_those_of_the_annotation_whatever_the_strands(genome, signal, strands):
    folder, _, genes = genome
    (folder / "config.toml").write_text(config_text())
    write_dataset(read_config(folder / "config.toml", signal=signal), folder / "out")
    expected, n_excluded = sites(folder), len(read_excluded(folder))
    assert expected <= annotated(genes, signal)
    turned = {"given": "+-", "undefined": "..", "wrong": "-+"}[strands]
    introns = [(c, s, e, turned["+-".index(strand)]) for c, s, e, strand in introns_of(genes)]
    build(folder, config_text(), star(introns), signal=signal)
    assert len(expected) > 20
    assert sites(folder) == expected
    assert len(read_excluded(folder)) == n_excluded


def test_decoys_are_never_at_weak_sites(genome):
    folder, contigs, genes = genome
    introns = introns_of(genes)
    weak = [(contig, start + 7, end, strand, 1) for contig, start, end, strand in introns]
    build(folder, config_text(tables="[decoys]\nclearance = 1"), star(introns + weak))
    decoys = sites(folder, "-1")
    assert len(decoys) > 100
    for contig, start, strand in decoys:
        site = contigs[contig][start : start + 2]
        assert (site if strand == "+" else reverse_complement(site)) == "GT"
        assert (contig, start, strand) not in annotated(genes)
        for c, s, e, side, _ in weak:
            assert (contig, start, strand) != (c, s if side == "+" else e - 2, side)
    n_reverse = sum(strand == "-" for _, _, strand in decoys)
    assert 20 < n_reverse < len(decoys) - 20


def test_few_reads_and_small_shares_are_left_out(genome):
    folder, _, genes = genome
    introns = introns_of(genes)
    few, minor, good = introns[0], introns[1], introns[2:]
    rival = (minor[0], minor[1] - 200, minor[2] + 200, minor[3], 1000)
    build(folder, config_text(), star([(*few, 2), (*minor, 49), rival, *good]))
    excluded = [row for row in read_excluded(folder) if "junction" in row["reason"]]
    assert {(row["contig"], row["reason"]) for row in excluded} == {
        (few[0], "junction with fewer reads than min_reads"),
        (minor[0], "junction with less than min_share of the reads of one that overlaps it"),
    }
    more = "\n[junctions]\nmin_reads = 2\nmin_share = 0.04\n"
    build(folder, config_text(), star([(*few, 2), (*minor, 49), rival, *good]), more)
    assert not [row for row in read_excluded(folder) if "junction" in row["reason"]]


def test_the_remedy_for_hints_of_one_read_is_given(genome):
    """Hints of one read have no mult=, and ProtHint writes its coverage in column 6."""
    folder, _, genes = genome
    introns = introns_of(genes)
    text = "".join(
        f"{c}\tb2h\tintron\t{s + 1}\t{e}\t.\t{strand}\t.\tpri=4;src=E\n"
        for c, s, e, strand in introns
    )
    n = len(introns)
    told = (
        rf"none of the {n} donor .* min_reads \({n}\); .* more reads than 1: set min_reads = 1 in"
    )
    with pytest.raises(SeqmtlError, match=told):
        build(folder, config_text(), text)
    build(folder, config_text(), text, "\n[junctions]\nmin_reads = 1\n")
    assert len(sites(folder)) == n


@pytest.mark.parametrize("reads", [(1, 9), (0, 0)])
def test_no_number_of_reads_is_a_remedy_if_some_have_enough_or_none_has_any(genome, reads):
    folder, _, genes = genome
    introns = introns_of(genes)
    text = star([(*intron, reads[i % 2]) for i, intron in enumerate(introns)])
    with pytest.raises(SeqmtlError, match="fewer reads than min_reads") as error:
        build(folder, config_text(), text, "\n[sites]\nmin_intron = 10000\n")
    assert "set min_reads" not in str(error.value)


def test_a_warning_counts_junctions_of_few_reads(genome, caplog):
    folder, _, genes = genome
    introns = introns_of(genes)
    few, many = introns[:-8], introns[-8:]
    build(folder, config_text(), star([*((*i, 2) for i in few), *((*i, 3) for i in many)]))
    told = f"{len(few)} of {len(introns)} junctions are left out, as they have fewer than 3 reads"
    assert told in caplog.text
    caplog.clear()
    build(folder, config_text(), star([*((*i, 2) for i in introns[:2]), *introns[2:]]))
    assert "fewer than" not in caplog.text


def test_conflicts_between_strands(genome, caplog):
    folder, _, genes = genome
    introns = introns_of(genes)
    turned = [(c, s, e, "-+"["+-".index(x)], 4) for c, s, e, x in introns]
    odd = [("chr1", 3000, 3100, "+", 9), ("chr1", 3000, 3100, "-", 5)]  # no letters of an intron
    tie = [("chr1", 3200, 3300, "+", 9), ("chr1", 3200, 3300, "-", 9)]
    unknown = [("chr1", 3400, 3500, ".", 9)]
    with caplog.at_level(logging.INFO, logger="seqmtl"):
        build(folder, config_text(), star(introns + turned + odd + tie + unknown))
    assert "letters of introns gave the strand of 0 junctions, and turned that of 30" in caplog.text
    assert "2 junctions are on both strands; the one with more reads counts" in caplog.text
    rows = read_excluded(folder)
    assert [row["start"] for row in rows if "on both strands" in row["reason"]] == ["3200"]
    assert [row["start"] for row in rows if "without a strand" in row["reason"]] == ["3400"]
    assert [row["strand"] for row in rows if row["start"] == "3000"] == ["+"]
    expected = sites(folder)
    build(folder, config_text(), star(introns))
    assert expected == sites(folder)


def test_the_strongest_overlap_is_found_by_brute_force():
    rng = np.random.default_rng(0)
    for _ in range(50):
        starts = rng.integers(1, 60, size=20)
        ends = starts + rng.integers(1, 30, size=20)
        reads = rng.integers(0, 9, size=20)
        expected = [
            max(n for s, e, n in zip(starts, ends, reads, strict=True) if s < end and start < e)
            for start, end in zip(starts, ends, strict=True)
        ]
        assert max_overlapping(starts, ends, reads).tolist() == expected


def test_some_contigs_may_be_missing(genome):
    folder, _, genes = genome
    introns = introns_of(genes)
    more = [("scaffold9", 100, 200, ".", 9)]
    with pytest.raises(InputFormatError, match="allow_missing_contigs = true leaves them out"):
        build(folder, config_text(), star(introns + more))
    build(folder, config_text(), star(introns + more), "allow_missing_contigs = true\n")
    rows = [row for row in read_excluded(folder) if row["contig"] == "scaffold9"]
    assert [row["reason"] for row in rows] == ["contig that the FASTA lacks"]


def test_decoys_come_from_the_whole_genome_by_default(genome):
    folder, _, genes = genome
    introns = introns_of(genes)[::3]
    build(folder, config_text(tables="[decoys]\nratio = 20"), star(introns))
    away = [
        (contig, start)
        for contig, start, _ in sites(folder, "-1")
        if all(contig != c or not s - REACH <= start < e + REACH for c, s, e, _ in introns)
    ]
    assert len(away) > 20


@pytest.mark.parametrize("signal", ["donor", "acceptor"])
def test_junctions_that_all_lack_a_strand_are_counted_and_refused(genome, signal):
    folder, contigs, _ = genome
    name, bases = next(iter(contigs.items()))
    ends = [bases[s : s + 2] + bases[s + 98 : s + 100] for s in range(1000, len(bases) - 100)]
    motifs = {"GTAG", "GCAG", "ATAC"} | {reverse_complement(m) for m in ("GTAG", "GCAG", "ATAC")}
    starts = [1000 + i for i, letters in enumerate(ends) if letters.upper() not in motifs][:30]
    introns = [(name, start, start + 100, ".") for start in starts]
    text = config_text() + '\n[sites]\nconsensus = "all"\n'
    with pytest.raises(SeqmtlError, match=f"none of the 30 {signal} sites .* without a strand"):
        build(folder, text, star(introns), signal=signal)


def test_other_evidence_of_the_same_introns_gives_the_same_sites(genome):
    folder, _, genes = genome
    introns = introns_of(genes)
    longer = [(c, s, e + 9, x, 1) if x == "+" else (c, s - 9, e, x, 1) for c, s, e, x in introns]
    # reads of both strands count together where letters tell the strand
    halves = [(c, s, e, x, 2) for c, s, e, _ in introns for x in "+-"]
    build(folder, config_text(), star(introns))
    expected = sites(folder)
    for junctions, more in (
        (longer + introns, ""),
        (halves, "\n[junctions]\nmin_reads = 4\n"),
    ):
        build(folder, config_text(), star(junctions), more)
        assert sites(folder) == expected


def test_junctions_of_another_genome_are_refused(genome):
    folder, contigs, genes = genome
    introns, length = introns_of(genes), len(contigs["chr1"])
    renamed = [(f"{c}.1", *rest) for c, *rest in introns]
    moved, beyond = ([(c, s + by, e + by, x) for c, s, e, x in introns] for by in (3, length))
    for junctions, message in (
        (renamed, r"x.sj:1: .*chr1.1.*contig_names"),
        (moved, r"must be GT-AG, GC-AG or AT-AC .* on one strand, got \d of 30; check"),
        (beyond, "can be used: site beyond the end of its contig"),
    ):
        with pytest.raises(SeqmtlError, match=message):
            build(folder, config_text(), star(junctions))
