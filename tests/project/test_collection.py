"""The names of the tests are the same in every process, without which they cannot be shared out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# gzip, zipfile and tempfile ask this clock; it stands still, years apart in the two processes
PROGRAM = """
import sys, time
import pytest
time.time = lambda: float(sys.argv[1])
options = ["--collect-only", "-q", "--assert=plain", "-p", "no:cacheprovider", "-o", "addopts="]
sys.exit(pytest.main([*options, "tests"]))
"""


def _start(seed: str, clock: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, clock],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed},
        stdout=subprocess.PIPE,
        text=True,
    )


def _names(process: subprocess.Popen[str]) -> list[str]:
    output, _ = process.communicate()
    assert process.returncode == 0, output[-2000:]
    return [line for line in output.splitlines() if "::" in line]


def test_neither_the_clock_nor_the_order_of_hashes_is_in_a_name():
    processes = [_start("1", "1e9"), _start("2", "1.2e9")]
    first, second = (_names(process) for process in processes)
    assert any(__file__.endswith(name.split("::")[0]) for name in first)
    assert [pair for pair in zip(first, second, strict=True) if pair[0] != pair[1]] == []
