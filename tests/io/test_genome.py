"""Genomes: whole, contig by contig, in pieces, and by an index."""

from __future__ import annotations

import gzip
import logging
import os

import numpy as np
import pytest
from Bio import SeqIO

from seqmtl._messages import forget_logged, messages_from
from seqmtl.exceptions import InputFormatError, MemoryLimitError
from seqmtl.files.bgzip import BGZIP_END, bgzip
from seqmtl.io import fasta, load_genome, load_genomes, read_contigs, read_windows
from seqmtl.io.genome import contig_lengths, index_is_current
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
        Windows(g.codes, [g.starts[0]], 2, task_names=(name,), locator=g.contigs.window_names)
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


@pytest.fixture
def plain(write):
    return write(">I first\nACGT\nacgt\nNR\n>II\nGGGA\nTC\n", "genome.fa")


def write_index(path) -> None:
    """Write an index as samtools faidx does, for lines that end in LF."""
    place, rows = 0, []
    for record in path.read_text().split(">")[1:]:
        header, *lines = record.split("\n")
        widths = f"{len(lines[0])}\t{len(lines[0]) + 1}"
        offset = place + len(header) + 2
        rows.append(f"{header.split()[0]}\t{sum(map(len, lines))}\t{offset}\t{widths}\n")
        place += 1 + len(record)
    path.with_name(f"{path.name}.fai").write_text("".join(rows))


def test_an_index_beside_the_file_is_used_while_it_fits(plain):
    assert not index_is_current(plain)
    write_index(plain)
    assert index_is_current(plain)
    assert decode(load_genome(plain, padding=1, only=["II"]).contig("II")) == "GGGATC"
    plain.write_text(plain.read_text().replace("GGGA", "GG A"))
    os.utime(plain, (0, 0))
    with pytest.raises(InputFormatError, match=r"'II'.* must hold 6 IUPAC .* remove its index"):
        load_genome(plain, padding=1, only=["II"])


def test_an_index_saves_reading_contigs_that_are_not_asked_for(plain):
    options = {"only": {"II", "absent"}}
    contigs = [list(read_contigs(plain, **options))]
    (whole,) = (c for c in read_contigs(plain) if c.name == "II")
    loaded = [load_genome(plain, padding=2, only=["II"])]
    write_index(plain)
    text = plain.read_text()
    plain.write_text(text.replace("A", "#", 1))  # in I: all of it can no longer be read
    os.utime(plain, (0, 0))
    with pytest.raises(InputFormatError, match="got '#'"):
        load_genome(plain, padding=2)
    contigs.append(list(read_contigs(plain, **options)))
    loaded.append(load_genome(plain, padding=2, only=["II"]))
    for other, selected in contigs:
        assert (other.name, other.codes.size) == ("I", 0)
        assert selected.name == "II"
        np.testing.assert_array_equal(selected.codes, whole.codes)
    for genome in loaded:
        assert genome.names == ("II",)
        assert decode(genome.contig("II")) == "GGGATC"
        assert decode(genome.codes) == "NNGGGATCNN"


def test_a_broken_index_is_not_used(plain, caplog):
    write_index(plain)
    index = plain.with_name(f"{plain.name}.fai")
    first, rest = index.read_text().split("\n", 1)
    contents = ["", "I\t10\n"]
    for column in (1, 2, 3, 4):
        for number in ("9" * 5000, "9" * 28, "9" * 18, "-1", "0", "", "x"):
            fields = first.split("\t")
            fields[column] = number
            contents.append("\t".join(fields) + "\n" + rest)
    for content in contents:
        index.write_text(content)
        assert not index_is_current(plain)
    assert contig_lengths(plain) == {"I": 10, "II": 6}
    assert f"{index} does not match the current {plain} and is not used" in caplog.text


@pytest.mark.parametrize("index", [b"", b"\0" * 8, b"\1" + b"\0" * 7 + b"\x99" * 16, b"no index"])
def test_indexes_of_a_compressed_file_are_never_trusted(tmp_path, plain, index):
    """A .gzi and a .fai that are damaged, or of another genome, do not lead to other bases."""
    path = tmp_path / "genome.fa.gz"
    path.write_bytes(bgzip(plain.read_bytes()) + BGZIP_END)
    (tmp_path / "genome.fa.gz.gzi").write_bytes(index)
    (tmp_path / "genome.fa.gz.fai").write_text("I\t6\t30\t4\t5\nII\t10\t9\t4\t5\n")
    assert contig_lengths(path) == {"I": 10, "II": 6}
    assert decode(load_genome(path, padding=1, only=["II"]).contig("II")) == "GGGATC"
    contigs = read_contigs(path, only=["II"])
    assert "".join(decode(contig.codes) for contig in contigs) == "GGGATC"


CHANGES = {
    "longer": ">I first\nACGT\nacgt\nNR\n>II\nGGGA\nTCAA\n",
    "shorter": ">I first\nACGT\nacgt\nNR\n>II\nGGGA\n",
    "wrapped otherwise": ">I first\nACG\nTac\ngtN\nR\n>II\nGGGA\nTC\n",
    "other names": ">X first\nACGT\nacgt\nNR\n>IV\nGGGA\nTC\n",
    "a record in place of sequence": ">I first\nACGT\nacgt\n>X\nNR\n>II\nGGGA\n",
    "a record more": ">I first\nACGT\nacgt\nNR\n>II\nGGGA\nTC\n>III\nA\n",
    "records swapped": ">II\nGGGA\nTC\n>I first\nACGT\nacgt\nNR\n",
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("is_newer", [True, False])
def test_a_stale_index_is_not_used(plain, change, is_newer):
    write_index(plain)
    plain.write_text(CHANGES[change])
    shift = 100 if is_newer else -100
    made = os.path.getmtime(f"{plain}.fai")
    os.utime(plain, (made + shift, made + shift))
    assert not index_is_current(plain)
    with open(plain) as handle:
        for record in SeqIO.parse(handle, "fasta"):
            letters = str(record.seq).upper().replace("R", "N")
            genome = load_genome(plain, padding=1, only=[record.id])
            assert decode(genome.contig(record.id)) == letters


CRLF = ">I\r\nACGT\r\nACG\r\n>II\r\nGGG\r\n"


@pytest.mark.parametrize(
    ("text", "index", "is_current"),
    [
        (">I x\nACGT\nAC\n>II\nGGGG\nTTAC", "I\t6\t5\t4\t5\nII\t6\t17\t4\t5\n", False),
        (">I\nACGT\nAC\n", "I\t5\t3\t4\t5\n", False),  # one letter is not in the index
        (">I\nACGT \nACGT \nAC\n", "I\t10\t3\t4\t6\n", False),  # blanks at the ends of lines
        (CRLF, "I\t9\t4\t5\t6\nII\t4\t20\t4\t5\n", False),  # of bedtools 2.30
        (CRLF, "I\t7\t4\t4\t6\nII\t3\t20\t3\t5\n", True),  # of samtools 1.16
    ],
)
def test_an_index_is_used_only_if_it_fits_the_letters(plain, text, index, is_current):
    plain.write_bytes(text.encode())
    plain.with_name(f"{plain.name}.fai").write_text(index)
    assert index_is_current(plain) == is_current
    records = [record.split("\n") for record in text.split(">")[1:]]
    expected = {first.split()[0]: "".join("".join(rows).split()) for first, *rows in records}
    genome = load_genome(plain, padding=1)
    assert {name: decode(genome.contig(name)) for name in genome.names} == expected
    assert contig_lengths(plain) == {name: len(text) for name, text in expected.items()}


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
