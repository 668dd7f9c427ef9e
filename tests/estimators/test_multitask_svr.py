"""The regressor against LinearSVR and a general optimiser, and its model file."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from seqmtl import MultiTaskModel, MultiTaskSVR
from seqmtl.core.losses import REGRESSION_LOSSES
from seqmtl.exceptions import ModelFileError
from seqmtl.files.model_file import read_arrays, write_arrays
from seqmtl.sequences import Windows
from tests.estimators.examples import FEATURES, TIGHT, numbers, strings


def test_epsilon_is_the_error_that_costs_nothing():
    X, y, tasks = numbers()
    svr = MultiTaskSVR(epsilon=0.5, C=10.0, **TIGHT).fit(X, y, tasks=tasks)
    error = np.abs(svr.predict(X, tasks) - y)
    assert (svr.dual_coef_[error < 0.5 - 1e-3] == 0).all()
    assert (np.abs(svr.dual_coef_[error > 0.5 + 1e-3]) == 10.0).all()
    assert svr.model_.training["n_support"] == (svr.dual_coef_ != 0).sum()


@pytest.mark.parametrize("loss", REGRESSION_LOSSES)
@pytest.mark.parametrize(("n", "size", "epsilon"), [(40, 0.1, 5.0), (600, 0.0, 0.0)])
def test_targets_that_are_all_within_epsilon_give_zero(loss, n, size, epsilon):
    """Both objectives are 0: nothing is wrong with a gap of 0 / 0."""
    rng = np.random.default_rng(0)
    X, y, tasks = rng.normal(size=(n, 3)), size * rng.uniform(-1.0, 1.0, n), ["a", "b"] * (n // 2)
    svr = MultiTaskSVR(loss=loss, epsilon=epsilon).fit(X, y, tasks=tasks)
    assert_array_equal(svr.predict(X, tasks=tasks), np.zeros(n))
    assert svr.dual_gap_ == 0.0


def test_the_model_file_has_its_kind(tmp_path, seqmtl):
    windows, path = strings(), tmp_path / "model"
    svr = MultiTaskSVR(FEATURES).fit(windows, windows.labels / 2)
    svr.model_.save(path)
    model = MultiTaskModel.load(path)
    assert (model.kind, model.calibration.shape) == ("regression", (3, 0))
    assert model.training["settings"]["epsilon"] == 0.1
    assert model.training["tasks"]["fly"] == {"n": int((windows.tasks == "fly").sum())}
    assert_array_equal(model.decision_function(windows), svr.predict(windows))
    with pytest.raises(ValueError, match="probabilities need a model of classific"):
        model.probability(np.zeros(1), ["fly"])
    shown = seqmtl(f"info {path}").out
    assert "kind=regression" in shown
    assert "positive" not in shown
    (tmp_path / "x.tsv").write_text("organism\tsequence\nfly\t" + "ACGTA" * 4 + "\n")
    shown = seqmtl(f"predict {path} {tmp_path}/x.tsv").out
    header, row = (line.split("\t") for line in shown.splitlines())
    assert header == ["name", "organism", "score"]
    expected = model.decision_function(Windows.from_strings(["ACGTA" * 4], tasks=["fly"]))[0]
    assert float(row[2]) == pytest.approx(expected, rel=1e-5)
    description, arrays = read_arrays(path)
    without = {key: value for key, value in description.items() if key != "kind"}
    for changed, message in (
        (without, "kind is missing; the file is damaged"),
        (description | {"kind": "ranking"}, "kind must be one of .*classification"),
    ):
        write_arrays(path, changed, arrays)
        with pytest.raises(ModelFileError, match=message):
            MultiTaskModel.load(path)
