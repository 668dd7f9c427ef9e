"""A scan that is stopped at any moment leaves no output, and goes on to the same bytes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from seqmtl.files import resumable as partial
from seqmtl.scan import SiteFinder, run
from tests.scan.cases import SUFFIXES, make_genome, make_model, run_scan

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
    """Files of uninterrupted scans, by suffix."""
    files = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SiteFinder, "block", 750)
        for suffix in FORMATS:
            out = tmp_path_factory.mktemp("whole") / f"x.{suffix}"
            run_scan(folder, out, "-q")
            files[suffix], left = outputs(out)
            assert not left
    return files


def interrupt(folder, out, monkeypatch, *options, step=5, is_late=True, code=130):
    """Scan and be interrupted before or after a line of the journal, if there is one."""
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
        run_scan(folder, out, *options, "--threads", "1", code=code)
    return n_lines


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("suffix", FORMATS)
def test_stopped_at_every_step(folder, expected, tmp_path, monkeypatch, capsys, suffix, is_late):
    whole = tmp_path / "whole" / f"x.{suffix}"
    whole.parent.mkdir()
    n_lines = interrupt(folder, whole, monkeypatch, step=0, code=0)
    assert n_lines > 8
    assert outputs(whole) == (expected[suffix], set())
    for step in range(1, n_lines + 1):
        out = tmp_path / str(step) / f"x.{suffix}"
        out.parent.mkdir()
        capsys.readouterr()
        interrupt(folder, out, monkeypatch, step=step, is_late=is_late)
        assert outputs(out)[0] == {}
        is_kept = step > 2  # before, nothing was done yet
        assert bool(outputs(out)[1]) == is_kept
        assert ("--resume resumes" in capsys.readouterr().err) == is_kept
        run_scan(folder, out, "--resume", "-q", "--threads", "2")
        assert outputs(out) == (expected[suffix], set())


@pytest.mark.parametrize("n_done", [0, 1])
def test_stopped_between_the_files_of_both_strands(folder, expected, tmp_path, monkeypatch, n_done):
    commit = partial.PartialFile.commit
    done = []

    def interrupted(self):
        if len(done) == n_done:
            raise KeyboardInterrupt
        done.append(commit(self))

    out = tmp_path / "x.bw"
    with monkeypatch.context() as patch:
        patch.setattr(partial.PartialFile, "commit", interrupted)
        run_scan(folder, out, "-q", code=130)
    assert len(outputs(out)[0]) == n_done
    run_scan(folder, out, "--resume", "-q")
    assert outputs(out) == (expected["bw"], set())


def test_killed_at_random_moments(folder, tmp_path):
    rng = np.random.default_rng(2)
    make_genome(tmp_path / "genome.fa", {"c1": 60_000, "c2": 40_000})
    arguments = ["2500", "scan", str(folder / "model.seqmtl"), str(tmp_path / "genome.fa"),
                 "--organism", "man", "--consensus", "any", "-q", "--resume", "--threads", "2",
                 "-o"]  # fmt: skip
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    command = [sys.executable, "-c", PROGRAM, *arguments]
    subprocess.run([*command, str(tmp_path / "whole" / "x.bw")], check=True)
    expected = outputs(tmp_path / "whole" / "x.bw")
    out = tmp_path / "killed" / "x.bw"
    for size in sorted(rng.integers(500, 12_000, 3)):
        code = KILLED.format(size=size, seconds=rng.uniform(0, 0.01)) + PROGRAM
        done = subprocess.run([sys.executable, "-c", code, *arguments, str(out)], check=False)
        assert done.returncode == -signal.SIGKILL
        whole, left = outputs(out)
        assert left
        assert all(data == expected[0][name] for name, data in whole.items())
    subprocess.run([*command, str(out)], check=True)
    assert outputs(out) == expected
    assert expected[1] == set()


def test_another_scan_is_not_gone_on_with(folder, expected, tmp_path, monkeypatch, capsys):
    out = tmp_path / "x.bed.gz"
    interrupt(folder, out, monkeypatch)
    left = outputs(out)[1]
    run_scan(folder, out, "--resume", "--threshold", "0.5", code=1)
    message = capsys.readouterr().err
    assert "had another threshold (None, now 0.5); give the same, or omit --resume" in message
    assert outputs(out) == ({}, left)
    run_scan(folder, out, "--resume", "-q")
    assert outputs(out) == (expected["bed.gz"], set())


def test_another_genome_is_not_gone_on_with(folder, tmp_path, monkeypatch, capsys):
    make_model(tmp_path / "model.seqmtl")
    make_genome(tmp_path / "genome.fa", {"c1": 4_000})
    out = tmp_path / "out" / "x.bed"
    out.parent.mkdir()
    interrupt(tmp_path, out, monkeypatch)
    os.utime(tmp_path / "genome.fa", ns=(0, 0))
    run_scan(tmp_path, out, "--resume", code=1)
    assert "had another genome" in capsys.readouterr().err
    make_model(tmp_path / "model.seqmtl", seed=4)
    run_scan(tmp_path, out, "--resume", code=1)


def test_an_unfinished_scan_is_overwritten_and_told(
    folder, expected, tmp_path, monkeypatch, capsys
):
    out = tmp_path / "x.bedgraph"
    interrupt(folder, out, monkeypatch)
    run_scan(folder, out)
    assert "overwriting an unfinished scan" in capsys.readouterr().err
    assert outputs(out) == (expected["bedgraph"], set())


def test_nothing_to_go_on_with_begins_afresh(folder, expected, tmp_path, capsys):
    out = tmp_path / "x.bedgraph"
    run_scan(folder, out, "--resume")
    assert "no unfinished scan to resume" in capsys.readouterr().err
    assert outputs(out) == (expected["bedgraph"], set())


def test_a_scan_that_had_saved_nothing_begins_afresh(
    folder, expected, tmp_path, monkeypatch, capsys
):
    out = tmp_path / "x.bedgraph"

    def killed(self, *_):  # leaves what is there
        for file in self._files.values():
            file.close()
        raise SystemExit(9)

    with monkeypatch.context() as patch:
        patch.setattr(run.Run, "add", killed)
        patch.setattr(run.Run, "stop", lambda *_: True)
        with pytest.raises(SystemExit, match="9"):
            run_scan(folder, out, "--threads", "1")
    left = outputs(out)[1]
    assert left == {"x.bedgraph.partial", "x.bedgraph.partial.journal"}
    capsys.readouterr()
    run_scan(folder, out, "--resume", "--threshold", "0.5", code=1)
    assert "had another threshold (None, now 0.5)" in capsys.readouterr().err
    assert outputs(out) == ({}, left)
    run_scan(folder, out, "--resume")
    message = capsys.readouterr().err
    assert "the unfinished scan had not saved anything yet; starting afresh" in message
    assert "there is no unfinished scan" not in message
    assert outputs(out) == (expected["bedgraph"], set())


def test_the_summary_of_a_resumed_scan_is_that_of_a_whole_one(folder, tmp_path, monkeypatch):
    out, options = tmp_path / "x.bed", ["--threshold", "0", "--softmask", "skip"]
    run_scan(folder, out, *options, "--json", str(tmp_path / "whole.json"), "-q")
    interrupt(folder, out, monkeypatch, *options)
    run_scan(folder, out, *options, "--json", str(tmp_path / "again.json"), "-q", "--resume")
    scans = [
        json.loads((tmp_path / f"{n}.json").read_text())["scans"][0] for n in ("whole", "again")
    ]
    for scan in scans:
        del scan["seconds"], scan["megabases_per_second"]
    assert scans[0] == scans[1]


@pytest.mark.parametrize("damage", ["half a line", "is truncated", "is missing"])
def test_damaged_partial_files(folder, expected, tmp_path, monkeypatch, capsys, damage):
    out = tmp_path / "x.bed.gz"
    interrupt(folder, out, monkeypatch)
    main_file = tmp_path / "x.bed.gz.partial"
    if damage == "half a line":
        with open(f"{main_file}.journal", "a") as stream:
            stream.write('{"n_done": 77, "si')
        run_scan(folder, out, "--resume", "-q")
        assert outputs(out) == (expected["bed.gz"], set())
        return
    if damage == "is missing":
        main_file.unlink()
    else:
        main_file.write_bytes(main_file.read_bytes()[:100])
    run_scan(folder, out, "--resume", code=1)
    message = capsys.readouterr().err
    assert "scan again without --resume" in message
    assert damage in message


def test_a_full_disk(folder, expected, tmp_path):
    code = (
        "import resource; from seqmtl.scan import run; run.JOURNAL_SECONDS = 0.0;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (25_000, 25_000));"
    )
    out = tmp_path / "x.gff3"
    command = ["750", "scan", str(folder / "model.seqmtl"), str(folder / "genome.fa"),
               "--organism", "man", "-o", str(out)]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", code + PROGRAM, *command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert f"cannot write {out}: File too large; free some space" in done.stderr
    assert "--resume resumes" in done.stderr
    whole, left = outputs(out)
    assert whole == {}
    assert left == {"x.gff3.partial", "x.gff3.partial.journal"}
    run_scan(folder, out, "--resume", "-q")
    assert outputs(out) == (expected["gff3"], set())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_full_device(folder, capsys):
    run_scan(folder, "/dev/full", code=1)
    assert "cannot write /dev/full: No space left on device" in capsys.readouterr().err


def test_a_broken_genome_leaves_nothing(folder, tmp_path, capsys):
    (tmp_path / "genome.fa").write_text((folder / "genome.fa").read_text() + ">c1\nACGT\n")
    make_model(tmp_path / "model.seqmtl")
    (tmp_path / "out").mkdir()
    run_scan(tmp_path, tmp_path / "out" / "x.bed", code=1)
    assert "must be unique in the file, but it is repeated" in capsys.readouterr().err
    assert list((tmp_path / "out").iterdir()) == []


def test_an_old_output_stays_until_the_new_one_is_whole(folder, expected, tmp_path, monkeypatch):
    out = tmp_path / "x.bedgraph"
    out.write_text("old")
    interrupt(folder, out, monkeypatch)
    assert out.read_text() == "old"
    run_scan(folder, out, "--resume", "-q")
    assert outputs(out) == (expected["bedgraph"], set())
