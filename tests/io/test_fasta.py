"""The FASTA reader and windows from FASTA files."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from Bio import SeqIO
from hypothesis import given
from hypothesis import strategies as st

from seqmtl.exceptions import InputFormatError
from seqmtl.io import read_contigs, read_windows
from seqmtl.io.fasta import scan_fasta
from seqmtl.sequences import decode

TEXT = ">one first\nACGT\nacgt\n\nNNRY\n>two\nTT\n"
EXPECTED = [("one", "one first", "ACGTACGTNNNN"), ("two", "two", "TT")]


def records(path, size) -> list[tuple[str, str, str]]:
    """Return the records, read so many bytes at a time."""
    found: list[list[str]] = []
    for item in scan_fasta(path, size=size):
        if isinstance(item, bytes):
            found[-1][2] += decode(np.frombuffer(item, dtype=np.uint8))
        else:
            found.append([*item.fields, ""])
    return [tuple(record) for record in found]


def test_every_form_reads_alike_at_every_block_boundary(write):
    forms = (
        TEXT,
        TEXT.rstrip("\n"),
        TEXT.replace("\n", "\r\n"),
        TEXT.replace("\n", "\r\n").rstrip(),
        "\n\r\n  " + TEXT,
        "\ufeff" + TEXT,
        TEXT.replace("one first", " one first "),
        TEXT.replace("acgt", "ac gt \t"),
    )
    for content in forms:
        path = write(content)
        for size in range(1, 21):
            assert records(path, size) == EXPECTED


headers = st.text("abcXYZ019|=,;>. _-é", min_size=1, max_size=15).filter(lambda s: s.split())


@given(st.data())
def test_random_files_agree_with_biopython(tmp_path_factory, data):
    seen: dict[str, str] = {}
    text = ""
    for _ in range(data.draw(st.integers(1, 5))):
        header = data.draw(headers)
        if header.split()[0] in seen:
            continue
        sequence = data.draw(st.text("ACGTacgtNnRYK", min_size=1, max_size=30))
        seen[header.split()[0]] = header
        width = data.draw(st.integers(1, 30))
        lines = [sequence[i : i + width] for i in range(0, len(sequence), width)]
        for _ in range(data.draw(st.integers(0, 2))):
            lines.insert(data.draw(st.integers(0, len(lines))), "")
        text += "\n".join([">" + header, *lines, ""])
    path = tmp_path_factory.mktemp("fasta") / "data.fa"
    path.write_bytes(text.encode())
    with open(path, encoding="utf-8") as handle:
        expected = [(r.id, str(r.seq).upper()) for r in SeqIO.parse(handle, "fasta")]
    found = records(path, data.draw(st.integers(1, 60)))
    masked = [
        (name, "".join(c if c in "ACGT" else "N" for c in letters)) for name, letters in expected
    ]
    assert [(name, letters) for name, _, letters in found] == masked
    assert [description for _, description, _ in found] == [
        header.strip() for header in seen.values()
    ]


BAD = [
    ("", "must hold FASTA records, but it is empty", None, None),
    ("\n \n", "it is empty", None, None),
    ("ACGT\n", "starts with 'ACGT'", 1, None),
    ("\n\n@read\nACGT\n+\nIIII\n", "looks like FASTQ", 3, None),
    ("organism\tlabel\n", "looks like a table", 1, None),
    ("@SQ\tSN:1\n", "looks like SAM", 1, None),
    ('{"sequence": "AC"}\n', "looks like JSON", 1, None),
    ("LOCUS       X\n", "looks like GenBank", 1, None),
    (b"\x00\x01\x02", "must be FASTA", 1, None),
    (">a\nAC\n>b\n>c\nGT\n", "a header but no sequence", 3, "b"),
    (">a\nAC\n>b\n\n \n", "a header but no sequence", 3, "b"),
    (">a\nAC\n>b", "a header but no sequence", 3, "b"),
    (">", "a header but no sequence", 1, "1"),
    (">a\nAC\n>b\nAC\n>a x\nAC\n", "must be unique in the file", 5, "a"),
    (">a\nAC\nGT\n\nA7C\n", "got '7'", 5, "a"),
    (">a\r\nAC\r\nGE\r\n", "got 'E'", 3, "a"),
    (">a\nAC>b\nGT\n", "got '>'", 2, "a"),
    (">a x\rAC\rGT\r", "these end in CR", 1, "a"),
    (">a\nACGT\n;comment\n", "got ';'", 3, "a"),
    (">a\nAC\n>\nMKL\n", "got 'L'; this looks like a protein: give nucleotides", 4, "2"),
    (">a\nACGTNNE\n", "got 'E'; correct the sequence", 2, "a"),
    (gzip.compress(TEXT.encode(), mtime=0)[:-3], "truncated", None, None),
]


@pytest.mark.parametrize(("content", "message", "line", "record"), BAD)
def test_bad_files_are_refused(write, content, message, line, record):
    path = write(content)
    for size in (16, 1 << 20):
        with pytest.raises(InputFormatError, match=message) as caught:
            records(path, size)
        place = caught.value.path, caught.value.line, caught.value.record
        assert place == (str(path), line, record)


def windows_of(windows):
    columns = windows.names, windows.tasks, windows.labels.tolist(), windows.sequences()
    return list(zip(*columns, strict=True))


def test_labels_and_organisms_in_headers(write):
    text = (
        "> chr_num=1, strand=+, position=180699, label=-1 organism=worm\nACGT\n"
        ">s2|label=+1|organism=fly\nACGT\n"
        ">s3, label=1; Organism=worm\nACGT\n"
        ">gi|44 LABEL=-1,organism=fly rest=\nACGT\n"
    )
    assert windows_of(read_windows(write(text))) == [
        ("1", "worm", -1, "ACGT"),
        ("s2", "fly", 1, "ACGT"),
        ("s3", "worm", 1, "ACGT"),
        ("gi|44", "fly", -1, "ACGT"),
    ]


@pytest.mark.parametrize(
    ("header", "organism"),
    [
        ("s organism=Homo sapiens label=1", "Homo sapiens"),
        ("s label=1 organism=D. melanogaster", "D. melanogaster"),
        ("s organism=Homo sapiens chr1:100-200 label=1", "Homo sapiens"),
        ("s organism=fly chr2L:100-200(+) label=1", "fly"),
        ('s organism="Influenza A (H1N1)" label=1', "Influenza A (H1N1)"),
        ("s organism='cell  1, left', label=1", "cell 1, left"),
        (
            "s [organism=Oryza sativa Japonica Group] [strain=K-12 x] [label=1]",
            "Oryza sativa Japonica Group",
        ),
        ("s|organism=Canis lupus familiaris|label=1", "Canis lupus familiaris"),
        ("s label=1 from a list, organism=fly; notes", "fly"),
        ("s label=1 organism=ant rest=", "ant"),
    ],
)
def test_names_of_several_words_in_headers(write, header, organism):
    (row,) = windows_of(read_windows(write(f">{header}\nACGT\n")))
    assert row == ("s", organism, 1, "ACGT")


def test_splits_in_headers(write):
    text = ">a split=train label=1\nAC\n>b label=0 Split=test\nGT\n>c split=train label=0\nCC\n"
    windows = read_windows(write(text))
    assert windows.split_names == ("train", "test")
    assert windows.splits.tolist() == [0, 1, 0]
    assert read_windows(write(text), split="train").names.tolist() == ["a", "c"]
    with pytest.raises(InputFormatError, match=r"train \(2 rows\), test \(1 rows\), got 'dev'"):
        read_windows(write(text), split="dev")
    assert len(read_windows(write(text.replace("plit", "plat")), require_labels=False)) == 3


def test_an_organism_that_is_given_comes_before_the_headers(write):
    path = write(gzip.compress(b">a organism=fly label=1\nAC\n>b\nGT\n"))
    windows = read_windows(path, organism="ant", require_labels=False)
    assert windows_of(windows) == [("a", "ant", 1, "AC"), ("b", "ant", 0, "GT")]


def test_names_may_be_repeated(write, caplog):
    """Peak callers name all summits of a peak alike."""
    windows = read_windows(write(">a label=1\nAC\n>b label=-1\nGT\n>a label=-1\nCC\n"))
    assert windows_of(windows) == [
        ("a", "task", 1, "AC"),
        ("b", "task", -1, "GT"),
        ("a", "task", -1, "CC"),
    ]
    assert not caplog.messages


BAD_WINDOWS = [
    (">a label=1\nACGT\n>b label=1\nACG\n", {}, "got 3 bases here and 4 .*at most 3", 3, "b"),
    (">a label=1\nACGT\n>b\nACGT\n", {}, "write label=1 or label=-1", 3, "b"),
    (">a label=1\nACGT\n>b [label=]\nACGT\n", {}, "write label=1 or label=-1", 3, "b"),
    (">a label=\nAC\n", {"require_labels": False}, "write label=1 or label=-1", 1, "a"),
    (
        ">a label=1 organism=x\nAC\n>b label=1\nAC\n",
        {},
        "have organism= in their headers or none",
        3,
        "b",
    ),
    (">a label=1 organism=fly +\nAC\n", {}, "got 'fly \\+'; put quotes around", 1, "a"),
    (">a label=1 organism=Homo sapiens 3\nAC\n", {}, "Homo sapiens 3'; put quotes", 1, "a"),
    (">a label=1 organism=fruit fly\nAC\n", {}, "one word, two as in Homo sapiens", 1, "a"),
    (">a label=1 organism='x\nAC\n", {}, 'got "\'x"; put quotes', 1, "a"),
    (">a organism= label=1\nAC\n", {}, "organism must not be empty", 1, "a"),
    (">a split=held out label=1\nAC\n", {}, "split must be one word", 1, "a"),
    (">a label=1 x=1 x=2 Label=0\nAC\n", {}, "label= must be once in a header", 1, "a"),
    (">a label=1 species=fly\nAC\n", {}, "named 'organism', got 'species'; rename", None, None),
    (">a label=1 set=x\nAC\n", {"split": "x"}, "'split', got 'set'; rename", None, None),
    (">a label=1 split=x\nAC\n>b label=1\nAC\n", {}, "have split= in .* or none", 3, "b"),
    (
        ">a label=1\nAC\n>b label=1 split=x\nAC\n",
        {"split": "y"},
        "have split= in .* or none",
        3,
        "b",
    ),
]


@pytest.mark.parametrize(("content", "options", "message", "line", "record"), BAD_WINDOWS)
def test_bad_windows_are_refused(write, content, options, message, line, record):
    with pytest.raises(InputFormatError, match=message) as caught:
        read_windows(write(content), **options)
    assert (caught.value.line, caught.value.record) == (line, record)


@pytest.mark.parametrize("name", ["a_thaliana.1pct.fa.gz", "dm6.small.fa.gz"])
def test_real_genomes_agree_with_biopython(shared_data, name):
    path = shared_data / "genomes_1pct" / name
    with gzip.open(path, "rt") as handle:
        expected = {r.id: str(r.seq).upper() for r in SeqIO.parse(handle, "fasta")}
    found = {contig.name: contig.codes for contig in read_contigs(path)}
    assert list(found) == list(expected)
    for contig, codes in found.items():
        letters = np.frombuffer(expected[contig].encode(), np.uint8)
        assert codes.size == letters.size
        for code, letter in enumerate(b"ACGT"):
            assert np.array_equal(codes == code, letters == letter)
