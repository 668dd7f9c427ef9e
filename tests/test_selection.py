"""Choosing on validation windows, against every candidate trained by itself."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.metrics import average_precision_score

from seqmtl import (
    JointFeatures,
    MultiTaskMKLClassifier,
    MultiTaskModel,
    MultiTaskSVC,
    Spectrum,
    TaskKernel,
    WeightedDegree,
)
from seqmtl.exceptions import UnknownTaskError
from seqmtl.models import selection
from seqmtl.models.selection import fit_method, list_candidates
from seqmtl.models.training import Settings
from seqmtl.sequences import Windows

NAMES = ("ape", "fly", "man")
COSTS = (0.1, 1.0)
FEATURES = WeightedDegree(degree=2)
SETTINGS = Settings(tol=1e-8, dtype="float64")
TIGHT = {"tol": 1e-8, "dtype": "float64"}
FIXED = TaskKernel(NAMES, [[1, 0.4, 0.8], [0.4, 1, 0.3], [0.8, 0.3, 1]], "by hand")
CLADES = TaskKernel.hierarchical("((ape,man),fly);", NAMES)


def _windows(n, seed, signal=0.55, last=(0, 0, 0), length=12):
    """Windows with a motif; `last` is its last letter in every task."""
    rng = np.random.default_rng(seed)
    letters = rng.integers(0, 4, (n, length)).astype(np.uint8)
    labels, tasks = np.where(rng.random(n) < 0.4, 1, -1), np.arange(n) % 3
    for i in np.flatnonzero(labels > 0):
        letters[i, 4:8] = np.where(
            rng.random(4) < signal, [0, 2, 1, last[tasks[i]]], letters[i, 4:8]
        )
    return Windows(
        letters.ravel(), np.arange(n) * length, length,
        labels=labels, task_ids=tasks, task_names=NAMES,
    )  # fmt: skip


TRAIN, VALID = _windows(90, seed=0), _windows(150, seed=1)


def _precisions(scores):
    return [
        average_precision_score(VALID.labels[VALID.task_ids == t], scores[VALID.task_ids == t])
        for t in range(3)
    ]


def _trusted(kernels, trust, norm):
    """Return the kernels of MT-MKL, element by element."""
    M, T = kernels.n_kernels, len(kernels)
    K = np.zeros((M, T, T))
    for m, s, t in np.ndindex(M, T, T):
        size = kernels.matrices[m, s, s] * kernels.matrices[m, t, t]
        related = kernels.matrices[m, s, t] / np.sqrt(size) if size > 0 else float(s == t)
        K[m, s, t] = (trust * related + (1 - trust) * (s == t)) * M ** (1 / norm - 1)
    return K


def _candidates(norm, features=FEATURES):
    """Train every candidate of MT-MKL by itself: label and estimator."""
    found = []
    for kernel, C in [(k, C) for k in ("independent", "union") for C in COSTS]:
        svc = MultiTaskSVC(features, kernel, C=C, **TIGHT).fit(TRAIN)
        found.append(({"kernel": kernel.replace("independent", "individual"), "C": C}, svc))
    relations = [("given", CLADES, 0.5), ("given", CLADES, 1.0),
                 ("all alike", TaskKernel.union(NAMES), 0.25),
                 ("all alike", TaskKernel.union(NAMES), 0.5),
                ("all alike", TaskKernel.union(NAMES), 0.75)]  # fmt: skip
    for name, kernels, trust in relations:
        given = TaskKernel(NAMES, _trusted(kernels, trust, norm))
        for C in COSTS:
            label = {"kernel": "mkl", "relation": name, "trust": trust, "C": C}
            mkl = MultiTaskMKLClassifier(features, given, norm=norm, C=C, **TIGHT).fit(TRAIN)
            found.append((label, mkl))
    return found


class TestOneCandidatePerTask:
    @pytest.mark.parametrize("method", ["individual", "union", "mtl"])
    def test_every_task_has_the_svc_of_its_best_cost(self, method):
        costs = (0.01, 0.3, 10.0)
        kernel = {"individual": "independent", "union": "union", "mtl": FIXED}[method]
        model, report = fit_method(
            method, TRAIN, VALID, kernel=FIXED, C=costs, features=FEATURES, settings=SETTINGS
        )
        fits = [MultiTaskSVC(FEATURES, kernel, C=C, **TIGHT).fit(TRAIN) for C in costs]
        scores = [svc.decision_function(VALID) for svc in fits]
        precision = np.array([_precisions(own) for own in scores])
        best = precision.argmax(axis=0)
        own = np.array(scores)[best[VALID.task_ids], np.arange(len(VALID))]
        assert_allclose(model.decision_function(VALID), own, atol=2e-3)
        for t, name in enumerate(NAMES):
            assert report[name] == [
                {"kernel": method, "C": costs[best[t]], "part": 1.0,
                 "auprc": pytest.approx(precision[best[t], t], abs=1e-6)},
            ]  # fmt: skip
        assert model.training["selection"] == {"method": method, "tasks": report}
        assert model.training["converged"]
        assert model.training["tasks"]["ape"]["n"] == 30

    def test_tasks_choose_by_themselves(self):
        precision = np.array([[0.5, 0.9, 0.7], [0.6, 0.8, 0.7]])
        parts = selection._best_parts(precision, np.ones(3))
        assert_array_equal(parts, [[0, 1, 1], [1, 0, 0]])


class TestMeanOfCandidates:
    @pytest.mark.parametrize("norm", [1.0, 2.0])
    def test_scores_are_the_weighted_mean_of_candidates_trained_by_themselves(self, norm):
        model, report = fit_method(
            "mkl", TRAIN, VALID, kernels=CLADES, C=COSTS, norm=norm, features=FEATURES,
            settings=SETTINGS,
        )  # fmt: skip
        trained = _candidates(norm)
        scores = np.array([fit.decision_function(VALID) for _, fit in trained])
        precision = np.array([_precisions(own) for own in scores])
        expected = np.zeros(len(VALID))
        for t, name in enumerate(NAMES):
            own = VALID.task_ids == t
            n = int((VALID.labels[own] > 0).sum())
            p = (precision[:, t].max() * n + 0.5) / (n + 1)
            odds = np.exp(precision[:, t] / (0.5 * np.sqrt(p * (1 - p) / n)))
            parts = odds / odds.sum()
            spread = scores[:, own].std(axis=1)
            expected[own] = (parts @ spread) * (parts / spread) @ scores[:, own]
            kept = [r for r in range(len(parts)) if parts[r] >= 0.005]
            assert [{k: v for k, v in entry.items() if k not in ("auprc", "part")}
                    for entry in report[name]] == [trained[r][0] for r in kept]  # fmt: skip
            assert_allclose([entry["part"] for entry in report[name]], parts[kept], atol=2e-3)
            assert sum(entry["part"] for entry in report[name]) == pytest.approx(1.0, abs=0.05)
        assert_allclose(model.decision_function(VALID), expected, atol=5e-3)

    def test_several_views(self):
        joint = JointFeatures([FEATURES, Spectrum(2, 0, 6), Spectrum(2, 0, 6)])
        model, _ = fit_method(
            "mkl", TRAIN, VALID, kernels=CLADES, C=(1.0,), features=joint, settings=SETTINGS
        )
        assert model.kernel.labels[1:] == ("Spectrum(k=2, begin=0, end=6) (1)",
                                           "Spectrum(k=2, begin=0, end=6) (2)")  # fmt: skip
        X = joint.transform(VALID).toarray()
        f = np.einsum("ij,ij->i", X, model.W.T[VALID.task_ids]) + model.bias[VALID.task_ids]
        assert_allclose(model.decision_function(VALID), f, atol=1e-6)

    def test_nested_views_are_views_like_others(self):
        views = [FEATURES, Spectrum(2)]
        models = [
            fit_method("union", TRAIN, VALID, C=(1.0,), features=joint, settings=SETTINGS)[0]
            for joint in (JointFeatures(views), JointFeatures([JointFeatures(views)]))
        ]
        assert_array_equal(models[0].W, models[1].W)
        assert models[0].kernel == models[1].kernel
        assert models[0].training["settings"]["norm"] == 2.0

    def test_save_and_load(self, tmp_path):
        model, report = fit_method(
            "mkl", TRAIN, VALID, kernels=CLADES, C=(1.0,), norm=np.inf, features=FEATURES
        )
        model.save(tmp_path / "m")
        again = MultiTaskModel.load(tmp_path / "m")
        assert_array_equal(again.decision_function(VALID), model.decision_function(VALID))
        assert again.training["selection"]["tasks"] == report

    def test_a_clearly_better_candidate_has_more_weight(self):
        """Last letters that differ are for the individual models, equal ones for the union."""

        def parts_of(last, n):
            train = _windows(n, 5, signal=0.8, last=last)
            valid = _windows(900, 6, signal=0.8, last=last)
            only = WeightedDegree(degree=1)
            # nothing to see but the last letter of the motif
            for windows in (train, valid):
                letters = windows.codes.reshape(-1, 12).copy()
                letters[:, :7] = letters[:, 8:] = 0
                letters[:, 8:] = np.random.default_rng(n).integers(0, 4, (len(windows), 4))
                windows.codes = letters.ravel()
            report = fit_method(
                "mkl", train, valid, kernels=CLADES, C=(1.0,), features=only
            )[1]  # fmt: skip
            found = np.zeros((2, 3))
            for t, name in enumerate(NAMES):
                for entry in report[name]:
                    if entry["kernel"] in ("individual", "union"):
                        found[int(entry["kernel"] == "union"), t] = entry["part"]
            return found

        apart = parts_of((0, 1, 2), 240)
        assert (apart[0] > 5 * apart[1]).all()
        alike = parts_of((1, 1, 1), 30)
        assert alike[1].sum() > 1.5 * alike[0].sum()

    @pytest.mark.parametrize("seed", range(5))
    def test_parts_are_shares_that_rise_with_the_precision(self, seed):
        rng = np.random.default_rng(seed)
        precision = rng.random((6, 4))
        few, many = np.full(4, 0.5), np.full(4, 0.005)
        parts = selection._mean_parts(precision, few)
        assert_allclose(parts.sum(axis=0), 1.0)
        assert (parts > 0).all()
        assert_array_equal(parts.argsort(axis=0), precision.argsort(axis=0))
        sharp = selection._mean_parts(precision, many)
        assert (sharp.max(axis=0) >= parts.max(axis=0)).all()
        best = selection._best_parts(precision, few)
        assert_allclose(selection._mean_parts(precision, np.full(4, 1e-6)), best, atol=1e-6)
        flat = selection._mean_parts(precision, np.full(4, 1e6))
        assert_allclose(flat, np.full((6, 4), 1 / 6), atol=1e-5)

    def test_the_error_falls_with_the_validation_windows(self):
        precision = np.array([[0.6, 0.6, 0.6], [0.9, 0.9, 1.0]])
        error = selection._errors(precision, VALID)
        n = [int(((VALID.task_ids == t) & (VALID.labels > 0)).sum()) for t in range(3)]
        p = (np.array([0.9, 0.9, 1.0]) * n + 0.5) / (np.array(n) + 1)
        assert_allclose(error, np.sqrt(p * (1 - p) / n))
        assert (error > 0).all()
        many = selection._errors(precision, VALID[np.arange(1500) % 150])
        assert (many < error / 2).all()


class TestCandidates:
    COST = (Settings(C=0.5), Settings(C=2.0))

    def test_of_every_method(self):
        for method, kernel in (("individual", np.eye(3)), ("union", np.ones((3, 3))),
                               ("mtl", FIXED.matrix)):  # fmt: skip
            found = list_candidates(method, NAMES, FIXED, CLADES, list(self.COST), 2.0)
            assert [candidate.label for candidate in found] == [
                {"kernel": method, "C": 0.5}, {"kernel": method, "C": 2.0},
            ]  # fmt: skip
            assert [candidate.settings for candidate in found] == list(self.COST)
            for candidate in found:
                assert_array_equal(candidate.kernel.matrix, kernel)

    def test_kernels_are_in_the_order_of_the_data(self):
        for method in ("mtl", "mkl"):
            for candidate in list_candidates(
                method, ("man", "ape", "fly"), FIXED, CLADES, list(self.COST), 2.0
            ):
                assert candidate.kernel.names == ("man", "ape", "fly")

    @pytest.mark.parametrize("norm", [1.0, 1.5, 2.0, np.inf])
    def test_of_mkl(self, norm):
        found = list_candidates("mkl", NAMES, None, CLADES, list(self.COST), norm)
        assert len(found) == 14
        assert [candidate.settings.norm for candidate in found] == [None] * 4 + [norm] * 10
        given = [candidate for candidate in found if candidate.label.get("relation") == "given"]
        for candidate in given:
            expected = _trusted(CLADES, candidate.label["trust"], norm)
            assert_allclose(candidate.kernel.matrices, expected)
            assert candidate.kernel.labels == CLADES.labels
            start = candidate.kernel.matrices.sum(axis=0) * 2 ** (-1 / norm)
            assert_allclose(np.diagonal(start), 1.0)
        for place, share in ((-5, 0.25), (-3, 0.5), (-1, 0.75)):
            assert_allclose(found[place].kernel.matrix, TaskKernel.easy(NAMES, share).matrix)

    def test_neighbours_that_differ_in_cost_share_their_kernel(self):
        found = list_candidates("mkl", NAMES, None, CLADES, list(self.COST), 2.0)
        for first, second in zip(found[::2], found[1::2], strict=True):
            assert first.kernel is second.kernel
            assert replace(first.settings, C=2.0) == second.settings


class TestValidation:
    def test_sigmoids_are_fitted_on_the_validation_windows(self):
        model, _ = fit_method("union", TRAIN, VALID, C=(1.0,), features=FEATURES)
        for t, name in enumerate(NAMES):
            own = VALID[VALID.task_ids == t]
            s, positive = model.decision_function(own), own.labels > 0
            n = positive.sum()
            target = np.where(positive, (n + 1) / (n + 2), 1 / (len(own) - n + 2))

            def value(ab, s=s, target=target):
                z = ab[0] * s + ab[1]
                return (np.logaddexp(0, z) - target * z).sum()

            best = minimize(value, [1.0, 0.0], method="BFGS", options={"gtol": 1e-9})
            assert_allclose(
                model.calibration[model.tasks.index(name)], best.x, rtol=1e-3, atol=1e-4
            )

    def test_the_order_of_tasks_in_the_validation_windows_does_not_matter(self):
        order = np.argsort(-VALID.task_ids, kind="stable")
        turned = VALID[order].with_tasks(VALID.tasks[order])
        assert turned.task_names == ("man", "fly", "ape")
        first, report = fit_method("mtl", TRAIN, VALID, kernel=FIXED, features=FEATURES)
        second, other = fit_method("mtl", TRAIN, turned, kernel=FIXED, features=FEATURES)
        assert report == other
        assert_array_equal(first.W, second.W)
        assert_allclose(first.calibration, second.calibration, rtol=1e-9)

    def test_it_is_reproducible(self):
        models = [
            fit_method("mkl", TRAIN, VALID, kernels=CLADES, C=COSTS, features=FEATURES)[0]
            for _ in range(2)
        ]
        assert_array_equal(models[0].W, models[1].W)
        assert_array_equal(models[0].calibration, models[1].calibration)


class TestBadInput:
    @pytest.fixture(autouse=True)
    def no_training(self, monkeypatch):
        def never(*arguments, **options):
            raise AssertionError("training has started")

        monkeypatch.setattr(selection, "solve", never)

    @pytest.mark.parametrize(
        ("options", "error", "message"),
        [
            ({"method": "best"}, ValueError, "method must be one of individual, .*got 'best'"),
            ({"method": "mtl"}, ValueError, "'mtl' needs a task kernel, got none; give a tree"),
            ({"method": "mkl", "kernel": FIXED}, ValueError, "'mkl' needs a task kernel, got"),
            ({"method": "mtl", "kernel": TaskKernel.easy(["ape", "fly"])}, UnknownTaskError,
             "task 'man' is not in the task kernel from easy"),
            ({"C": ()}, ValueError, "C must hold at least one cost to choose from, got none"),
            ({"C": (1.0, -1.0)}, ValueError, r"C must be a positive number, got -1\.0"),
            ({"method": "mkl", "kernels": CLADES, "norm": 0.5}, ValueError,
             r"norm must be a number from 1 to infinity, got 0\.5"),
            ({"method": "mkl", "kernels": CLADES, "norm": 0.0}, ValueError, r"norm .* got 0\.0"),
            ({"features": JointFeatures([])}, ValueError, "views must be feature maps, got none"),
            ({"features": Spectrum(2, 4, 4)}, ValueError, r"hold a k-mer of 2 bases, got 4\.\.4"),
            ({"settings": Settings(loss="hing")}, ValueError, "did you mean 'hinge'"),
        ],
    )  # fmt: skip
    def test_of_options(self, options, error, message):
        options = {"method": "union", **options}
        with pytest.raises(error, match=message):
            fit_method(train=TRAIN, valid=VALID, **options)

    def test_of_windows(self):
        one_class = TRAIN[~((TRAIN.task_ids == 1) & (TRAIN.labels > 0))]
        with pytest.raises(ValueError, match="task 'fly' has 0 positive and"):
            fit_method("union", one_class, VALID)
        one_class = VALID[~((VALID.task_ids == 1) & (VALID.labels < 0))]
        with pytest.raises(ValueError, match=r"in the validation windows every task .* 0 negative"):
            fit_method("union", TRAIN, one_class)
        without = VALID[VALID.task_ids != 1].with_tasks(VALID.tasks[VALID.task_ids != 1])
        with pytest.raises(ValueError, match="of the same tasks, but differ in fly"):
            fit_method("union", TRAIN, without)
        with pytest.raises(ValueError, match=r"in the validation windows .* 'fly' has 0 positive"):
            fit_method("union", TRAIN, VALID[VALID.task_ids != 1])
        with pytest.raises(ValueError, match="of the same tasks, but differ in fly"):
            fit_method("union", TRAIN[TRAIN.task_ids != 1], VALID)
