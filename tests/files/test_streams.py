"""Numbered lines and small files, against the obvious way to read them."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import subprocess
import tarfile
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqmtl.exceptions import InputFormatError
from seqmtl.files.bgzip import BGZIP_END, bgzip
from seqmtl.files.pipes import pipes_read_once
from seqmtl.files.streams import (
    first_bytes,
    line_blocks,
    numbered_lines,
    read_json,
    read_text,
    sha256_of,
)
from seqmtl.io.fasta import scan_fasta
from tests.scanning.cases import make_genome, make_model

LINES = st.lists(st.binary(max_size=12).map(lambda b: b.translate(None, b"\r\n\0")), max_size=20)
PACK = {"plain": bytes, "gzip": gzip.compress, "bgzip": lambda text: bgzip(text) + BGZIP_END}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("streams") / "file"


@given(
    lines=LINES,
    end=st.sampled_from([b"\n", b"\r\n", b"\r"]),
    mark=st.sampled_from([b"", b"\xef\xbb\xbf"]),
    is_ended=st.booleans(),
    pack=st.sampled_from(sorted(PACK)),
    size=st.integers(1, 40),
)
def test_lines_are_numbered_however_they_are_cut(place, lines, end, mark, is_ended, pack, size):
    text = b"".join(line + end for line in lines)
    if not is_ended:
        text = text.removesuffix(end)
    # the first bytes must not look like another format
    text = mark + b"x" + text
    place.write_bytes(PACK[pack](text))
    text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    expected = text.removeprefix(mark).split(b"\n")
    expected = expected[:-1] if expected[-1] == b"" else expected
    assert list(numbered_lines(place, size=size)) == list(enumerate(expected, 1))
    assert sum(len(rows) for _, rows in line_blocks(place, size=size)) == len(expected)


def test_a_nul_byte_is_named_by_its_line(place):
    text = b"a\nb\r\nc\0\nd\n"
    for size in range(1, len(text) + 1):
        place.write_bytes(text)
        with pytest.raises(InputFormatError, match="must have no NUL bytes") as found:
            list(numbered_lines(place, size=size))
        assert (found.value.path, found.value.line) == (str(place), 3)


def test_members_of_gzip_and_zeros_between_them_are_read(place):
    text = b"a\nbc\nd\n"
    place.write_bytes(gzip.compress(text[:4]) + bytes(600) + gzip.compress(text[4:]) + bytes(5))
    assert list(numbered_lines(place)) == [(1, b"a"), (2, b"bc"), (3, b"d")]
    place.write_bytes(b"")
    assert list(numbered_lines(place)) == []


def test_bgzip_and_gzip_may_follow_each_other(place):
    """cat genome.fa.gz extra.fa.gz: zcat reads the whole, whichever is bgzip."""
    plain, blocks = gzip.compress(b"a\nb"), bgzip(b"c\nd")
    for whole in (blocks + BGZIP_END + plain, blocks + plain, plain + blocks + BGZIP_END):
        place.write_bytes(whole)
        assert b"\n".join(line for _, line in numbered_lines(place)) == gzip.decompress(whole)
    for cut in (plain + blocks, blocks + BGZIP_END + plain[:-1], blocks + plain + blocks):
        place.write_bytes(cut)
        with pytest.raises(InputFormatError, match="the file is truncated"):
            list(numbered_lines(place))


def test_the_end_of_bgzip_is_an_empty_block_however_it_is_packed_and_zeros_may_follow(place):
    blocks = bgzip(b"c\nd")
    stored = zlib.compressobj(0, wbits=-15)
    empty = BGZIP_END[:16] + bytes([30, 0]) + stored.flush() + bytes(8)
    for whole in (blocks + empty, blocks + BGZIP_END + bytes(512)):
        place.write_bytes(whole)
        assert [line for _, line in numbered_lines(place)] == [b"c", b"d"]
    place.write_bytes(blocks + bytes(512))
    with pytest.raises(InputFormatError, match="the file is truncated"):
        list(numbered_lines(place))


def test_errors_of_reading_name_the_file():
    """A file that opens, but whose first page cannot be read."""
    path = "/proc/self/mem"
    if not os.path.exists(path):
        pytest.skip("no /proc")
    for read in (sha256_of, first_bytes, lambda path: list(numbered_lines(path))):
        with pytest.raises(OSError, match=path):
            read(path)
    with pytest.raises(InputFormatError, match=f"{path}: cannot be read as a tree: Input/output"):
        read_text(path, "a tree")


def blocks_of(content):
    return bgzip(content) + BGZIP_END


def tar():
    """Return an archive with a file, as chromFa.tar.gz of UCSC."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as file:
        member = tarfile.TarInfo("chr1.fa")
        member.size = 12
        file.addfile(member, io.BytesIO(b">chr1\nACGTA\n"))
    return archive.getvalue()


def test_damaged_and_foreign_files_are_refused(place):
    packed, blocks = gzip.compress(b"abc\n" * 9), bgzip(b"abc\n")
    cases = {
        "bzip2-compressed": [b"BZh91AY&SY"],
        "xz-compressed": [b"\xfd7zXZ\0"],
        "zstd-compressed": [b"(\xb5/\xfd\x04"],
        "a zip archive": [b"PK\x03\x04\x14"],
        "UTF-16": ["abc".encode("utf-16")],
        "2bit": [b"\x43\x27\x41\x1a\0\0", b"\x1a\x41\x27\x43\0\0"],
        "gzip of BAM": [blocks_of(b"BAM\1" + bytes(9))],
        "CRAM": [b"CRAM\3\0"],
        "gzip of gzip": [gzip.compress(packed)],
        "a tar archive": [tar(), gzip.compress(tar()), blocks_of(tar())],
        "the file is truncated": [packed[:-cut] for cut in range(1, len(packed) - 1)] + [blocks],
        "gzip data are damaged": [
            packed[:-8] + b"01234567",
            packed[:10] + b"\xff" * 30,
            packed + b"garbage that is no gzip",
        ],
    }
    for message, contents in cases.items():
        for content in contents:
            place.write_bytes(content)
            with pytest.raises(InputFormatError, match=message) as found:
                list(numbered_lines(place))
            assert (found.value.path, found.value.line) == (str(place), None)


@pytest.mark.parametrize("pack", PACK.values(), ids=PACK)
def test_a_text_is_read_whole(place, pack):
    place.write_bytes(pack("\ufefféa\r\n".encode()))
    assert read_text(place, "a tree") == "éa\r\n"


@pytest.mark.parametrize("pack", PACK.values(), ids=PACK)
def test_what_is_longer_than_its_bound_is_refused_before_it_is_held(place, pack):
    text = b"a\nb\n" + b"x" * (16 << 20)
    place.write_bytes(pack(text))
    readers = {
        "a line must have at most 2,000,000 bytes, got more": (
            lambda: list(numbered_lines(place, 2_000_000))
        ),
        "the text must have at most 2,000,000 bytes, got more": (
            lambda: read_text(place, "a tree", 2_000_000)
        ),
    }
    for message, read in readers.items():
        tracemalloc.start()
        with pytest.raises(InputFormatError, match=message) as refused:
            read()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 10 << 20
        assert str(place) in str(refused.value)
        assert ":3" in str(refused.value) or "text" in message
    assert [line for line, _ in numbered_lines(place, 60 << 20)] == [1, 2, 3]


def test_headers_of_fasta_have_a_bound(place):
    for text, message in (
        (b">a\nAC\n>" + b"x" * (20 << 20), r":3: a FASTA header must have at most 16,777,216"),
        (b" " * (20 << 20), r":1: a FASTA header must have at most 16,777,216 bytes"),
    ):
        place.write_bytes(gzip.compress(text))
        with pytest.raises(InputFormatError, match=message):
            list(scan_fasta(place))


def test_json_and_digest(place):
    place.write_bytes('{"a": "é"}'.encode())
    assert read_json(place) == {"a": "é"}
    assert sha256_of(place) == hashlib.sha256(place.read_bytes()).hexdigest()


def test_what_is_no_text_is_refused_with_its_name(tmp_path):
    for content, fault in (
        (b"\xff", "utf-8"),
        (b"BZh91AY", "bzip2-compressed"),
        (None, "No such file"),
    ):
        path = tmp_path / "file"
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(InputFormatError, match=f"cannot be read as a tree: .*{fault}") as found:
            read_text(path, "a tree")
        assert found.value.path == str(path)


@pytest.fixture
def pipe(tmp_path):
    """Return a function that makes a named pipe, into which another process writes a content."""
    writers = []

    def make(content, name="pipe"):
        path = tmp_path / name
        os.mkfifo(path)
        (tmp_path / f"{name}.content").write_bytes(content)
        line = f"exec cat {path}.content > {path}"
        writers.append(subprocess.Popen(["sh", "-c", line]))
        return path

    yield make
    for writer in writers:
        writer.kill()
        writer.wait()


def test_a_pipe_is_looked_at_and_then_read_once_within_a_command(pipe):
    """``<(zcat x.gz)`` is looked at for its format, then read."""
    content = b"".join(b"%d\n" % i for i in range(50_000))
    path = pipe(gzip.compress(content))
    with pipes_read_once():
        for _ in range(2):
            assert content.startswith(first_bytes(path))
        lines = numbered_lines(path)
        with pipes_read_once():
            assert [line for _, line in lines] == content.split()
        for again in (first_bytes, lambda path: list(numbered_lines(path))):
            with pytest.raises(InputFormatError, match="pipe: a pipe can be read only once, but"):
                again(path)


def test_outside_of_a_command_a_pipe_is_not_looked_at_and_then_read(pipe):
    """A function of Python would drop the first lines of a file whose format is guessed."""
    path = pipe(b"x\n" * 100)
    with pytest.raises(InputFormatError, match="pipe: a pipe can be read only once, but this"):
        first_bytes(path)
    assert len(list(numbered_lines(path))) == 100


def test_commands_read_pipes_as_they_read_files(pipe, tmp_path, seqmtl, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_model("m.seqmtl")
    make_genome(tmp_path / "g.fa", {"c1": 90_000, "c2": 30_000})
    rows = "".join(f"man\t{'ACGTTGCAGT' * 8}\n" for _ in range(2_000))
    (tmp_path / "w.tsv").write_text(f"organism\tsequence\n{rows}")
    (tmp_path / "r.bed").write_text("c1\t100\t50000\nc2\t0\t9000\n")
    for number, (command, name) in enumerate(
        (
            ("predict m.seqmtl {} -o {}", "w.tsv"),
            ("scan m.seqmtl {} --organism man -q -o {}", "g.fa"),
            ("scan m.seqmtl g.fa --organism man --regions {} --format bed -q -o {}", "r.bed"),
        )
    ):
        path = pipe((tmp_path / name).read_bytes(), f"{number}.pipe")
        seqmtl(command.format(name, "of_file"))
        seqmtl(command.format(path, "of_pipe"))
        assert (tmp_path / "of_pipe").read_bytes() == (tmp_path / "of_file").read_bytes(), command
    path, scan = pipe((tmp_path / "g.fa").read_bytes()), "scan m.seqmtl {} --organism man -o x.bw"
    told = seqmtl(scan.format(path), 2).err
    assert "bigwig reads the genome twice, so it cannot come from standard input or a pipe" in told


@pytest.mark.parametrize("command", ["info {}", "scan {} g.fa -o x.bed", "report . -o r.html"])
def test_a_pipe_to_which_nobody_writes_is_no_model(tmp_path, seqmtl, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("m.seqmtl")
    os.mkfifo("x.json")
    told = seqmtl(command.format("m.seqmtl"), 1).err
    if command.startswith("report"):
        assert "neither a dataset nor a model" in told
    else:
        assert "m.seqmtl: is a pipe; write the model into a file, and give that" in told
