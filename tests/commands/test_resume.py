"""Training that is interrupted or killed, and resumed: the same certified gap, sooner."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from seqmtl import load
from seqmtl.io import read_windows
from tests.invocation import write_windows
from tests.linear_model.cases import assert_same_optimum, motif_windows

TOL = 1e-3
TREE = "((ape:0.2,man:0.2)primates:0.8,fly:1.0)animals;"
OPTIONS = {
    "selection": "-C 30 --seed 2",
    "mkl": f"--mkl hierarchical --tree '{TREE}'",
    "disk": "-C 3000 --selection none --memory 2G",
}
#: Runs a command in a process that is killed when it saves for the nth time, or while it does.
KILLED = """
import os, signal, sys
from seqmtl.commands.main import main
from seqmtl.training.checkpoint import Checkpoint
from seqmtl.training.stored_windows import WindowCache

last, is_within, n_saved = int(sys.argv[1]), sys.argv[2] == "within", 0

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def killing(save):
    def run(self, start):
        global n_saved
        n_saved += 1
        if n_saved == last and is_within:
            os.replace = die
        save(self, start)
        if n_saved == last:
            die()
    return run

for kind in (Checkpoint, WindowCache):
    kind.save = killing(kind.save)
main(sys.argv[3:])
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    windows = motif_windows(900, ("ape", "man", "fly"), length=20, at=8)
    return write_windows(tmp_path_factory.mktemp("table") / "windows.tsv", windows)


def _trained(seqmtl, command, output):
    seqmtl(f"{command} -o {output}")
    visible = [path.name for path in output.parent.iterdir() if path.name[0] != "."]
    assert visible == [output.name]  # a killed run may leave hidden files
    return load(output)


@pytest.mark.parametrize(
    ("kind", "when"), [("selection", "within"), ("mkl", "after"), ("disk", "within")]
)
def test_a_run_that_was_killed_goes_on(table, tmp_path, seqmtl, kind, when):
    command = f"train {table} --features wd:3 {OPTIONS[kind]}"
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    whole = _trained(seqmtl, command, tmp_path / "whole" / "m.seqmtl")
    folder = tmp_path / "killed"
    words = [*command.replace(f"'{TREE}'", TREE).split(), "-q", "-o", str(folder / "m.seqmtl")]
    last = "3" if when == "after" else "4"  # of which three are complete
    done = subprocess.run([sys.executable, "-c", KILLED, last, when, *words], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (folder / "m.seqmtl").exists()
    resumed = _trained(seqmtl, f"{command} --resume", folder / "m.seqmtl")
    kernels = {"norm": 2.0, "diagonal": (2.0, 2.0)} if kind == "mkl" else {}
    assert_same_optimum(read_windows(table), resumed, whole, TOL, **kernels)
    assert resumed.training["n_epochs"] < whole.training["n_epochs"]
    assert resumed.training.get("selection") == whole.training.get("selection")
    assert resumed.training["tasks"] == whole.training["tasks"]
