"""The names of the tests are the same in every process, without which they cannot be shared out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# gzip, zipfile and tempfile ask this clock; it stands still, years ago, in the second process
PROGRAM = """
import sys, time
import pytest
time.time = lambda: float(sys.argv[1])
options = ["--collect-only", "-q", "--assert=plain", "-p", "no:cacheprovider", "-o", "addopts="]
sys.exit(pytest.main([*options, "tests"]))
"""


def test_neither_the_clock_nor_the_order_of_hashes_is_in_a_name(request):
    output = subprocess.run(
        [sys.executable, "-c", PROGRAM, "1.2e9"],
        cwd=ROOT,
        check=True,
        text=True,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONHASHSEED": "2"},
    ).stdout
    names = set(output.splitlines())
    own = {item.nodeid for item in request.session.items if item.nodeid.startswith("tests/")}
    assert own - names == set()
