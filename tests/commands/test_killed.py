"""Runs that are killed at any moment: each file is whole, and the next run writes all of them."""

from __future__ import annotations

import itertools
import re
import shlex
import shutil
import signal
import subprocess
import sys

import pytest

from tests.crashes import files_of, run_killed


@pytest.fixture(scope="module")
def made(world, tmp_path_factory):
    """A small genome, the configuration of a dataset of it, and a model."""
    folder = tmp_path_factory.mktemp("killed")
    text = (world.simulation / "genomes" / "a.fa").read_text().split(">")[1]
    letters = text.partition("\n")[2].replace("\n", "")[:20_000]
    sites = [match.start() for match in re.finditer("GT", letters)][10:-10:20]
    (folder / "g.fa").write_text(f">chr1\n{letters}\n")
    (folder / "s.bed").write_text("".join(f"chr1\t{at}\t{at + 2}\t.\t1\t+\n" for at in sites))
    (folder / "d.toml").write_text(
        'signal = "donor"\nwindow = 41\n[split]\nblock = 2000\n[organisms.a]\ngenome = "g.fa"\n'
        'sites = "s.bed"\n'
    )
    return {"m": world.trained("donor"), **{f.name[0]: f for f in folder.iterdir()}}


def without_times(files):
    """Return files but those of JSON, which have times."""
    return {name: content for name, content in files.items() if not name.endswith(".json")}


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize(
    ("command", "step"),
    [
        ("scan {m} {g} --organism a --format bed -o {out}/x.bed.gz --json {out}/x.json", 1),
        ("dataset {d} -o {out}/d", 1),
        ("simulate -o {out} --tree '(a:1,b:1);' --chromosome-length 30000 --windows 20", 6),
    ],
)
def test_a_run_killed_at_any_moment_leaves_whole_files_and_the_next_run_writes_all(
    made, tmp_path, command, step
):
    """A batch system ends a job at its time limit, or for memory; the user runs it again."""
    out = tmp_path / "out"
    words = [*shlex.split(command.format(out=out, **made)), "-q", "--threads", "1"]
    out.mkdir()
    assert run_killed(words, tmp_path) == 0
    whole = files_of(out)
    n_killed = 0
    for n in itertools.count(1, step):
        shutil.rmtree(out)
        out.mkdir()
        code = run_killed(words, tmp_path, n)
        if code == 0:
            break
        assert code == -signal.SIGKILL
        n_killed += 1
        assert without_times(files_of(out)).items() <= whole.items(), f"at {n}"
        assert run_killed(words, tmp_path) == 0
        again = files_of(out)
        assert again.keys() == whole.keys(), f"at {n}"
        assert without_times(again) == without_times(whole), f"at {n}"
    assert n_killed > 3


TERMINATED = """
import os, signal, sys

def hook(event, arguments):
    if event == "open" and ".unfinished-" in str(arguments[0]):
        os.kill(os.getpid(), signal.SIGTERM)

sys.addaudithook(hook)
from seqmtl.commands.main import run

run()
"""


def test_a_terminated_run_leaves_nothing(made, tmp_path):
    words = shlex.split("scan {m} {g} --organism a -o {out}/x.bed".format(out=tmp_path, **made))
    done = subprocess.run(
        [sys.executable, "-c", TERMINATED, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 130
    assert done.stderr.endswith("\nseqmtl: error: interrupted\n")
    assert not list(tmp_path.iterdir())
