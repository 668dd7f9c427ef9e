"""What a process has set is no obstacle."""

import multiprocessing
import os
import re

import numpy as np
import pytest

import seqmtl
from tests.invocation import python, write_windows
from tests.linear_model.cases import motif_windows

TINY = 1e-200  # products of such numbers are below the smallest
LOOP = "from seqmtl._jit import njit\n@njit\ndef add(a, b):\n    return a + b\n"


@pytest.mark.parametrize("kind", ["SVC", "ClassifierCV", "MKLClassifier", "SVR"])
def test_training_does_not_depend_on_how_numpy_tells_errors(kind):
    X = np.random.default_rng(0).standard_normal((60, 3)) * TINY
    y, tasks = [0, 1, 1, 0] * 15, [*"ab"] * 30
    model = getattr(seqmtl, f"MultiTask{kind}")()
    expected = model.fit(X, y, tasks=tasks).predict(X, tasks)
    with np.errstate(all="raise"):
        found = model.fit(X, y, tasks=tasks).predict(X, tasks)
        if hasattr(model, "predict_proba"):
            model.predict_proba(X, tasks)
        assert np.geterr()["under"] == "raise"
    np.testing.assert_array_equal(found, expected)


def test_commands_do_not_depend_on_it_either(tmp_path):
    windows = motif_windows(80, ("a", "b"), length=20, at=8)
    table = write_windows(tmp_path / "t.tsv", windows)
    with np.errstate(all="raise"):
        seqmtl.train(str(table), output=str(tmp_path / "m.seqmtl"), C=1e3, site=8)


def test_pictures_do_not_depend_on_the_backend_of_a_notebook(tmp_path):
    words = "-m seqmtl similarity --tree six_eukaryotes --plot t.png".split()
    done = python(tmp_path, *words, MPLBACKEND="module://not_installed_here")
    assert (done.returncode, (tmp_path / "t.png").exists()) == (0, True), done.stderr


def _train(windows, queue):
    queue.put(seqmtl.MultiTaskSVC().fit(windows).decision_function(windows))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_has_threads_of_its_own():
    windows = motif_windows(5000, ("a", "b"), length=20, at=8)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    with seqmtl.use_threads(2):
        expected = seqmtl.MultiTaskSVC().fit(windows).decision_function(windows)
        process = context.Process(target=_train, args=(windows, queue), daemon=True)
        process.start()
        try:
            np.testing.assert_array_equal(queue.get(timeout=60), expected)
        finally:
            process.kill()
            process.join()


def test_compiled_loops_work_on_a_full_disk(tmp_path):
    """A home folder whose quota is used up: compiled loops are not cached, and the work is done."""
    (tmp_path / "loop.py").write_text(LOOP)
    code = (
        "import resource, loop\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))\n"
        "print(loop.add(1, 2), loop.add(1.5, 2.5))\n"
    )
    done = python(tmp_path, "-c", code, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert (done.stdout, done.returncode) == ("3 4.0\n", 0), done.stderr


_DAMAGED_CACHES = """
import pathlib
import loop
from seqmtl._jit import njit

def add():
    function = njit(loop.add.py_func)
    assert function(1, 2) == 3
    return sum(function.stats.cache_hits.values())

assert not add() and add()
whole = {path: path.read_bytes() for path in pathlib.Path("cache").rglob("*.nb[ic]")}
assert {path.suffix for path in whole} == {".nbi", ".nbc"}
for path, data in whole.items():
    n = len(data)
    lengths = [0, 1, 2, 20, n // 4, n // 2, n - 1]
    for damage in [data[:i] for i in lengths] + [b"x" + data, bytes(n), b"garbage\\n", None]:
        if damage is None:
            path.unlink()
            path.mkdir()
        else:
            path.write_bytes(damage)
        assert not add(), (path, damage)
        if damage is None:
            path.rmdir()
            path.write_bytes(data)
        assert add(), (path, damage)
"""


def test_loops_are_compiled_again_if_their_cache_is_damaged(tmp_path):
    """Files cut by a killed job, a full disk or NFS, those of zeros, and one that is no file."""
    (tmp_path / "loop.py").write_text(LOOP)
    done = python(tmp_path, "-c", _DAMAGED_CACHES, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("variables", "arguments", "message"),
    [
        (
            {"NUMBA_NUM_THREADS": "0"},
            ["train", "w.tsv", "-o", "m.seqmtl", "--selection", "none"],
            "error: numba cannot start: .* unset its variables, such as NUMBA_NUM_THREADS",
        ),
        (
            {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
            ["info", "mé.seqmtl"],
            "'m.*.seqmtl' has letters that this locale lacks; set PYTHONUTF8=1",
        ),
    ],
)
def test_variables_that_are_to_blame_are_named(tmp_path, variables, arguments, message):
    rows = "".join(f"{label}\tACGT{letter * 8}\n" for label, letter in ((1, "A"), (-1, "C")) * 4)
    (tmp_path / "w.tsv").write_text(f"label\tsequence\n{rows}")
    done = python(tmp_path, "-m", "seqmtl", *arguments, **variables)
    assert re.search(message, done.stderr)
    assert done.returncode in (1, 2)
