"""A scan that is stopped at any moment leaves no output, and goes on to the same bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from seqmtl.files import resumable as partial
from seqmtl.scan import SiteFinder, run
from tests.scan.cases import SUFFIXES, make_genome, make_model, read_json, run_scan

FORMATS = [*SUFFIXES, "bed.gz"]

#: Runs the command with small blocks and a step of the journal after each.
PROGRAM = """
import sys
from seqmtl.scan import SiteFinder, run
run.JOURNAL_SECONDS, SiteFinder.block = 0.0, int(sys.argv[1])
from seqmtl.cli.main import main
sys.exit(main(sys.argv[2:]))
"""

#: Kills itself a little after its journal has grown to a size.
KILLED = """
import os, signal, threading
from seqmtl.files.resumable import Journal
def write_and_die(journal, step, write=Journal.write):
    write(journal, step)
    if os.path.getsize(journal.path) > {size}:
        threading.Timer({seconds}, os.kill, (os.getpid(), signal.SIGKILL)).start()
Journal.write = write_and_die
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("resume")
    make_model(folder / "model.seqmtl")
    make_genome(folder / "genome.fa", {"c1": 2_600, "tiny": 10, "c2": 1_600, "c3": 30})
    return folder


@pytest.fixture(autouse=True)
def small_steps(monkeypatch):
    monkeypatch.setattr(run, "JOURNAL_SECONDS", 0.0)
    monkeypatch.setattr(SiteFinder, "block", 750)


def outputs(out):
    """Bytes of the finished files, and names of the unfinished."""
    found = {p.name: p.read_bytes() for p in out.parent.iterdir()}
    whole = {name: data for name, data in found.items() if ".partial" not in name}
    whole = {name: data for name, data in whole.items() if not name.endswith(".tbi")}
    return whole, {name for name in found if ".partial" in name}


@pytest.fixture(scope="module")
def expected(folder, tmp_path_factory):
    """Files of uninterrupted scans, by suffix, and no unfinished ones."""
    files = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SiteFinder, "block", 750)
        for suffix in FORMATS:
            out = tmp_path_factory.mktemp("whole") / f"x.{suffix}"
            files[suffix] = outputs(run_scan(folder, out, "-q"))
            assert not files[suffix][1]
    return files


@pytest.fixture
def out(tmp_path):
    """Return a function for the path of an output in a folder of its own."""

    def place(suffix, name="out"):
        (tmp_path / name).mkdir()
        return tmp_path / name / f"x.{suffix}"

    return place


@pytest.fixture
def interrupt(folder, monkeypatch):
    """Return a function that scans and is interrupted; it returns the lines of the journal."""

    def scan(out, *options, step=5, is_late=True, code=130, files=folder):
        """Interrupt before or after a line of the journal, if there is one."""
        write, n_lines = partial.Journal.write, 0

        def interrupted(self, line):
            nonlocal n_lines
            n_lines += 1
            if n_lines == step and not is_late:
                raise KeyboardInterrupt
            write(self, line)
            if n_lines == step:
                raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(partial.Journal, "write", interrupted)
            run_scan(files, out, *options, "--threads", "1", code=code)
        return n_lines

    return scan


@pytest.mark.parametrize("suffix", FORMATS)
def test_stopped_at_every_step(folder, expected, out, interrupt, capsys, suffix):
    path = out(suffix, "whole")
    n_lines = interrupt(path, step=0, code=0)
    assert n_lines > 8
    assert outputs(path) == expected[suffix]
    for step in range(1, n_lines + 1):
        path = out(suffix, str(step))
        capsys.readouterr()
        is_late = (step + FORMATS.index(suffix)) % 2 == 0
        interrupt(path, step=step, is_late=is_late)
        assert outputs(path)[0] == {}
        is_kept = step > 2  # before, nothing was done yet
        assert bool(outputs(path)[1]) == is_kept
        assert ("--resume resumes" in capsys.readouterr().err) == is_kept
        run_scan(folder, path, "--resume", "-q", "--threads", "2")
        assert outputs(path) == expected[suffix]


@pytest.mark.parametrize("n_done", [0, 1])
def test_stopped_between_the_files_of_both_strands(folder, expected, out, monkeypatch, n_done):
    commit = partial.PartialFile.commit
    done = []

    def interrupted(self):
        if len(done) == n_done:
            raise KeyboardInterrupt
        done.append(commit(self))

    path = out("bw")
    with monkeypatch.context() as patch:
        patch.setattr(partial.PartialFile, "commit", interrupted)
        run_scan(folder, path, "-q", code=130)
    assert len(outputs(path)[0]) == n_done
    run_scan(folder, path, "--resume", "-q")
    assert outputs(path) == expected["bw"]


def test_killed_at_random_moments(folder, out, tmp_path):
    rng = np.random.default_rng(2)
    make_genome(tmp_path / "genome.fa", {"c1": 60_000, "c2": 40_000})
    arguments = [
        "2500",
        "scan",
        str(folder / "model.seqmtl"),
        str(tmp_path / "genome.fa"),
        "--organism",
        "man",
        "--consensus",
        "any",
        "-q",
        "--resume",
        "--threads",
        "2",
        "-o",
    ]
    command = [sys.executable, "-c", PROGRAM, *arguments]
    whole, path = out("bw", "whole"), out("bw")
    subprocess.run([*command, str(whole)], check=True)
    for size in sorted(rng.integers(500, 12_000, 3)):
        code = KILLED.format(size=size, seconds=rng.uniform(0, 0.01)) + PROGRAM
        done = subprocess.run([sys.executable, "-c", code, *arguments, str(path)], check=False)
        assert done.returncode == -signal.SIGKILL
        finished, left = outputs(path)
        assert left
        assert all(data == outputs(whole)[0][name] for name, data in finished.items())
    subprocess.run([*command, str(path)], check=True)
    assert outputs(path) == outputs(whole)


def test_another_scan_is_not_gone_on_with(folder, expected, out, interrupt, tmp_path, capsys):
    path = out("bed.gz")
    interrupt(path)
    left = outputs(path)[1]
    run_scan(folder, path, "--resume", "--threshold", "0.5", code=1)
    message = capsys.readouterr().err
    assert "had another threshold (None, now 0.5); give the same, or omit --resume" in message
    assert outputs(path) == ({}, left)
    run_scan(folder, path, "--resume", "-q")
    assert outputs(path) == expected["bed.gz"]
    make_model(tmp_path / "model.seqmtl")
    make_genome(tmp_path / "genome.fa", {"c1": 4_000})
    path = out("bed", "other")
    interrupt(path, files=tmp_path)
    os.utime(tmp_path / "genome.fa", ns=(0, 0))
    run_scan(tmp_path, path, "--resume", code=1)
    assert "had another genome" in capsys.readouterr().err
    make_model(tmp_path / "model.seqmtl", seed=4)
    run_scan(tmp_path, path, "--resume", code=1)


def test_an_unfinished_scan_is_overwritten_and_told(folder, expected, out, interrupt, capsys):
    path = out("bedgraph")
    path.write_text("old")
    interrupt(path)
    assert path.read_text() == "old"  # until the new one is whole
    run_scan(folder, path)
    assert "overwriting an unfinished scan" in capsys.readouterr().err
    assert outputs(path) == expected["bedgraph"]
    run_scan(folder, path, "--resume")
    assert "no unfinished scan to resume" in capsys.readouterr().err
    assert outputs(path) == expected["bedgraph"]


def test_a_scan_that_had_saved_nothing_begins_afresh(folder, expected, out, monkeypatch, capsys):
    path = out("bedgraph")

    def killed(self, *_):  # leaves what is there
        for file in self._files.values():
            file.close()
        raise SystemExit(9)

    with monkeypatch.context() as patch:
        patch.setattr(run.Run, "add", killed)
        patch.setattr(run.Run, "stop", lambda *_: True)
        run_scan(folder, path, "--threads", "1", code=9)
    left = outputs(path)[1]
    assert left == {"x.bedgraph.partial", "x.bedgraph.partial.journal"}
    run_scan(folder, path, "--resume", "--threshold", "0.5", code=1)
    assert "had another threshold (None, now 0.5)" in capsys.readouterr().err
    assert outputs(path) == ({}, left)
    run_scan(folder, path, "--resume")
    message = capsys.readouterr().err
    assert "the unfinished scan had not saved anything yet; starting afresh" in message
    assert "there is no unfinished scan" not in message
    assert outputs(path) == expected["bedgraph"]


def test_the_summary_of_a_resumed_scan_is_that_of_a_whole_one(folder, out, interrupt, tmp_path):
    path, options = out("bed"), ["--threshold", "0", "--softmask", "skip", "-q"]
    found = []
    for name, more in (("whole", []), ("again", ["--resume"])):
        summary = tmp_path / f"{name}.json"
        if more:
            interrupt(path, *options)
        run_scan(folder, path, *options, "--json", str(summary), *more)
        left_out = ("seconds", "megabases_per_second")
        found.append({k: v for k, v in read_json(summary).items() if k not in left_out})
    assert found[0] == found[1]


@pytest.mark.parametrize("damage", ["half a line", "is truncated", "is missing"])
def test_damaged_partial_files(folder, expected, out, interrupt, capsys, damage):
    path = out("bed.gz")
    interrupt(path)
    main_file = path.with_name("x.bed.gz.partial")
    if damage == "half a line":
        with open(f"{main_file}.journal", "a") as stream:
            stream.write('{"n_done": 77, "si')
        run_scan(folder, path, "--resume", "-q")
        assert outputs(path) == expected["bed.gz"]
        return
    if damage == "is missing":
        main_file.unlink()
    else:
        main_file.write_bytes(main_file.read_bytes()[:100])
    run_scan(folder, path, "--resume", code=1)
    message = capsys.readouterr().err
    assert "scan again without --resume" in message
    assert damage in message


def test_a_full_disk(folder, expected, out, capsys):
    code = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (25_000, 25_000));"
    path = out("gff3")
    command = [
        "750",
        "scan",
        str(folder / "model.seqmtl"),
        str(folder / "genome.fa"),
        "--organism",
        "man",
        "-o",
        str(path),
    ]
    done = subprocess.run(
        [sys.executable, "-c", code + PROGRAM, *command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert f"cannot write {path}: File too large; free some space" in done.stderr
    assert "--resume resumes" in done.stderr
    assert outputs(path) == ({}, {"x.gff3.partial", "x.gff3.partial.journal"})
    run_scan(folder, path, "--resume", "-q")
    assert outputs(path) == expected["gff3"]
    if os.path.exists("/dev/full"):  # a device that is always full
        run_scan(folder, "/dev/full", code=1)
        assert "cannot write /dev/full: No space left on device" in capsys.readouterr().err


def test_a_broken_genome_leaves_nothing(folder, out, tmp_path, capsys):
    genome = tmp_path / "genome.fa"
    genome.write_text((folder / "genome.fa").read_text() + ">c1\nACGT\n")
    path = out("bed")
    run_scan(folder, path, genome=genome, code=1)
    assert "must be unique in the file, but it is repeated" in capsys.readouterr().err
    assert list(path.parent.iterdir()) == []
