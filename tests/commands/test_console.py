"""Progress of a running command."""

import logging
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from seqmtl import _progress
from seqmtl._messages import messages_from
from seqmtl.commands._console import setup_logging
from seqmtl.training.interruptible import stored_progress
from seqmtl.variant_effects.annotate import _speed


def test_progress_tells_share_speed_and_time_left(monkeypatch, capsys):
    clock = iter([0.0, 10.0, 10.0, 20.0, 30.0])
    monkeypatch.setattr(_progress.time, "monotonic", lambda: next(clock))
    setup_logging(quiet=False)
    progress = _progress.ScanProgress(100)
    contigs = progress.contigs(SimpleNamespace(codes=np.zeros(25_000_000)) for _ in range(1))
    progress.read(100)
    next(contigs)
    for n_scanned in (5_000_000, 10_000_000, 15_000_000):
        progress(n_scanned)
    progress.close()
    assert capsys.readouterr().err.splitlines()[1:] == [
        "seqmtl: note: 40 %, 10.0 Mb scanned, 0.5 Mb/s, about 30 s left",
        "seqmtl: note: 60 %, 15.0 Mb scanned, 0.5 Mb/s, about 20 s left",
    ]
    monkeypatch.setattr(_progress.time, "monotonic", iter(np.arange(0.0, 100.0, 10.0)).__next__)
    with messages_from(logging.WARNING):  # a command of the demo
        _progress.ScanProgress(None)(5_000_000)
    setup_logging(quiet=True)
    _progress.ScanProgress(None)(5_000_000)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("n_ahead", [0, 1, 3])
def test_the_share_of_a_scan_is_that_of_its_bases_whatever_is_read_ahead(
    monkeypatch, caplog, n_ahead
):
    """Contigs of 3, 1, 0 and 4 million bases are read before the first of them is scanned."""
    monkeypatch.setattr(_progress, "SECONDS", (0.0, 0.0))
    caplog.set_level("INFO", logger="seqmtl")
    sizes = [3_000_000, 1_000_000, 0, 4_000_000]
    progress = _progress.ScanProgress(8_000_000)

    def read():
        for size in sizes:
            progress.read(size)
            yield SimpleNamespace(codes=np.zeros(size))

    contigs, n_scanned = progress.contigs(read()), 0
    for number, size in enumerate(sizes):
        for _ in range(n_ahead + 1 if number == 0 else 1):
            next(contigs, None)
        for _ in range(size // 500_000):
            n_scanned += 500_000
            progress(n_scanned)
    shown = [int(record.message.partition(" %")[0]) for record in caplog.records]
    np.testing.assert_allclose(shown, np.arange(1, 17) / 0.16, atol=0.51)


@pytest.mark.parametrize(("value", "text"), [(0.0321, "0.032"), (11.94, "11.9"), (1, "1.0")])
def test_slow_work_has_a_speed(value, text):
    assert _progress.short(value) == text


def test_a_line_of_the_log_every_five_seconds_and_none_when_quiet(monkeypatch, capsys):
    store = SimpleNamespace(scores={}, save_scores=lambda: None)
    for quiet in (False, True):
        clock = iter([0.0, 0.0, 1.0, 6.0, 7.0])
        monkeypatch.setattr(_progress.time, "monotonic", lambda clock=clock: next(clock))
        setup_logging(quiet=quiet)
        with stored_progress(store, 0.1) as (_, likelihoods):
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
