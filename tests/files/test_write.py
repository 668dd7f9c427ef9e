"""Whole files and folders, or none; no output is an input, or another output."""

from __future__ import annotations

import gzip
import os
import stat
import time

import pytest

from seqmtl.exceptions import SeqmtlError
from seqmtl.files.write import (
    atomic_folder,
    atomic_gzip,
    atomic_write,
    check_outputs,
    make_folder,
    write_json,
    write_lines,
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


def test_standard_output_is_a_file(capfdbinary):
    for mode, content in (("w", "text\n"), ("wb", b"bytes\n")):
        write_file("-", content, mode=mode)
    write_json("-", {"a": [1]})
    write_json(None, {})
    assert capfdbinary.readouterr().out == b'text\nbytes\n{\n "a": [\n  1\n ]\n}\n'


def test_errors_name_the_output_if_it_is_to_blame(tmp_path):
    path = tmp_path / "out.txt"
    for error in (FileNotFoundError(2, "No such file", "input.txt"), OSError(5, "own")):
        with pytest.raises(type(error), match=error.strerror):
            write_file(path, fail=error)
    with pytest.raises(SeqmtlError, match=r"cannot write .*out.txt: No .*choose another output"):
        write_file(tmp_path / "nowhere" / "out.txt")
    (tmp_path / "folder").mkdir()
    with pytest.raises(SeqmtlError, match=r"cannot write .*folder: Is a directory"):
        write_file(tmp_path / "folder")
    assert os.listdir(tmp_path) == ["folder"]


@pytest.mark.parametrize(("mode", "content"), [("w", "x" * 100_000), ("wb", b"x" * 100_000)])
def test_a_full_disk_names_the_output_and_leaves_nothing(tmp_path, file_size, mode, content):
    file_size(50_000)
    with pytest.raises(SeqmtlError, match=r"write .*out: File too large; free some space"):
        write_file(tmp_path / "out", content, mode=mode)
    with pytest.raises(SeqmtlError, match=f"cannot write {tmp_path}/a: File too large; free"):
        with atomic_folder(tmp_path, last="end") as folder:
            write_lines(folder / "a", [mode * 100_000])
    assert os.listdir(tmp_path) == []
    with pytest.raises(SeqmtlError, match="cannot write /dev/full: No space left on device"):
        write_file("/dev/full", content, mode=mode)


def test_of_two_open_files_the_one_that_is_full_is_named(tmp_path):
    with pytest.raises(SeqmtlError, match="cannot write /dev/full: No space left"):  # noqa: PT012
        with atomic_write("/dev/full") as full, atomic_write(tmp_path / "inner"):
            full.write("x" * 100_000)
            full.flush()
    assert os.listdir(tmp_path) == []


def test_a_link_is_followed(tmp_path):
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)
    write_file(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_pipe_is_written_to_and_stays(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_file(pipe, "text")
        assert os.read(reader, 10) == b"text"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_pipe_without_a_name_is_written_to():
    """As bash gives it to a command by ``>(...)``."""
    reader, writer = os.pipe()
    try:
        path = f"/dev/fd/{writer}"
        check_outputs([], [path, path])
        write_file(path, "text")
        assert os.read(reader, 10) == b"text"
    finally:
        os.close(reader)
        os.close(writer)


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
    with atomic_folder(folder, last="end", folders=("below",), first="below/b") as scratch:
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
def test_a_folder_whose_moves_are_stopped_has_its_first_file_and_lacks_its_last(
    tmp_path, monkeypatch, n_moved
):
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
    order = ["below/b", "a"]
    assert contents(folder) == {name: "2" if i < n_moved else "1" for i, name in enumerate(order)}


def test_folders_that_cannot_be_made_or_written_are_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(SeqmtlError, match=r"cannot create the folder .*file: .*choose another"):
        fill(tmp_path / "file", "1")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(SeqmtlError, match=f"cannot write into the folder {tmp_path}; choose"):
        make_folder(tmp_path)


def test_of_two_runs_on_one_output_the_last_wins(tmp_path):
    path = tmp_path / "out"
    with atomic_write(path) as stream:
        stream.write("last")
        write_file(path, "first")
        assert path.read_text() == "first"
    assert path.read_text() == "last"
    assert os.listdir(tmp_path) == ["out"]


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Return an input in the folder of the test, with a link."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "tree.nwk"
    path.write_text("(a:1,b:1);")
    (tmp_path / "link.nwk").symlink_to("tree.nwk")
    return path


INPUT = "would overwrite the input tree.nwk; choose another output"
TWO = "is named as two outputs; give each a file of its own"
BAD_OUTPUTS = [
    (["tree.nwk"], ["tree.nwk"], INPUT),
    (["tree.nwk"], ["new", "link.nwk"], INPUT),
    (["tree.nwk"], ["{folder}/tree.nwk"], INPUT),
    (["{folder}"], ["tree.nwk"], "tree.nwk would overwrite the input {folder}"),
    ([], ["new", "./new"], f"^./new {TWO}"),
    ([], ["tree.nwk", "link.nwk"], f"^link.nwk {TWO}"),
    ([], ["starter:donor"], "models of the package have such names; choose another"),
    ([], ["{folder}"], "cannot write .*: it is a folder; give a file name"),
    ([], ["none/x"], "cannot write none/x: no folder none; create it first"),
]


@pytest.mark.parametrize(("inputs", "outputs", "message"), BAD_OUTPUTS)
def test_outputs_that_are_refused(tree, inputs, outputs, message):
    inputs, outputs = ([name.format(folder=tree.parent) for name in x] for x in (inputs, outputs))
    with pytest.raises(SeqmtlError, match=message.format(folder=tree.parent)):
        check_outputs(inputs, outputs)


def test_outputs_that_are_accepted(tree):
    check_outputs(["tree.nwk", "starter:donor", None, "-"], ["tree.tsv", "x.fai", None, "-"])
    check_outputs(["/dev/null"], ["/dev/null", "/dev/null"])
    check_outputs(["eukaryotes"], ["eukaryotes"])  # the name of a shipped tree


def test_an_input_is_replaced_only_by_the_first_output(tree):
    check_outputs([], ["link.nwk", "other"], replaced="tree.nwk")
    check_outputs([], ["other", None], replaced="tree.nwk")
    with pytest.raises(SeqmtlError, match="would overwrite the input"):
        check_outputs([], ["other", "tree.nwk"], replaced="tree.nwk")
    with pytest.raises(SeqmtlError, match="is named as two outputs"):
        check_outputs([], ["tree.nwk", "tree.nwk"], replaced="tree.nwk")


def test_a_folder_without_permission_is_named(tree, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(SeqmtlError, match=f"cannot write .*: the folder {tree.parent} is not wri"):
        check_outputs([], [str(tree.parent / "out.txt")])
