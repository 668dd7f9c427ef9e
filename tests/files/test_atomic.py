"""Whole files and folders, or none."""

from __future__ import annotations

import gzip
import os
import stat
import time

import pytest

from seqmtl.exceptions import SeqmtlError
from seqmtl.files.atomic import (
    atomic_folder,
    atomic_gzip,
    atomic_write,
    check_writable,
    temporary_file,
)


def write_file(path, content="x", fail=None, mode="w"):
    """Write a file; then fail."""
    with atomic_write(path, mode) as stream:
        stream.write(content)
        if fail is not None:
            raise fail


def test_the_file_appears_when_the_block_ends(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "out.txt"
    check_writable("out.txt")
    with atomic_write("out.txt") as stream:
        stream.write("whole é\n")
        assert not path.exists()
    assert path.read_text(encoding="utf-8") == "whole é\n"
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    with atomic_write(path, "wb") as stream:
        stream.write(b"new")
        stream.flush()
        assert path.read_text(encoding="utf-8") == "whole é\n"
    assert path.read_bytes() == b"new"
    for error in (RuntimeError("own"), KeyboardInterrupt("own")):
        with pytest.raises(type(error), match="own"):
            write_file(path, fail=error)
        assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_outputs_that_cannot_be_written_are_named(tmp_path, monkeypatch):
    path, nowhere = tmp_path / "out.txt", tmp_path / "nowhere" / "out.txt"
    for error in (FileNotFoundError(2, "No such file", "input.txt"), OSError(5, "own")):
        with pytest.raises(type(error), match=error.strerror):  # not blamed on the output
            write_file(path, fail=error)
    for write, message in (
        (lambda: write_file(nowhere), r"cannot write .*choose another output"),
        (lambda: check_writable(nowhere), r"no folder .*nowhere; create it first"),
        (lambda: write_file(tmp_path), "cannot write"),
        (lambda: check_writable(tmp_path), "it is a folder; give a file name"),
    ):
        with pytest.raises(SeqmtlError, match=message):
            write()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(SeqmtlError, match="is not writable"):
        check_writable(path)


@pytest.mark.parametrize(("mode", "content"), [("w", "x" * 100_000), ("wb", b"x" * 100_000)])
def test_a_full_disk_names_the_output_and_leaves_nothing(tmp_path, file_size, mode, content):
    file_size(50_000)
    with pytest.raises(SeqmtlError, match=r"write .*out: File too large; free some space"):
        write_file(tmp_path / "out", content, mode=mode)
    with pytest.raises(SeqmtlError, match=r"write .*out: File too large; free some space"):
        with temporary_file(tmp_path / "out") as stream:
            stream.write(bytes(100_000))
    assert os.listdir(tmp_path) == []
    with pytest.raises(SeqmtlError, match="cannot write /dev/full: No space left on device"):
        write_file("/dev/full", content, mode=mode)


def test_a_temporary_file_has_no_name(tmp_path):
    with temporary_file(tmp_path / "out") as stream:
        stream.write(b"text")
        stream.seek(0)
        assert stream.read() == b"text"
        assert os.listdir(tmp_path) == []


def test_a_link_is_followed(tmp_path):
    target = tmp_path / "target.txt"
    target.write_text("old")
    link = tmp_path / "link.txt"
    link.symlink_to(target)
    with atomic_write(link) as stream:
        stream.write("new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_pipe_is_written_to_and_stays(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with atomic_write(pipe) as stream:
            stream.write("text")
        assert os.read(reader, 10) == b"text"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_equal_contents_are_equal_gzip_files(tmp_path, monkeypatch):
    for name, now in (("a.gz", 1.0), ("b.gz", 1e9)):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        with atomic_gzip(tmp_path / name) as stream:
            stream.write(b"text\n" * 1000)
    raw = (tmp_path / "a.gz").read_bytes()
    assert raw == (tmp_path / "b.gz").read_bytes()
    assert gzip.decompress(raw) == b"text\n" * 1000


def fill(folder, mark, fail=None):
    """Write a folder of three files whose content is `mark`; then fail."""
    with atomic_folder(folder, last="end", folders=("below",)) as scratch:
        for name in ("end", "a", "below/b"):
            (scratch / name).write_text(mark)
        if fail is not None:
            raise fail


def contents(folder):
    """Return the content of every file below a folder by its relative path."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text() for path in files}


def test_the_files_of_a_folder_appear_together_beside_others(tmp_path):
    folder = tmp_path / "new" / "out"
    fill(folder, "1")
    assert contents(folder) == {"end": "1", "a": "1", "below/b": "1"}
    (folder / "mine").write_text("kept")
    fill(folder, "2")
    assert contents(folder) == {"end": "2", "a": "2", "below/b": "2", "mine": "kept"}


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, OSError])
def test_a_failure_leaves_a_folder_as_it_was(tmp_path, error):
    folder = tmp_path / "out"
    with pytest.raises(error, match="own"):
        fill(folder, "1", error("own"))
    assert not folder.exists()
    fill(folder, "1")
    with pytest.raises(error, match="own"):
        fill(folder, "2", error("own"))
    assert contents(folder) == {"end": "1", "a": "1", "below/b": "1"}


@pytest.mark.parametrize("n_moved", [0, 1, 2])
def test_a_folder_whose_moves_are_stopped_lacks_its_last_file(tmp_path, monkeypatch, n_moved):
    folder, replace, moved = tmp_path / "out", os.replace, []

    def stopped(source, target):
        if len(moved) == n_moved:
            raise KeyboardInterrupt
        moved.append(target)
        replace(source, target)

    fill(folder, "1")
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", stopped)
        with pytest.raises(KeyboardInterrupt, match=r"^$"):
            fill(folder, "2")
    assert set(contents(folder)) == {"a", "below/b"}
    assert list(contents(folder).values()).count("2") == n_moved


def test_folders_that_cannot_be_made_or_written_are_named(tmp_path, monkeypatch):
    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "file").write_text("")
    with pytest.raises(SeqmtlError, match=r"cannot create the folder .*file: .*choose another"):
        fill(tmp_path / "file", "1")
    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    with pytest.raises(SeqmtlError, match=r"cannot write into the folder .*: Permission denied"):
        fill(tmp_path, "1")
