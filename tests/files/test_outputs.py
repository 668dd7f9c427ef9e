"""No output is an input, or another output."""

import os
import signal
import subprocess
import sys

import pytest

from seqmtl.exceptions import SeqmtlError
from seqmtl.files.atomic import atomic_folder, atomic_write, write_lines
from seqmtl.files.json_lines import append_json_line, read_json_lines
from seqmtl.files.outputs import check_outputs

WRITER = """
import sys
from seqmtl.files.atomic import atomic_folder, atomic_write, write_lines
with atomic_write(sys.argv[1]) as stream:
    stream.write("half")
    stream.flush()
    print("begun", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def tree(tmp_path):
    path = tmp_path / "tree.nwk"
    path.write_text("(a:1,b:1);")
    return path


@pytest.mark.parametrize("name", ["tree.nwk", "link.nwk", "hard.nwk", "../{folder}/tree.nwk"])
def test_an_input_is_no_output(tmp_path, tree, name, seqmtl):
    (tmp_path / "link.nwk").symlink_to("tree.nwk")
    os.link(tree, tmp_path / "hard.nwk")
    told = seqmtl(f"similarity --tree {tree} -o {tmp_path / name.format(folder=tmp_path.name)}", 1)
    assert f"would overwrite the input {tree}; choose another" in told.err
    assert tree.read_text() == "(a:1,b:1);"


def test_indexes_and_files_in_folders_are_inputs(tmp_path, tree, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for index in ("tree.nwk.fai", "tree.nwk.gzi", "tree.nwk.tbi", "tree.nwk.csi"):
        with pytest.raises(SeqmtlError, match=f"^{index} would overwrite the input tree.nwk; "):
            check_outputs(["tree.nwk"], [index])
    with pytest.raises(SeqmtlError, match=r"^tree.nwk would overwrite the input \S+tree.nwk; "):
        check_outputs([str(tmp_path)], ["tree.nwk"])
    check_outputs(["tree.nwk", "starter:donor", None, "-"], ["tree.tsv", "x.fai", None, "-"])


def test_an_input_is_replaced_only_by_the_first_output(tmp_path, tree):
    other = str(tmp_path / "other")
    check_outputs([], [str(tree), other], replaced=str(tree))
    check_outputs([], [other, None], replaced=str(tree))
    with pytest.raises(SeqmtlError, match="would overwrite the input"):
        check_outputs([], [other, str(tree)], replaced=str(tree))
    with pytest.raises(SeqmtlError, match="is named as two outputs"):
        check_outputs([], [str(tree), str(tree)], replaced=str(tree))


def test_two_outputs_are_two_files(tmp_path, tree, seqmtl):
    output = tmp_path / "k.png"
    told = seqmtl(f"similarity --tree {tree} -o {output} --plot {output}", 1).err
    assert "is named as two outputs" in told
    assert os.listdir(tmp_path) == ["tree.nwk"]


def test_a_device_takes_every_output(tree, seqmtl):
    seqmtl(f"similarity --tree {tree} -o /dev/null")
    check_outputs(["/dev/null"], ["/dev/null", "/dev/null"])


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("starter:donor", "models of the package have such names"),
        ("{}", "it is a folder; give a file name"),
        ("{}/none/x", "no folder {}/none; create it first"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path, output, message):
    with pytest.raises(SeqmtlError, match=message.format(tmp_path)):
        check_outputs([], [output.format(tmp_path)])


def test_a_report_is_a_page_and_replaces_no_input(tmp_path, tree, seqmtl):
    page = tree.rename(tmp_path / "tree.html")
    told = seqmtl(f"report {tmp_path} --tree {page} -o {page}", 1).err
    assert f"would overwrite the input {page}" in told
    told = seqmtl(f"report {tmp_path} -o {tmp_path}/m.seqmtl", 2).err
    assert "must end in .html or .htm" in told


@pytest.fixture
def other_run(tmp_path):
    """Another process that is writing an output."""
    command = [sys.executable, "-c", WRITER, str(tmp_path / "out")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        assert process.stdout.readline() == "begun\n"
        yield process
        process.kill()


def test_of_two_runs_on_one_output_the_last_wins(tmp_path, other_run):
    with atomic_write(tmp_path / "out") as stream:
        stream.write("whole")
    assert (tmp_path / "out").read_text() == "whole"
    other_run.communicate("\n")
    assert other_run.returncode == 0
    assert (tmp_path / "out").read_text() == "half"
    assert os.listdir(tmp_path) == ["out"]


def test_a_killed_run_leaves_what_was_there_and_a_hidden_file(tmp_path, other_run):
    (tmp_path / "out").write_text("before")
    other_run.send_signal(signal.SIGKILL)
    other_run.wait()
    (left,) = set(os.listdir(tmp_path)) - {"out"}
    assert left.startswith(".out.unfinished-")
    assert (tmp_path / "out").read_text() == "before"
    with atomic_write(tmp_path / "another") as stream:
        stream.write("whole")
    assert set(os.listdir(tmp_path)) == {"another", "out", left}
    with atomic_write(tmp_path / "out") as stream:
        stream.write("whole")
    assert set(os.listdir(tmp_path)) == {"another", "out"}


@pytest.mark.parametrize(
    "block",
    ["atomic_folder(sys.argv[1], last='end')", "temporary_folder()"],
    ids=lambda text: text[:9],
)
def test_a_folder_of_a_killed_run_goes_with_the_next(tmp_path, monkeypatch, block):
    """``dataset``, ``simulate``, ``explain``, and the workers of ``train --dask``."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    line = "import os, sys; from seqmtl.files.atomic import *; context = {}; context.__enter__()"
    for end in ("os.kill(os.getpid(), 9)", "context.__exit__(None, None, None)"):
        command = [sys.executable, "-c", f"{line.format(block)}; {end}", str(tmp_path)]
        subprocess.run(command, check=False)
        if "kill" in end:
            assert [name for name in os.listdir(tmp_path) if "unfinished-" in name]
    assert os.listdir(tmp_path) == []


def test_json_lines_lose_at_most_half_a_line(tmp_path):
    path = str(tmp_path / "lines")
    assert read_json_lines(path) == []
    whole = [{"what": [1, 2]}, {"step": 1}, {"step": 2}]
    for line in whole:
        append_json_line(path, line)
    assert read_json_lines(path) == whole
    text = (tmp_path / "lines").read_bytes()
    for size in range(len(text)):
        (tmp_path / "lines").write_bytes(text[:size])
        n_whole = text[:size].count(b"\n")
        assert read_json_lines(path) == whole[:n_whole]
        append_json_line(path, {"step": 3})
        assert read_json_lines(path) == [*whole[:n_whole], {"step": 3}]
    (tmp_path / "lines").write_bytes(b"{\n")
    with pytest.raises(SeqmtlError, match=r"lines is damaged \(.*\); remove it to start afresh"):
        read_json_lines(path)
    with pytest.raises(SeqmtlError, match="cannot write /dev/full: No space left on device"):
        append_json_line("/dev/full", {})


def test_a_full_disk_adds_no_half_line(tmp_path, file_size):
    path = str(tmp_path / "lines")
    for before in ([], [{"step": 1}]):
        for line in before:
            append_json_line(path, line)
        file_size(100)
        with pytest.raises(SeqmtlError, match=r"cannot write \S+lines: File too large; free"):
            append_json_line(path, {"step": "x" * 500})
        assert os.listdir(tmp_path) == (["lines"] if before else [])
        assert read_json_lines(path) == before


def test_a_full_disk_names_the_file_of_a_folder_by_its_place(tmp_path, file_size):
    file_size(10)
    with pytest.raises(SeqmtlError, match=f"cannot write {tmp_path}/a: File too large; free"):
        with atomic_folder(tmp_path, last="end") as folder:
            write_lines(folder / "a", ["x" * 100])
    assert os.listdir(tmp_path) == []
