"""Runs that are killed at any moment: each file is whole, and the next run leaves nothing else."""

from __future__ import annotations

import itertools
import os
import shlex
import signal
import sys

import pytest

from seqmtl.commands.main import main
from seqmtl.simulation import simulate, write_simulation

#: What Python does to files and folders, of which some name the file.
EVENTS = {"open", "os.remove", "os.rename", "os.chmod", "os.mkdir", "os.rmdir", "os.truncate"}
EVENTS |= {"tempfile.mkstemp", "fcntl.flock"}
TRAIN = "--window 21 --features wd:2 --selection none -C 1"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("killed")
    simulation = simulate("(ape:0.2,man:0.2);", seed=2, chromosome_length=20_000, n_windows=60)
    write_simulation(simulation, folder)
    rows = "".join(f"chr1\t{at}\t.\tN\tA\t.\t.\t.\n" for at in range(100, 2_000, 100))
    columns = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"
    (folder / "in.vcf").write_text(f"##fileformat=VCFv4.2\n{columns}\n{rows}")
    for command in (f"train windows.tsv.gz {TRAIN} -o m.seqmtl -q", "dataset dataset.toml -o d -q"):
        words = [str(folder / word) if "." in word[1:] else word for word in shlex.split(command)]
        words = [str(folder / word) if word == "d" else word for word in words]
        assert main(words) == 0
    return folder


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
        if event == "fcntl.flock" or is_inside:
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
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize(
    "command",
    [
        "scan {m} {ape} --organism ape --format bed -o {out}/x.bed.gz --json {out}/x.json",
        "scan {m} {ape} --organism ape -o {out}/x.bw",
        "variants {m} --vcf {vcf} --fasta {ape} --organism ape -o {out}/x.vcf.gz --tsv {out}/x.gz",
        "train {table} --tol 1e-4 -o {out}/m.seqmtl --json {out}/m.json " + TRAIN,
        "dataset {toml} -o {out}/d",
    ],
)
def test_a_run_killed_at_any_moment_leaves_whole_files_and_the_next_run_nothing_else(
    made, tmp_path, command
):
    """A batch system ends a job at its time limit, or for memory; the user runs it again."""
    names = {"m": "m.seqmtl", "ape": "genomes/ape.fa", "vcf": "in.vcf", "table": "windows.tsv.gz"}
    paths = {name: made / path for name, path in names.items()} | {"toml": made / "dataset.toml"}
    words = [*shlex.split(command.format(out=tmp_path / "out", **paths)), "-q", "--threads", "1"]
    (tmp_path / "out").mkdir()
    assert run(words, tmp_path) == 0
    whole = contents(tmp_path / "out")
    n_killed = 0
    for n in itertools.count(1):
        for path in sorted((tmp_path / "out").rglob("*"), reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
        code = run(words, tmp_path, n)
        if code == 0:
            break
        assert code == -signal.SIGKILL
        n_killed += 1
        left = contents(tmp_path / "out")
        for name, content in left.items():
            is_hidden = "/." in f"/{name}"
            if not is_hidden and not name.endswith(
                (".json", ".seqmtl", ".checkpoint")
            ):  # have times
                assert content == whole[name], f"{name} at {n}"
        assert run(words, tmp_path) == 0
        assert contents(tmp_path / "out").keys() == whole.keys(), f"at {n}"
    assert n_killed > 3
