"""One run at a time writes an output, and no output is an input."""

import errno
import os
import signal
import subprocess
import sys

import pytest

from seqmtl.exceptions import SeqmtlError
from seqmtl.files.atomic import atomic_folder, claimed, remove_unfinished
from seqmtl.files.outputs import check_outputs, files_of_a_run

HOLDER = """
import sys
from seqmtl.files.atomic import atomic_write
from seqmtl.files.atomic import claimed
with {"claimed": claimed, "atomic_write": atomic_write}[sys.argv[2]](sys.argv[1]):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def hold():
    """Return a function that starts a process which holds a claim."""
    started = []

    def start(path, how="claimed"):
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(path), how],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout.readline() == "held\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_a_claim_is_held_by_one_process(tmp_path, hold):
    path = tmp_path / "out.bed"
    holder = hold(path)
    with pytest.raises(SeqmtlError, match="is being written by another run; wait"):
        with claimed(path):
            pytest.fail("claimed twice")
    holder.communicate("\n")
    assert os.listdir(tmp_path) == []
    with claimed(path):
        assert os.listdir(tmp_path) == ["out.bed.partial.lock"]
    assert os.listdir(tmp_path) == []


def test_a_killed_process_holds_nothing(tmp_path, hold):
    path = tmp_path / "out.bed"
    holder = hold(path)
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert os.listdir(tmp_path) == ["out.bed.partial.lock"]
    with claimed(path):
        pass
    assert os.listdir(tmp_path) == []


def test_what_a_killed_process_was_writing_is_removed_and_nothing_else(tmp_path, hold):
    path, other = tmp_path / "out.bed", tmp_path / "out.bed.gz"
    dead, alive, elsewhere = (hold(p, "atomic_write") for p in (path, path, other))
    assert len(os.listdir(tmp_path)) == 3
    remove_unfinished(path)
    assert len(os.listdir(tmp_path)) == 3
    dead.send_signal(signal.SIGKILL)
    dead.wait()
    for _ in range(2):
        remove_unfinished(path)
        assert len(os.listdir(tmp_path)) == 2
    for process in (alive, elsewhere):
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.wait() == 0
    assert sorted(os.listdir(tmp_path)) == ["out.bed", "out.bed.gz"]


def test_what_a_killed_run_has_left_of_its_checkpoint_goes_with_the_output(tmp_path, hold):
    others = ["out.bedx", "xout.bed", "out"]
    for name in ["out.bed.checkpoint", *others]:
        killed = hold(tmp_path / name, "atomic_write")
        killed.send_signal(signal.SIGKILL)
        killed.wait()
    remove_unfinished(tmp_path / "out.bed")
    left = sorted(name.partition(".unfinished-")[0] for name in os.listdir(tmp_path))
    assert left == sorted(f".{name}" for name in others)


def test_links_to_one_output_are_one_claim(tmp_path, hold):
    (tmp_path / "link.bed").symlink_to("out.bed")
    hold(tmp_path / "out.bed")
    with pytest.raises(SeqmtlError, match="another run"), claimed(tmp_path / "link.bed"):
        pass


def test_a_folder_is_written_by_one_run_and_cleared_of_killed_ones(tmp_path):
    folder = tmp_path / "out"
    (folder / ".unfinished-killed").mkdir(parents=True)
    with atomic_folder(folder, last="summary.json") as scratch:
        (scratch / "summary.json").write_text("{}")
        with pytest.raises(SeqmtlError, match="out is being written by another run"):
            with atomic_folder(folder, last="summary.json"):
                pytest.fail("written twice")
    assert os.listdir(folder) == ["summary.json"]


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


def test_two_outputs_are_two_files(tmp_path, tree, seqmtl):
    output = tmp_path / "k.png"
    told = seqmtl(f"similarity --tree {tree} -o {output} --plot {output}", 1).err
    assert "is named as two outputs" in told
    assert os.listdir(tmp_path) == ["tree.nwk"]


def test_a_device_takes_every_output(tree, seqmtl):
    seqmtl(f"similarity --tree {tree} -o /dev/null")
    with files_of_a_run():
        check_outputs("/dev/null", "/dev/null")


def test_without_locks_nothing_of_others_is_removed(tmp_path, monkeypatch):
    def refuse(handle, operation):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    (tmp_path / ".unfinished-other").mkdir()
    with claimed(tmp_path / "x") as is_held:
        assert not is_held
    with atomic_folder(tmp_path, last="summary.json") as scratch:
        (scratch / "summary.json").write_text("{}")
    assert {".unfinished-other", "summary.json"} <= set(os.listdir(tmp_path))


def test_a_command_waits_for_no_other_run(tmp_path, tree, hold, seqmtl):
    output = tmp_path / "k.tsv"
    hold(output)
    told = seqmtl(f"similarity --tree {tree} -o {output}", 1).err
    assert "is being written by another run" in told
    assert not output.exists()


def test_a_report_is_a_page_and_replaces_no_input(tmp_path, tree, seqmtl):
    page = tree.rename(tmp_path / "tree.html")
    told = seqmtl(f"report {tmp_path} --tree {page} -o {page}", 1).err
    assert f"would overwrite the input {page}" in told
    told = seqmtl(f"report {tmp_path} -o {tmp_path}/m.seqmtl", 2).err
    assert "must end in .html or .htm" in told
