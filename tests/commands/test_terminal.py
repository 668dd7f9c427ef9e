"""What people read: messages of one line, no control characters, the name of a full disk."""

import errno
import os
import subprocess
import sys

import numpy as np
import pytest

from seqmtl.commands._console import printable
from seqmtl.io.tsv import is_row
from tests.scanning.cases import make_model

CONTROLS = "".join(map(chr, [*range(32), *range(127, 160), 0x202E, 0x2066]))


@pytest.fixture
def model(tmp_path):
    """A calibrated model, of whose probabilities there is no warning."""
    path, y = tmp_path / "m.seqmtl", np.repeat([1, -1], 50)
    trained = make_model(path)
    trained.calibrate("man", np.random.default_rng(0).normal(size=100) + y, y)
    trained.save(path)
    return path


def test_control_characters_are_escaped_except_tabs_and_line_ends():
    assert printable("\x1b[2Jä\t\n\x07\x9b\u202e") == "\\x1b[2Jä\t\n\\x07\\x9b\\u202e"
    assert not set(printable(CONTROLS)) & (set(CONTROLS) - {"\t", "\n"})


def test_names_in_a_model_cannot_steer_the_terminal(model, tmp_path, seqmtl):
    from seqmtl.loading import load

    found = load(model)
    found.training["settings"]["loss"] = f"hinge{CONTROLS}"
    found.training["command"] = "\x1b]0;title\x07"
    found.save(model)
    for options in ([], ["--json", "-"]):
        assert not {"\x1b", "\x9b"} & set(seqmtl(["info", model, *options]).out)
    assert "\x1b" not in seqmtl(["predict", model, tmp_path / "no\x1b[2Jfile.tsv"], 1).err


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("first\n  second\n\nthird"), "first second third"),
        (
            OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
            "cannot write standard output: No space left on device; free some space",
        ),
        (OSError(errno.EIO, os.strerror(errno.EIO), "a.tsv"), "a.tsv: Input/output error"),
        (OSError(errno.EIO, os.strerror(errno.EIO)), "Input/output error"),
        (MemoryError(), "out of memory"),
        (MemoryError("Unable to allocate 8 GiB"), "out of memory (Unable to allocate 8 GiB)"),
        (
            np.linalg.LinAlgError("Singular matrix"),
            "the computation failed (Singular matrix); scale the columns, or look for huge values",
        ),
    ],
)
def test_a_message_is_one_line_that_says_what_to_do(model, monkeypatch, seqmtl, error, message):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("seqmtl.loading.load", fail)
    assert seqmtl(f"info {model}", 1).err == f"seqmtl: error: {message}\n"


FULL = "seqmtl: error: cannot write standard output: No space left on device; free some space\n"
CLOSED = (
    "seqmtl: error: cannot write standard output: it is closed; open it, or send it to /dev/null\n"
)


@pytest.fixture(params=["", "1"], ids=["buffered", "unbuffered"])
def shell(request, model, tmp_path):
    """Return a function that runs a line of a shell, and returns its exit code and messages."""
    genome = tmp_path / "g.fa"
    genome.write_text(f">c\n{'ACGTTGCAGT' * 3000}\n")
    words = {"seqmtl": f"{sys.executable} -m seqmtl", "model": model, "genome": genome}
    environment = {**os.environ, "PYTHONUNBUFFERED": request.param}

    def run(line):
        done = subprocess.run(
            ["bash", "-c", f"cd {tmp_path}; {line.format(**words)}"],
            env=environment,
            check=False,
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize(
    "command",
    [
        "train --features help",
        "scan {model} {genome} --organism man --format bed -q -o -",
    ],
)
def test_standard_output_that_is_full_or_closed_is_named_in_one_line(shell, command):
    """Text that a user asked for is lost: code 1, of help as of results, however buffered."""
    assert shell(f"{{seqmtl}} {command} > /dev/full") == (1, "", FULL)
    assert shell(f"{{seqmtl}} {command} >&-") == (1, "", CLOSED)


@pytest.mark.parametrize(
    "command",
    ["help", "scan {model} {genome} --format bed -q -o -"],
)
def test_a_closed_pipe_ends_a_command_in_silence(shell, command):
    """``seqmtl ... | head -1``: code 141, as of other programs that are ended by SIGPIPE."""
    organism = "--organism man" if command.startswith("scan") else ""
    line = (
        f"(until [ -e closed ]; do sleep 0.01; done; {{seqmtl}} {command} {organism}; echo $? >&2)"
    )
    assert shell(f"{line} | (exec <&-; touch closed)") == (0, "", "141\n")


@pytest.mark.parametrize("shell", ["1"], indirect=True)
def test_a_disk_that_becomes_full_under_standard_output_is_an_error(shell, tmp_path):
    """``PYTHONUNBUFFERED=1``, as in many containers, cut the text, with code 0."""
    options = "--organism man --format bed -q"
    scan = f"{{seqmtl}} scan {{model}} {{genome}} {options} -o -"
    told = FULL.replace("No space left on device", "File too large")
    assert shell(f"(ulimit -f 1; {scan} > out)") == (1, "", told)
    assert shell("(ulimit -f 1; {seqmtl} help scan > out)") == (1, "", told)
    assert (tmp_path / "out").stat().st_size == 1024


@pytest.mark.parametrize("shell", [""], indirect=True)
def test_work_is_done_without_standard_error(shell, tmp_path):
    """A job of ``cron``, or ``2>&-``: with no place for messages, the files are the same."""
    scan = "{seqmtl} scan {model} {genome} --organism man"
    assert shell(f"{scan} -o usual.bed")[0] == 0
    assert shell(f"{scan} -o silent.bed <&- >&- 2>&-") == (0, "", "")
    assert (tmp_path / "silent.bed").read_bytes() == (tmp_path / "usual.bed").read_bytes()
    assert shell("{seqmtl} info {model} 2>/dev/full")[0] == 0
    assert shell("{seqmtl} info no.seqmtl 2>&-") == (1, "", "")
    assert shell("{seqmtl} info 2>&-") == (2, "", "")
    assert shell("{seqmtl} info {model} >&- 2>&-") == (1, "", "")
    assert shell("{seqmtl} scan {model} - -o x.bed --organism man -q <&-")[0] == 1


@pytest.mark.parametrize(("name", "suffix"), [("#gff", "bed"), ("track", "spsc")])
def test_contigs_that_would_be_comments_are_refused(model, tmp_path, seqmtl, name, suffix):
    genome, out = tmp_path / "g.fa", tmp_path / f"x.{suffix}"
    genome.write_text(f">good\n{'ACGTTGCAGT' * 20}\n>{name}\n{'ACGTTGCAGT' * 20}\n")
    command = f"scan {model} {genome} --organism man"
    told = seqmtl(f"{command} -o {out}", 1).err
    assert f"a line that begins with {name!r} is a comment or a header" in told
    assert not out.exists()
    seqmtl(f"{command} -o {tmp_path}/x.gff3")
    escaped = name.replace("#", "%23")
    lines = (tmp_path / "x.gff3").read_text().splitlines()
    rows = [line for line in lines if line.startswith(f"{escaped}\t")]
    assert len(rows) == sum(line.startswith("good\t") for line in lines) > 0


def test_only_the_words_track_and_browser_make_a_line_no_row():
    assert is_row(b"track1\t0\t5")
    assert is_row(b"browserify\t0\t5")
    for line in (b"track name=x", b"browser\tposition", b"# note", b" \t ", b"#gff\t1\t2"):
        assert not is_row(line)


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="no /dev/stdout")
@pytest.mark.parametrize("shell", [""], indirect=True)
def test_other_names_of_standard_output_are_standard_output(shell):
    """What others have written to it before stays, and a pipe that is closed early is no error."""
    options = "--organism man --format bed -q"
    command = f"{{seqmtl}} scan {{model}} {{genome}} {options} -o"
    status, expected, _ = shell(f"{command} -")
    assert (status, len(expected) > 100) == (0, True)
    for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        assert shell(f"echo a > out; {command} {name} >> out; cat out") == (0, f"a\n{expected}", "")
    assert shell(f"{command} /dev/stdout | cat") == (0, expected, "")
    assert shell(f"{command} /dev/stdout | head -n 1")[::2] == (0, "")
