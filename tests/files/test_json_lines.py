"""Files of JSON lines that grow."""

from __future__ import annotations

import os

import pytest

from seqmtl.exceptions import SeqmtlError
from seqmtl.files.json_lines import append_json_line, read_json_lines


def test_json_lines_lose_at_most_half_a_line(tmp_path):
    path = str(tmp_path / "lines")
    assert read_json_lines(path) == []
    whole = [{"what": [1, 2]}, {"step": 1}, {"step": 2}]
    for line in whole:
        append_json_line(path, line)
    assert read_json_lines(path) == whole
    text = (tmp_path / "lines").read_bytes()
    for size in range(len(text)):
        (tmp_path / "lines").write_bytes(text[:size])
        n_whole = text[:size].count(b"\n")
        assert read_json_lines(path) == whole[:n_whole]
        append_json_line(path, {"step": 3})
        assert read_json_lines(path) == [*whole[:n_whole], {"step": 3}]
    (tmp_path / "lines").write_bytes(b"{\n")
    with pytest.raises(SeqmtlError, match=r"lines is damaged \(.*\); remove it to start afresh"):
        read_json_lines(path)
    with pytest.raises(SeqmtlError, match="cannot write /dev/full: No space left on device"):
        append_json_line("/dev/full", {})


def test_a_full_disk_adds_no_half_line(tmp_path, file_size):
    path = str(tmp_path / "lines")
    for before in ([], [{"step": 1}]):
        for line in before:
            append_json_line(path, line)
        file_size(100)
        with pytest.raises(SeqmtlError, match=r"cannot write \S+lines: File too large; free"):
            append_json_line(path, {"step": "x" * 500})
        assert os.listdir(tmp_path) == (["lines"] if before else [])
        assert read_json_lines(path) == before
