"""Runs that are killed at any moment: each file is whole, and the next run writes all of them."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys

import pytest

from seqmtl.commands.main import main

#: What Python does to files and folders, of which some name the file.
EVENTS = {"open", "os.remove", "os.rename", "os.chmod", "os.mkdir", "os.rmdir", "os.truncate"}


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


def run(words, folder, n=None):
    """Run a command in a process that kills itself before its n-th event in a folder."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    left = n

    def hook(event, arguments):
        nonlocal left
        if event not in EVENTS:
            return
        place = str(arguments[event == "os.rename"])
        is_inside = place.startswith(str(folder)) and "/.unfinished-" not in os.path.dirname(place)
        if is_inside:
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

    try:
        if n is not None:
            sys.addaudithook(hook)
        code = main(words)
    except BaseException:
        code = 99
    os._exit(code)


def contents(folder):
    """Return the visible files: a killed run may leave hidden ones."""
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    return {name: content for name, content in files.items() if "/." not in f"/{name}"}


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize(
    "command",
    [
        "scan {m} {g} --organism a --format bed -o {out}/x.bed.gz --json {out}/x.json",
        "dataset {d} -o {out}/d",
    ],
)
def test_a_run_killed_at_any_moment_leaves_whole_files_and_the_next_run_writes_all(
    made, tmp_path, command
):
    """A batch system ends a job at its time limit, or for memory; the user runs it again."""
    words = [*shlex.split(command.format(out=tmp_path / "out", **made)), "-q", "--threads", "1"]
    (tmp_path / "out").mkdir()
    assert run(words, tmp_path) == 0
    whole = contents(tmp_path / "out")
    n_killed = 0
    for n in itertools.count(1):
        shutil.rmtree(tmp_path / "out")
        (tmp_path / "out").mkdir()
        code = run(words, tmp_path, n)
        if code == 0:
            break
        assert code == -signal.SIGKILL
        n_killed += 1
        left = contents(tmp_path / "out")
        for name, content in left.items():
            if not name.endswith(".json"):  # which have times
                assert content == whole[name], f"{name} at {n}"
        assert run(words, tmp_path) == 0
        assert contents(tmp_path / "out").keys() == whole.keys(), f"at {n}"
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
