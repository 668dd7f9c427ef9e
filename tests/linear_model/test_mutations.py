"""Model files that are damaged although their checksum fits: refused, or of the same answers.

Of the summary of the training, only what scores take is checked.
"""

import functools
from contextlib import suppress

import numpy as np
import pytest

from seqmtl import MultiTaskClassifierCV, MultiTaskMKLClassifier, PositionalKmers, TaskKernel
from seqmtl.exceptions import ModelFileError, SeqmtlError, UnknownTaskError
from seqmtl.loading import load
from tests.linear_model.cases import motif_windows
from tests.mutations import mutations, read, use, write

_REFUSAL = "the file is damaged or was edited; train again"
TREE = "((worm:1,fly:1):1,yeast:2);"


def _windows():
    return motif_windows(120, ("worm", "fly"), at=5)


def _calibrated(path):
    """Tuned, calibrated, and with all that `seqmtl train` notes down."""
    windows = _windows()
    kernel = TaskKernel.from_tree(TREE)
    model = MultiTaskClassifierCV(PositionalKmers("wd:3"), task_kernel=kernel).fit(windows).model_
    for task in model.tasks:
        own = windows[windows.tasks == task]
        model.calibrate(task, model.decision_function(own), own.labels, method="isotonic")
    model.training |= {
        "command": "seqmtl train",
        "sources": ["a.tsv"],
        "seconds": 1.5,
        "dataset": {"path": "donors", "signal": ""},
    }
    model.save(path)
    return windows[:20]


def _views(path):
    kernel = TaskKernel.hierarchical("((worm,fly)insects,yeast)all;")
    views = [PositionalKmers("kmers:2/inf", anchor=0), PositionalKmers("wd:2")]
    MultiTaskMKLClassifier(views, kernel).fit(_windows()).model_.save(path)
    return _windows()[:20]


@pytest.fixture(scope="module", params=[_calibrated, _views])
def saved(request, tmp_path_factory):
    """A model file and examples for it."""
    path = tmp_path_factory.mktemp("models") / "model.seqmtl"
    return path, request.param(path)


def test_a_change_is_refused_or_changes_no_answer(saved, tmp_path):
    path, X = saved
    tasks = load(path).tasks
    expected, changed = use(path, X, tasks), tmp_path / "changed.seqmtl"
    counts = {"refused": 0, "same": 0}
    for name, content in mutations(path.read_bytes(), seed=0, n=400):
        if name.startswith("training."):
            continue
        changed.write_bytes(content)
        try:
            found = use(changed, X, tasks)
        except SeqmtlError as error:
            message = str(error)
            assert "\n" not in message, name
            assert len(message) < 400, name
            if isinstance(error, UnknownTaskError):  # another name of a task is a name, too
                assert name.startswith("tasks."), (name, message)
            else:
                assert message.startswith(f"{changed}: "), (name, message)
            counts["refused"] += 1
        else:
            assert found == expected, name
            counts["same"] += 1
    assert counts["refused"] > 3 * counts["same"] > 0


def test_pairs_of_changes_and_no_change(saved, tmp_path):
    path, X = saved
    tasks, changed = load(path).tasks, tmp_path / "changed.seqmtl"
    for name, content in mutations(path.read_bytes(), seed=1, n=60, changes=2):
        if "training." in name:
            continue
        changed.write_bytes(content)
        with suppress(SeqmtlError):
            use(changed, X, tasks)
    changed.write_bytes(write(*read(path.read_bytes())))
    assert use(changed, X, tasks) == use(path, X, tasks)


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.seqmtl"
    _calibrated(path)
    return path


def _edited(path, changed, edits):
    """Write the file with new values; a function is of an array, and None takes a key away."""
    description, arrays = read(path.read_bytes())
    for key, value in edits.items():
        if callable(value):
            arrays[key] = value(arrays[key])
            continue
        *parents, last = key.split(".")
        entry = functools.reduce(dict.__getitem__, parents, description)
        if value is None:
            del entry[last]
        else:
            entry[last] = value
    changed.write_bytes(write(description, arrays))
    return changed


FLY = "training.tasks.fly"
EDITS = [
    (f"{FLY}.n", 0, f"{FLY}.n must be an integer from 1 to 9007199254740992, got 0"),
    (f"{FLY}.n_positive", 61, "n_positive of fly in training must be at most 60, got 61"),
    (f"{FLY}.n_positive", None, f"{FLY}.n_positive must be there for classification only"),
    ("training.settings.dtype", "int", "training.settings.dtype must be one of float32, float64"),
    ("calibrated", ["fly", "moth"], "calibrated must be 'fly', got ['fly', 'moth']"),
    ("calibrated", ["fly"], "training.calibration must be 'fly', got ["),
    ("tasks", ["fly", "fly"], "tasks must be a list without repetitions"),
    ("site.offset", 12, "site must be inside the window of 12 bases"),
    ("site.letters", "GTA", "site.letters must be words of 1 bases"),
    ("length", 2**31, "length must be an integer from 1 to 10000000"),
    ("bias", lambda a: a[:1], "array bias must be float64 of shape (2), got float64 of shape (1,)"),
    ("W", lambda a: a * np.float32(np.nan), "array W must hold finite numbers"),
    ("W", lambda a: a.astype(float), "array W must be float32 of shape (1008, 2), got float64 of"),
    ("curve_log_odds", lambda a: -a, "the calibration curve of fly does not rise"),
]


@pytest.mark.parametrize(("key", "value", "message"), EDITS)
def test_messages_name_the_file_and_the_key(calibrated, tmp_path, key, value, message):
    changed = _edited(calibrated, tmp_path / "changed.seqmtl", {key: value})
    with pytest.raises(ModelFileError) as info:
        load(changed)
    assert str(info.value).startswith(f"{changed}: {message}")
    assert str(info.value).endswith(_REFUSAL)


def test_unknown_keys_are_kept_but_not_those_of_another_format(calibrated, tmp_path):
    deep = {"deep": [1, None, "x"]}
    added = {"note": "of a newer seqmtl", "seqmtl_version": "99.0", "training.note": deep}
    model = load(_edited(calibrated, tmp_path / "newer", added))
    assert model.training["note"] == deep
    later = _edited(calibrated, tmp_path / "later", {"format_version": 10**30})
    with pytest.raises(ModelFileError, match=r"has model format 10{30}, .*; train again, or"):
        load(later)
