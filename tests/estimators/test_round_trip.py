"""From a dataset folder to an estimator, and back to the commands; what wrong calls say."""

import json
import re

import numpy as np
import pytest

from seqmtl import MultiTaskSVC, load, read_dataset, read_windows
from seqmtl.exceptions import InputFormatError


def test_an_estimator_of_a_dataset_is_used_by_the_commands(world, tmp_path, seqmtl):
    folder = world.dataset("acceptor")
    windows = read_windows(folder, split="train", window=41)
    assert windows.sequences() == read_dataset(folder, split="train").center(41).sequences()
    svc = MultiTaskSVC(features=None, C=0.1, tol=0.05).fit(windows)
    path = tmp_path / "svc.seqmtl"
    svc.model_.save(path)
    seqmtl(f"evaluate {path} {folder} --bootstrap 0 --json {tmp_path}/m.json")
    result = json.loads((tmp_path / "m.json").read_text())
    assert result["mean"]["auroc"] > 0.8
    assert result["signal"] == "acceptor"
    test = read_windows(folder, split="test", window=41)
    model = load(path)
    np.testing.assert_allclose(model.decision_function(test), svc.decision_function(test))


def test_a_loaded_model_scores_lists_and_data_frames(tmp_path):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame([[0.0, 1.0], [1.0, 0.0], [0.2, 0.9], [0.8, 0.1]], columns=["u", "v"])
    svc = MultiTaskSVC().fit(X, [0, 1, 0, 1], tasks=list("aabb"))
    svc.model_.save(tmp_path / "svc.seqmtl")
    model, expected = load(tmp_path / "svc.seqmtl"), svc.decision_function(X, tasks="b")
    for same in (X, X.to_numpy().tolist(), X.astype("float32").round(1)):
        np.testing.assert_allclose(model.decision_function(same, "b"), expected, atol=1e-6)
        np.testing.assert_allclose(model.predict_proba(same, "b"), svc.predict_proba(X, "b"))
    with pytest.raises(ValueError, match="X must have 2 features as in training, got 1"):
        model.decision_function(X[["u"]], "b")
    with pytest.raises(ValueError, match=r"'c' is not in .*it has 'a', 'b' \(or give examples of"):
        model.decision_function(X, "c")
    with pytest.raises(ValueError, match="could not convert string to float: 'ACGT'"):
        model.decision_function([["ACGT"]], "b")


def test_wrong_calls_say_which_is_right(tmp_path):
    strings = ["ACGT", "ACGA"]
    with pytest.raises(ValueError, match=r"strings.* use Windows\.from_strings\("):
        read_windows(strings)
    with pytest.raises(ValueError, match=re.escape("use read_windows('donors')")):
        MultiTaskSVC().fit("donors")
    with pytest.raises(InputFormatError, match=r"a folder must be a dataset with windows\.tsv"):
        read_windows(tmp_path)
