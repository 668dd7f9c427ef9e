"""Progress of a running command."""

import json
import logging

import numpy as np

from seqmtl import _progress
from seqmtl._messages import messages_from
from seqmtl.commands._console import setup_logging


def test_progress_tells_share_speed_and_time_left(monkeypatch, capsys):
    clock = iter(np.arange(0.0, 100.0, 10.0))
    monkeypatch.setattr(_progress.time, "monotonic", lambda: next(clock))
    setup_logging(quiet=False, log_json=True)
    progress = _progress.ScanProgress(100)
    for n_scanned in (5_000_000, 10_000_000, 15_000_000):
        progress.read(20)
        progress(n_scanned, n_scanned)
    progress.close()
    lines = [json.loads(line)["message"] for line in capsys.readouterr().err.splitlines()]
    assert lines[1:] == [
        "40 %, 10.0 Mb scanned, 0.5 Mb/s, about 30 s left",
        "60 %, 15.0 Mb scanned, 0.5 Mb/s, about 20 s left",
    ]
    with messages_from(logging.WARNING):  # a command of the demo
        assert _progress.ScanProgress(None)._quiet
    setup_logging(quiet=True, log_json=True)
    _progress.ScanProgress(None)(5_000_000, 5_000_000)
    assert capsys.readouterr().err == ""


def test_a_line_of_the_log_every_five_seconds_and_none_when_quiet(monkeypatch, capsys):
    clock = iter([0.0, 1.0, 6.0, 7.0, 0.0, 10.0])
    monkeypatch.setattr(_progress.time, "monotonic", lambda: next(clock))
    setup_logging(quiet=False, log_json=True)
    progress = _progress.SelectionProgress()
    for number in (1, 2, 3):
        progress(f"C = {number}", number, 8)
    (line,) = map(json.loads, capsys.readouterr().err.splitlines())
    assert line["message"] == "cross-validation: 2 of 8, C = 2, about 18 s left"
    setup_logging(quiet=True, log_json=True)
    _progress.SelectionProgress()("C = 1", 1, 8)
    assert capsys.readouterr().err == ""
