"""Genomes: whole, contig by contig, and in pieces."""

from __future__ import annotations

import gzip
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqmtl._messages import forget_logged, messages_from
from seqmtl.exceptions import InputFormatError, MemoryLimitError
from seqmtl.io import fasta, load_genome, load_genomes, read_contigs, read_windows
from seqmtl.io.genome import contig_lengths
from seqmtl.sequences import Windows, concatenate, decode

TEXT = ">I first\nACGT\nacgt\nNR\n>II\nGGG\n"


def test_contigs_lie_between_padding(write):
    path = write(gzip.compress(TEXT.encode()))
    for asked, padding in ((0, 1), (1, 1), (7, 7)):
        genome = load_genome(path, padding=asked)
        gap = "N" * padding
        assert decode(genome.codes) == f"{gap}ACGTACGTNN{gap}GGG{gap}"
        assert genome.names == ("I", "II")
        assert genome.starts.tolist() == [padding, 2 * padding + 10]
        assert genome.lengths.tolist() == [10, 3]
        assert genome.padding == padding
        assert genome.codes.flags.writeable
    assert contig_lengths(path) == {"I": 10, "II": 3}
    with pytest.raises(ValueError, match="padding must be 0 or more, got -1"):
        load_genome(path, padding=-1)


def test_several_genomes_share_a_buffer(write):
    paths = {"worm": write(TEXT, "worm.fa"), "fly": write(">I\nTTTT\n>X\nCC\n", "fly.fa")}
    genomes = load_genomes(paths, padding=2)
    worm, fly = genomes.values()
    assert worm.codes is fly.codes
    assert decode(worm.contig("I")) == "ACGTACGTNN"
    assert decode(fly.codes[slice(*fly.span)]) == "TTTTNNCC"
    parts = [
        Windows(g.codes, [g.starts[0]], 2, task_names=(name,), locator=g.locator)
        for name, g in genomes.items()
    ]
    joined = concatenate(parts)
    assert joined.codes is worm.codes
    assert joined.sequences() == ["AC", "TT"]
    assert joined.names.tolist() == ["I:0-2(+)", "I:0-2(+)"]
    assert joined.tasks.tolist() == ["worm", "fly"]


def test_bad_genomes_are_refused_by_each_reader(write):
    """What else is wrong with FASTA: tests of the FASTA reader."""
    for content, message in (("", "it is empty"), (">I\nAC\n>\nGT\n", "a contig must have a name")):
        path = write(content)
        for read in (lambda path: load_genome(path, padding=3), contig_lengths):
            with pytest.raises(InputFormatError, match=message):
                read(path)
        with pytest.raises(InputFormatError, match=message):
            list(read_contigs(path))


@given(
    st.lists(st.text("ACGTN", min_size=1, max_size=40), min_size=1, max_size=4),
)
def test_contigs_are_read_one_by_one(tmp_path_factory, sequences):
    path = tmp_path_factory.mktemp("contigs") / "genome.fa"
    path.write_text("".join(f">c{i}\n{s[:7]}\n{s[7:]}\n" for i, s in enumerate(sequences)))
    contigs = list(read_contigs(path))
    assert [(contig.name, decode(contig.codes)) for contig in contigs] == [
        (f"c{i}", sequence) for i, sequence in enumerate(sequences)
    ]


@pytest.fixture
def plain(write):
    return write(">I first\nACGT\nacgt\nNR\n>II\nGGGA\nTC\n", "genome.fa")


def test_contigs_that_are_not_asked_for_have_no_bases(plain):
    other, selected = read_contigs(plain, only={"II", "absent"})
    assert (other.name, other.codes.size) == ("I", 0)
    assert (selected.name, decode(selected.codes)) == ("II", "GGGATC")
    genome = load_genome(plain, padding=2, only=["II"])
    assert genome.names == ("II",)
    assert decode(genome.codes) == "NNGGGATCNN"


def test_an_index_beside_the_file_is_not_read(plain):
    plain.with_name(f"{plain.name}.fai").write_text("I\t6\t30\t4\t5\nII\t10\t9\t4\t5\n")
    assert contig_lengths(plain) == {"I": 10, "II": 6}


def test_contigs_tell_bytes_read_and_ignore_case(write):
    path = write(">a\nACgtN\nnRrA\n>b\nacG\n")
    read = []
    contigs = list(read_contigs(path, on_read=read.append))
    assert [(c.name, decode(c.codes)) for c in contigs] == [("a", "ACGTNNNNA"), ("b", "ACG")]
    assert sum(read) == path.stat().st_size
    with pytest.raises(InputFormatError, match="IUPAC nucleotide letters, got '#'"):
        list(read_contigs(write(">a\nAC#\n")))


def test_a_part_of_a_contig(write):
    (contig,) = read_contigs(write(">a\nACgtN\nnRrA\n"))
    for begin, end in ((-3, 4), (2, 5), (5, 99), (9, 12)):
        part = contig.between(begin, end)
        assert part.start == max(0, begin)
        assert decode(part.codes) == "ACGTNNNNA"[max(0, begin) : end]
        again = part.between(begin + 1, end - 1)
        assert decode(again.codes) == "ACGTNNNNA"[max(0, begin + 1) : end - 1]


@pytest.mark.parametrize(
    "text", ["*" * 50, "-" * 30 + "ACGT", "X" * 20, "MKVRSHDYKWTGAA", "nnnnnna"]
)
def test_letters_that_are_hardly_nucleotides_are_told_of_once(write, caplog, text):
    path = write(f">a\n{text}\n", "g.fa")
    with messages_from(logging.ERROR):
        contig_lengths(path)
    for _ in range(2):  # commands
        caplog.clear()
        load_genome(path, padding=1)
        assert "g.fa: only" in caplog.text
        contig_lengths(path)
        assert list(read_contigs(path))
        assert caplog.text.count("A, C, G or T; is it a nucleotide sequence?") == 1
        forget_logged()
    caplog.clear()
    load_genome(write(f">a\n{'N' * 40}\n>b\n{'ACGU' * 10}\n", "g.fa"), padding=1)
    assert "nucleotide sequence?" not in caplog.text  # half of it may be unknown


def test_sequences_that_do_not_fit_into_memory_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "g.fa.gz"
    path.write_bytes(gzip.compress(b">a\n" + b"ACGT\n" * 10_000))
    monkeypatch.setattr(fasta, "CHECKED", 1000)
    monkeypatch.setattr("seqmtl._memory.available_memory", lambda: 1500)
    readers = (
        lambda path: load_genome(path, padding=1),
        lambda path: list(read_contigs(path)),
        read_windows,
    )
    for read in readers:
        with pytest.raises(MemoryLimitError, match=r"g\.fa\.gz: holding .* Gb and the next bases"):
            read(path)


def test_a_genome_is_told_of_once_by_a_command(plain, caplog):
    caplog.set_level("INFO")
    forget_logged()
    with messages_from(logging.WARNING):
        load_genome(plain, padding=1)  # unheard
    for _ in range(2):
        load_genome(plain, padding=1)
    assert caplog.text.count(f"{plain}: ") == 1
    forget_logged()
    load_genome(plain, padding=1)
    assert caplog.text.count(f"{plain}: ") == 2
