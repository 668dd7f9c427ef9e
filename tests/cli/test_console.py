"""Progress of a running command."""

import argparse
import json

import numpy as np

from seqmtl.cli import _console


def test_progress_tells_share_speed_and_time_left(monkeypatch, capsys):
    clock = iter(np.arange(0.0, 100.0, 10.0))
    monkeypatch.setattr(_console.time, "monotonic", lambda: next(clock))
    args = argparse.Namespace(quiet=False, log_json=True)
    _console.setup_logging(args)
    progress = _console.ScanProgress(100, args)
    for _ in range(3):
        progress.read(20)
        progress(5_000_000)
    progress.close()
    lines = [json.loads(line)["message"] for line in capsys.readouterr().err.splitlines()]
    assert lines[1:] == [
        "40 %, 10.0 Mb scanned, 0.5 Mb/s, about 30 s left",
        "60 %, 15.0 Mb scanned, 0.5 Mb/s, about 20 s left",
    ]
    _console.ScanProgress(None, argparse.Namespace(quiet=True, log_json=True))(5_000_000)
    assert capsys.readouterr().err == ""


def test_a_line_of_the_log_every_five_seconds_and_none_when_quiet(monkeypatch, capsys):
    clock = iter([0.0, 1.0, 6.0, 7.0, 0.0, 10.0])
    monkeypatch.setattr(_console.time, "monotonic", lambda: next(clock))
    args = argparse.Namespace(quiet=False, log_json=True)
    _console.setup_logging(args)
    progress = _console.SelectionProgress(args)
    for number in (1, 2, 3):
        progress(f"C = {number}", number, 8)
    (line,) = map(json.loads, capsys.readouterr().err.splitlines())
    assert line["message"] == "cross-validation: 2 of 8, C = 2, about 18 s left"
    _console.SelectionProgress(argparse.Namespace(quiet=True, log_json=True))("C = 1", 1, 8)
    assert capsys.readouterr().err == ""
