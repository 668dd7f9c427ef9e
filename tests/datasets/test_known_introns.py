"""Introns known of a genome, from each format, in a genome written by hand."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from seqmtl.datasets.known_introns import read_known_introns
from seqmtl.exceptions import SeqmtlError
from seqmtl.files.bgzip import BGZIP_END, bgzip
from seqmtl.linear_model.site import Site

SITE = {"donor": Site(8, 2, "GT", "donor"), "acceptor": Site(8, 2, "AG", "acceptor")}
INTRONS = [(100, 150, "+"), (300, 380, "-"), (600, 640, "+")]


@pytest.fixture
def genome(write):
    letters = np.random.default_rng(0).choice(list("CT"), 1000)
    for start, end, strand in INTRONS:
        letters[start : start + 2] = list("GT" if strand == "+" else "CT")
        letters[end - 2 : end] = list("AG" if strand == "+" else "AC")
    return write(f">x\n{'T' * 500}\n>chr\n{''.join(letters)}\n", "g.fa")


def _bed6():
    return "".join(f"chr\t{s}\t{e}\tr\t1\t{strand}\n" for s, e, strand in INTRONS)


def _bed12():
    return "".join(
        f"chr\t{s - 20}\t{e + 20}\tr\t1\t{strand}\t{s}\t{s}\t0\t2\t20,20\t0,{e - s + 20}\n"
        for s, e, strand in INTRONS
    )


def _star():
    return "".join(
        f"chr\t{s + 1}\t{e}\t{1 + (strand == '-')}\t0\t0\t1\t0\t9\n" for s, e, strand in INTRONS
    )


def _gff():
    text = "##gff-version 3\n"
    for k, (s, e, strand) in enumerate(INTRONS):
        tail = f"\t.\t{strand}\t.\t"
        text += f"chr\tx\tmRNA\t{s - 49}\t{e + 50}{tail}ID=t{k}\n"
        text += f"chr\tx\texon\t{s - 49}\t{s}{tail}Parent=t{k}\n"
        text += f"chr\tx\texon\t{e + 1}\t{e + 50}{tail}Parent=t{k}\n"
    return text


def _introns_of_transcripts():
    """Only introns, which name their transcripts."""
    return "".join(
        f"chr\tx\tintron\t{s + 1}\t{e}\t.\t{strand}\t.\tID=i{k};Parent=a{strand},b{strand}\n"
        for k, (s, e, strand) in enumerate(INTRONS)
    )


def _introns_of_gtf():
    return "".join(
        f'chr\tx\tintron\t{s + 1}\t{e}\t.\t{strand}\t.\tgene_id "g"; transcript_id "t{strand}";\n'
        for s, e, strand in INTRONS
    )


def _hints():
    return "".join(
        f"chr\tb2h\tintron\t{s + 1}\t{e}\t5\t{strand}\t.\tmult=5;pri=4;src=E\n"
        for s, e, strand in INTRONS
    )


def _augustus():
    """A hint that is no intron of a gene, and the genes that AUGUSTUS predicts with it."""
    hint = "chr\tb2h\tintron\t701\t780\t5\t+\t.\tmult=5;pri=4;src=E\n"
    return hint + _gff().replace("##gff-version 3\n", "")


def _with_spike_in():
    return _star() + "ERCC-00002\t101\t200\t1\t1\t0\t9\t0\t30\n"


def _read(path, genome):
    models = [SimpleNamespace(length=20, site=site) for site in SITE.values()]
    return read_known_introns(str(path), "o", str(genome), models)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("i.bed", _bed6),
        ("i.bed", _bed12),
        ("SJ.out.tab", _star),
        ("SJ.out.tab", _with_spike_in),
        ("i.gff3", _gff),
        ("i.gff3.bgz", _gff),
        ("genes", _gff),
        ("augustus.hints.gff", _augustus),
        ("introns.gff3", _introns_of_transcripts),
        ("introns.gtf", _introns_of_gtf),
        ("hints.gff", _hints),
        ("hints.txt", _hints),
    ],
)
def test_every_format_gives_the_same_sites(write, genome, name, text):
    data = text().encode()
    known = _read(write(bgzip(data) + BGZIP_END if name.endswith(".bgz") else data, name), genome)
    first = int(known.genome.starts[known.genome.index("chr")])
    found = [
        sorted(zip((sites.starts - first).tolist(), sites.is_reverse.tolist(), strict=True))
        for sites in (known.donors, known.acceptors)
    ]
    assert found == [
        [(100, False), (378, True), (600, False)],
        [(148, False), (300, True), (638, False)],
    ]
    assert sorted(known.lengths.tolist()) == [40, 50, 80]


def test_introns_on_contigs_that_the_genome_lacks_are_counted(write, genome, caplog):
    _read(write(_with_spike_in(), "SJ.out.tab"), genome)
    told = (
        r"SJ.out.tab: 1 of 4 introns are left out, on 1 contigs that .*g.fa lacks \(such as ERCC-0"
    )
    assert re.search(told, caplog.text)


def test_introns_that_are_left_out_are_counted(write, genome, caplog):
    # of pyrimidines, at the end of the contig, and of fewer reads than another one at its donor
    rows = ["800\t850\tr\t1\t.", "950\t998\tr\t1\t+", "100\t500\tr\t1\t+"]
    text = _bed6().replace("100\t150\tr\t1", "100\t150\tr\t99")
    known = _read(write(text + "".join(f"chr\t{row}\n" for row in rows), "i.bed"), genome)
    assert sorted(known.lengths.tolist()) == [40, 48, 50, 80]
    assert [record.getMessage().partition("i.bed: ")[2] for record in caplog.records] == [
        "1 introns are left out: junction without a strand, whose letters are not GT-AG, GC-AG or "
        "AT-AC",
        "1 of 4 donors are left out: letters at the site are not the signal's",
        "2 of 5 acceptors are left out: window over an end of the contig; junction with less than "
        "min_share of the reads of one that overlaps it",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chr\t100\t150\tr\t1\t+\n", "at least 2 donors"),
        ("chr9\t100\t150\tr\t1\t+\n", "got 'chr9' (asked for: chr9); use the genome that"),
    ],
)
def test_too_few_introns_or_another_genome_is_refused(write, genome, text, message):
    with pytest.raises(SeqmtlError) as error:
        _read(write(text, "i.bed"), genome)
    assert message in str(error.value)
    assert "i.bed" in str(error.value)
