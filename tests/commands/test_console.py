"""Progress of a running command."""

import logging
from functools import partial
from types import SimpleNamespace

import numpy as np

from seqmtl import _progress
from seqmtl._messages import messages_from
from seqmtl.commands._console import setup_logging
from seqmtl.commands.scan import progress_text
from seqmtl.training.interruptible import stored_progress
from seqmtl.variant_effects.annotate import _speed


def test_progress_tells_share_speed_and_time_left(monkeypatch, capsys):
    clock = iter([0.0, 10.0, 20.0])
    monkeypatch.setattr(_progress.time, "monotonic", lambda: next(clock))
    setup_logging(quiet=False)
    progress = _progress.Progress()
    for n_scanned, n_bases in ((10_000_000, 25_000_000), (5_000_000, 0)):
        progress.update(partial(progress_text, n_scanned, n_bases))
    progress.close()
    assert capsys.readouterr().err.splitlines() == [
        "seqmtl: note: 40%, 10.0 Mb scanned, 1.0 Mb/s, about 15 s left",
        "seqmtl: note: 5.0 Mb scanned, 0.25 Mb/s",
    ]
    monkeypatch.setattr(_progress.time, "monotonic", iter(np.arange(0.0, 100.0, 10.0)).__next__)
    with messages_from(logging.WARNING):  # a command of the demo
        _progress.Progress().update(str)
    setup_logging(quiet=True)
    _progress.Progress().update(str)
    assert capsys.readouterr().err == ""


def test_a_line_of_the_log_every_five_seconds_and_none_when_quiet(monkeypatch, capsys):
    store = SimpleNamespace(scores={}, save_scores=lambda: None)
    for quiet in (False, True):
        clock = iter([0.0, 1.0, 6.0, 7.0])
        monkeypatch.setattr(_progress.time, "monotonic", lambda clock=clock: next(clock))
        setup_logging(quiet=quiet)
        with stored_progress(store) as (_, likelihoods):
            for number in (1, 2, 3):
                likelihoods._on_score(f"C = {number}", number, 8)
        lines = capsys.readouterr().err.splitlines()
        expected = "seqmtl: note: cross-validation: 2 of 8, C = 2, about 18 s left"
        assert lines == [expected] * (not quiet)


def test_records_have_a_speed(monkeypatch, capsys):
    clock = iter([0.0, 2.0, 6.0])
    monkeypatch.setattr(_progress.time, "monotonic", lambda: next(clock))
    setup_logging(quiet=False)
    progress = _progress.Progress()
    for n in (700, 2_100):
        progress.update(partial(_speed, n))
    assert capsys.readouterr().err == "seqmtl: note: 2,100 records, 350.0/s\n"
