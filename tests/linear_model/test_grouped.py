"""Models of many tasks: files whose weights are read when they are needed."""

import zlib
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from seqmtl import MultiTaskModel, PositionalKmers, TaskKernel
from seqmtl.adaptation import adapt
from seqmtl.adaptation.few_labels import train_with_few
from seqmtl.core.weights import TaskWeights
from seqmtl.exceptions import ModelFileError
from seqmtl.features.joint import JointFeatures
from seqmtl.files.model_file import read_arrays
from seqmtl.linear_model.training_summary import (
    calibration_text,
    chosen_text,
    learnt_text,
    tasks_text,
)
from seqmtl.sequences.examples import Examples
from seqmtl.training.fit import fit
from seqmtl.training.selection import SearchSpace
from seqmtl.training.settings import Settings
from tests.linear_model.cases import motif_windows, rewritten

NAMES = [f"t{i}" for i in range(24)]


def _tree():
    clades = [f"({a}:1,{b}:1.5,{c}:2):1" for a, b, c in zip(*[iter(NAMES)] * 3, strict=True)]
    return f"({','.join(clades)},(new:1,other:3):0.5);"


def _windows(n=720):
    return motif_windows(n, NAMES, length=16, at=5)


def _train(features, kernel, n=720, **settings):
    examples, settings = Examples.of(_windows(n)), Settings(**settings)
    return fit(examples, features=features, task_kernel=kernel, settings=settings)[0]


@pytest.fixture(scope="module")
def model():
    return _train(PositionalKmers("wd:3,kmers:2/inf"), TaskKernel.from_tree(_tree()))


@pytest.fixture(scope="module")
def file(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "many.seqmtl"
    model.save(path)
    return path


def test_a_file_gives_the_same_scores(model, file):
    windows = _windows()
    loaded = MultiTaskModel.load(file)
    assert not loaded.W.groups.is_single
    assert "columns" in read_arrays(file)[1]
    assert loaded.W.shape == model.W.shape
    assert_array_equal(loaded.decision_function(windows), model.decision_function(windows))
    for table, expected in zip(loaded.W.tables, model.W.tables, strict=True):
        assert_array_equal(table, expected)
    assert loaded.describe() == model.describe()


@pytest.mark.parametrize("norm", [None, 2.0])
def test_relatives_without_data_score_as_with_plain_weights(norm, tmp_path):
    features = JointFeatures([PositionalKmers("wd:2"), PositionalKmers("kmers:2/inf", anchor=0)])
    make = TaskKernel.from_tree if norm is None else TaskKernel.hierarchical
    kernel = make(_tree())
    plain = TaskKernel(kernel.names, kernel.matrices, labels=kernel.labels)
    precise = {"norm": norm, "tol": 1e-7, "dtype": "float64", "n": 240}
    own, expected = _train(features, kernel, **precise), _train(features, plain, **precise)
    own.save(tmp_path / "model")
    loaded = MultiTaskModel.load(tmp_path / "model")
    assert not loaded.W.groups.is_single
    for task in ("new", "t7"):
        scores, others = (m.decision_function(_windows(), task) for m in (loaded, expected))
        assert_allclose(scores, others, atol=1e-4 if norm else 1e-6)


def test_arrays_that_contradict_each_other(file, tmp_path):
    apart = "arrays of the columns must belong together"
    for name, change, message in (
        ("widths", lambda a: a + 1, apart),
        ("ends", lambda a: a[::-1].copy(), apart),
        ("group", lambda a: a + 1000, apart),
        ("column", lambda a: a + 8, apart),
        ("scale", lambda a: a[:, :1], apart),
        ("scale", lambda a: a * np.nan, "array scale must hold finite numbers"),
    ):
        array = np.array(read_arrays(file)[1][name])
        path = rewritten(file, tmp_path / "edited", **{name: change(array)})
        with pytest.raises(ModelFileError, match=rf"edited: {message}.*; train again"):
            MultiTaskModel.load(path)


def test_columns_that_are_none(file, tmp_path):
    arrays, size = read_arrays(file)[1], MultiTaskModel.load(file).W.shape[0]
    numbers = (np.zeros(3, np.float32), np.full(size, np.inf, np.float32))
    changes, n = [{"checks": arrays["checks"] + 1}], arrays["ends"].size
    for column in (*(zlib.compress(own.tobytes()) for own in numbers), b"none"):
        columns, ends = np.frombuffer(column * n, np.uint8), np.arange(1, n + 1) * len(column)
        checks = np.full(n, zlib.crc32(column))
        changes.append({"columns": columns, "ends": ends, "checks": checks})
    for change in changes:
        path = rewritten(file, tmp_path / "edited", **change)
        with pytest.raises(ModelFileError, match="edited: is damaged: "):
            MultiTaskModel.load(path).weights(["t0"])


def test_a_selection_of_many_tasks_is_trained_in_groups():
    examples = Examples.of(_windows())
    relation = TaskKernel.from_tree(_tree()).restrict([*NAMES, "new", "other"])
    space = SearchSpace.of_sharing(examples.data.task_names, relation, (1.0, 3.0))
    precise = {"tol": 1e-6, "dtype": "float64"}
    features = PositionalKmers("wd:2")
    model, _ = train_with_few(examples, space, features=features, settings=Settings(**precise))
    assert not model.W.groups.is_single
    chosen, C = model.training["selection"]["tasks"], model.training["settings"]["C"]
    plain = _train(features, TaskKernel(model.kernel.names, model.kernel.matrix), C=C, **precise)
    scores = (each.decision_function(examples.data) for each in (model, plain))
    assert_allclose(*scores, atol=1e-4)
    x, d = np.array([(chosen[name]["trust"], chosen[name]["C"] / C) for name in NAMES]).T
    tree, union = np.array([list(chosen[name]["relations"].values()) for name in NAMES]).T
    K = np.sqrt(np.outer(union, union))
    K += np.sqrt(np.outer(tree, tree)) * relation.matrix[:24, :24]
    assert 1 < np.unique(x).size < 6  # a few levels of trust
    K *= np.minimum.outer(x, x)
    np.fill_diagonal(K, 1.0)
    assert_allclose(model.kernel.matrix[:24, :24], K * np.sqrt(np.outer(d, d)), atol=1e-10)


def test_an_organism_is_added_as_to_plain_weights(model, tmp_path):
    windows = _windows()
    few = motif_windows(24, ["x"], length=16, at=5, seed=1)
    plain = replace(model, W=TaskWeights.of(np.asarray(model.W), model.W.columns))
    for _ in range(2):  # the second time, it is replaced
        model, plain = (adapt(own, "again", few, like="t3") for own in (model, plain))
        assert not model.W.groups.is_single
        model.save(tmp_path / "more")
        model = MultiTaskModel.load(tmp_path / "more")
        assert model.tasks == plain.tasks == (*NAMES, "again")
        for name in ("t0", "t3", "t23", "again"):
            scores = (own.decision_function(windows, name) for own in (model, plain))
            assert_allclose(*scores, rtol=1e-4, atol=1e-5)


def test_the_text_of_many_tasks_is_short():
    counts = {f"t{i:02}": {"n": (7 * i) % 40 + 1, "n_positive": 1} for i in range(40)}
    first, *lines = tasks_text([*counts], {"tasks": counts})
    by_number = sorted(counts, key=lambda name: counts[name]["n"])
    assert first == "tasks: 40, by number of windows"
    assert [line.split()[0] for line in lines] == [*by_number[:10], "...", *by_number[-10:]]
    assert lines[10] == "  ... 20 between these; --json lists all"
    few = dict([*counts.items()][:30])
    assert [line.split()[0] for line in tasks_text([*few], {"tasks": few})] == ["tasks", *few]
    parts = np.arange(40) / 40
    learnt = [
        {"view": "v", "label": f"k{m}", "tasks": ["a", "b"], "weight": w}
        for m, w in enumerate(parts)
    ]
    lines = learnt_text({"mkl": learnt})
    assert lines[:2] == ["kernel weights of v", "  0.0000  k0, 2 tasks"]
    assert (lines[-1], len(lines)) == ("  0.9750  k39, 2 tasks", 22)
    entry = {"C": 1.0, "weights": {"0": 0.5, "1": 0.5}, "by_prior": False}
    chosen = {name: entry | {"trust": w} for name, w in zip(counts, parts, strict=True)}
    maps = [
        {"features": m, "log_likelihood": v, "chosen": v > -3}
        for m, v in (("wd:2", -3.25), ("wd:5", -1))
    ]
    lines = chosen_text({"selection": {"tasks": chosen, "features": maps}})
    assert lines[2].split()[:2] == ["t00", "0.00"]
    assert lines[-2:] == ["    wd:2: log-likelihood -3.2", "  * wd:5: log-likelihood -1.0"]
    entry = {"method": "sigmoid", "n_positive": 9, "thresholds": []}
    calibrated = {name: entry | {"prevalence": w} for name, w in zip(counts, parts, strict=True)}
    assert len(calibration_text({"calibration": calibrated}, {})) == 1 + 21
