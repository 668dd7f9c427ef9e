"""Whole files or none."""

from __future__ import annotations

import os
import stat

import pytest

from seqmtl.exceptions import SeqmtlError
from seqmtl.files.atomic import atomic_write, check_writable


def test_the_file_appears_when_the_block_ends(tmp_path):
    path = tmp_path / "out.txt"
    with atomic_write(path) as stream:
        stream.write("whole é\n")
        assert not path.exists()
    assert path.read_text(encoding="utf-8") == "whole é\n"
    assert os.listdir(tmp_path) == ["out.txt"]
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


def test_bytes_replace_an_earlier_file(tmp_path):
    path = tmp_path / "out.bin"
    path.write_bytes(b"old")
    with atomic_write(path, "wb") as stream:
        stream.write(b"new")
        stream.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failure_leaves_what_was_there(tmp_path, error):
    path = tmp_path / "out.txt"
    path.write_text("old")

    def fail():
        with atomic_write(path) as stream:
            stream.write("half")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_a_full_disk_is_reported_with_the_output(tmp_path):
    path = tmp_path / "out.txt"

    def fail():
        with atomic_write(path):
            raise OSError(28, "No space left on device")

    with pytest.raises(
        SeqmtlError, match=r"cannot write .*out.txt: No space left.*free some space"
    ):
        fail()
    assert os.listdir(tmp_path) == []


def test_an_error_of_another_file_is_not_blamed_on_the_output(tmp_path):
    def fail():
        with atomic_write(tmp_path / "out.txt"), open(tmp_path / "input.txt"):
            pass

    with pytest.raises(FileNotFoundError, match=r"input.txt"):
        fail()


def test_a_missing_folder_is_reported(tmp_path):
    path = tmp_path / "nowhere" / "out.txt"

    def write():
        with atomic_write(path):
            pass

    with pytest.raises(SeqmtlError, match=r"cannot write .*choose another output"):
        write()
    with pytest.raises(SeqmtlError, match=r"no folder .*nowhere; create it first"):
        check_writable(path)


def test_a_folder_is_no_file(tmp_path):
    def write():
        with atomic_write(tmp_path):
            pass

    with pytest.raises(SeqmtlError, match="cannot write"):
        write()
    with pytest.raises(SeqmtlError, match="it is a folder; give a file name"):
        check_writable(tmp_path)


def test_a_folder_without_permission_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(SeqmtlError, match="is not writable"):
        check_writable(tmp_path / "out.txt")


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


def test_a_writable_place_passes(tmp_path, monkeypatch):
    check_writable(tmp_path / "out.txt")
    monkeypatch.chdir(tmp_path)
    check_writable("out.txt")
    with atomic_write("out.txt") as stream:
        stream.write("x")
    assert os.listdir(tmp_path) == ["out.txt"]
