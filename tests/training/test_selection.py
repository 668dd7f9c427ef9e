"""Choosing relation, trust, cost and features on held-out labels."""

import logging
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from seqmtl import MultiTaskClassifierCV, MultiTaskMKLClassifier, PositionalKmers, TaskKernel
from seqmtl.adaptation.few_labels import train_with_few
from seqmtl.features.joint import JointFeatures
from seqmtl.features.numeric import Numeric
from seqmtl.sequences import Windows
from seqmtl.sequences.examples import Examples
from seqmtl.training import selection, site_detection
from seqmtl.training.cross_validation import LikelihoodCache, posterior_weights
from seqmtl.training.fit import fit
from seqmtl.training.selection import SearchSpace, select
from seqmtl.training.settings import Settings
from tests.linear_model.cases import motif_windows

NAMES = ("ape", "fly", "man")
TREE = TaskKernel(NAMES, [[4, 0.2, 1.6], [0.2, 1, 0.3], [1.6, 0.3, 1]], "by hand")
ALIKE = np.tile(np.eye(60)[0], (3, 1))
APART = np.array([np.eye(60)[0], -np.eye(60)[0], np.eye(60)[1]])
ODD = np.array([np.eye(60)[0], -np.eye(60)[0], np.eye(60)[0]])


def _examples(n, directions, noise=1.0):
    """Numbers whose class lies in a direction of every task's own."""
    rng = np.random.default_rng(0)
    y, ids = np.where(rng.random(n) < 0.5, 1.0, -1.0), np.arange(n) % 3
    X = noise * rng.normal(size=(n, 60)) + y[:, None] * np.array(directions)[ids]
    return Examples(X, y, ids, NAMES)


def _select(examples, space=None, candidates=None, settings=None, **options):
    space = space or SearchSpace.of_sharing(NAMES)
    candidates, settings = candidates or [Numeric()], settings or Settings()
    chosen = select(examples, space, candidates, settings, **options)
    return chosen._replace(report=chosen.report["selection"])


def _shared(chosen):
    """What pairs of tasks have in common, in the order of the upper triangle."""
    K = chosen.task_kernel.matrix
    own = np.sqrt(np.diagonal(K))
    return (K / np.outer(own, own))[np.triu_indices(len(K), 1)]


def _trust(chosen):
    return np.array([chosen.report["tasks"][name]["trust"] for name in NAMES])


@pytest.fixture(scope="module")
def chosen():
    """What is selected for a few examples of tasks that are alike, with a tree."""
    return _select(_examples(90, ALIKE), SearchSpace.of_sharing(NAMES, TREE))


class TestTrust:
    def test_it_is_high_where_tasks_are_alike_and_low_where_they_are_not(self):
        assert (_shared(_select(_examples(360, ALIKE))) > 0.45).all()
        assert (_shared(_select(_examples(240, APART))) < 0.2).all()
        odd = _trust(_select(_examples(360, ODD)))
        assert odd[1] < 0.2
        assert (odd[[0, 2]] > 2 * odd[1]).all()

    def test_few_labels_leave_it_near_the_prior(self):
        trusts = selection.TRUSTS
        prior = sum(x * p for x, p in trusts.items()) / sum(trusts.values())
        few = _trust(_select(_examples(12, ALIKE, noise=9.0)))
        assert (np.abs(few - prior) < 0.2).all()

    def test_the_relation_that_holds_has_the_larger_part(self, caplog):
        caplog.set_level(logging.INFO)
        pairs = TaskKernel(NAMES, [[1, 0, 1], [0, 1, 0], [1, 0, 1]], "pairs")
        chosen = _select(_examples(360, ODD), SearchSpace.of_sharing(NAMES, pairs))
        parts = chosen.report["relations"]
        assert parts["pairs"] > 0.9
        assert sum(parts.values()) == pytest.approx(1.0)
        assert chosen.task_kernel.matrix[0, 2] > 5 * abs(chosen.task_kernel.matrix[0, 1])

    def test_several_kernels_of_all_tasks_are_alternatives(self):
        """Sheldon 2008, section 3: the a of eq. 5 is chosen by held-out labels."""
        edge = [[0, 0, 1], [0, 0, 0], [1, 0, 0]]  # ape and man
        kernels = [TaskKernel.graphical(edge, NAMES, a) for a in (0.01, 100.0)]
        several = TaskKernel.join(kernels, "graphical", ["a=0.01", "a=100"])
        space = SearchSpace.of_sharing(NAMES, several)
        assert [*space.relations] == ["graphical, a=0.01", "graphical, a=100", "all alike"]
        parts = _select(_examples(360, ODD), space).report["relations"]
        assert parts["graphical, a=0.01"] > 0.8
        costs = SearchSpace.of_cost(several)
        assert [*costs.relations] == ["graphical, a=0.01", "graphical, a=100"]
        chosen = _select(_examples(360, ODD), costs)
        assert chosen.report["relations"]["graphical, a=0.01"] > 0.8
        assert chosen.task_kernel.matrix[0, 2] > 5 * abs(chosen.task_kernel.matrix[0, 1])
        clades = TaskKernel.hierarchical("((ape,man),fly);")
        assert [*SearchSpace.of_sharing(NAMES, clades).relations] == [clades.source, "all alike"]
        assert [*SearchSpace.of_cost(clades).relations] == [clades.source]
        tree = TaskKernel.from_tree("((ape,man),fly);")
        own = selection.alternatives(TaskKernel.join([tree, tree], "twice", "ab"))["twice, b"]
        assert_allclose(own.matrix, tree.matrix)


class TestKernel:
    def test_it_is_the_formula(self, chosen):
        for found, relation in ((chosen, TREE), (_select(_examples(90, ALIKE)), None)):
            tasks = found.report["tasks"]
            unit = TREE.matrix / np.sqrt(np.outer(np.diag(TREE.matrix), np.diag(TREE.matrix)))
            trees = [tasks[name]["relations"].get("by hand", 0.0) for name in NAMES]
            assert (np.mean(trees) > 0.0) == (relation is not None)
            assert found.report["relations"].get("by hand", 0.0) == pytest.approx(np.mean(trees))
            for s, a in enumerate(NAMES):
                for t, b in enumerate(NAMES):
                    R = np.sqrt(trees[s] * trees[t]) * unit[s, t]
                    R += np.sqrt((1 - trees[s]) * (1 - trees[t]))
                    shared = 1.0 if s == t else min(tasks[a]["trust"], tasks[b]["trust"]) * R
                    scale = np.sqrt(tasks[a]["C"] * tasks[b]["C"]) / found.settings.C
                    assert found.task_kernel.matrix[s, t] == pytest.approx(scale * shared)
            costs = [tasks[name]["C"] for name in NAMES]
            assert found.settings.C == pytest.approx(np.prod(costs) ** (1 / 3))
            assert np.linalg.eigvalsh(found.task_kernel.matrix).min() > -1e-12

    def test_tasks_without_data_stay_related(self):
        more = TaskKernel((*NAMES, "bee"), np.eye(4) * 0.5 + 0.5, "four")
        kernel = _select(_examples(90, ALIKE), SearchSpace.of_sharing(NAMES, more)).task_kernel
        assert kernel.names == (*NAMES, "bee")
        assert (kernel.matrix[3, :3] > 0.1).all()
        assert np.linalg.eigvalsh(kernel.matrix).min() > -1e-12

    def test_what_is_fixed_stays(self):
        one_cost = _select(_examples(90, ALIKE), SearchSpace.of_sharing(NAMES, TREE, (2.5,)))
        assert one_cost.settings.C == pytest.approx(2.5)
        assert_allclose(np.diagonal(one_cost.task_kernel.matrix), 1.0)
        one_kernel = _select(_examples(90, ALIKE), SearchSpace.of_cost(TREE, (2.0,)))
        assert_allclose(one_kernel.task_kernel.matrix, TREE.matrix)
        assert one_kernel.task_kernel.source == "by hand"


class TestCost:
    def test_one_task_has_a_cost_to_choose(self):
        rng = np.random.default_rng(0)
        y = np.where(np.arange(40) % 2, 1.0, -1.0)
        examples = Examples(rng.normal(size=(40, 2)) + y[:, None], y, np.zeros(40, int), ("ape",))
        chosen = _select(examples, SearchSpace.of_sharing(("ape",)))
        assert selection.COSTS[0] <= chosen.settings.C <= selection.COSTS[-1]
        assert_allclose(chosen.task_kernel.matrix, 1.0)

    def test_it_follows_the_noise(self):
        """Of noise much is worth less than little, so large costs lose."""
        rng = np.random.default_rng(0)
        y = np.where(rng.random(300) < 0.5, 1.0, -1.0)
        X = 0.15 * y[:, None] + rng.normal(size=(300, 40))
        noisy = Examples(X, y, np.arange(300) % 3, NAMES)
        space = SearchSpace.of_cost(TaskKernel.union(NAMES), (0.001, 10.0))
        assert _select(noisy, space).settings.C < 0.1

    @pytest.mark.parametrize(
        ("best", "expected"), [(10.0, 10 / 8**0.5), (3.0, 3 / 8**0.5), (1.0, 1)]
    )
    def test_it_is_lower_for_all_examples_than_for_a_sample(self, best, expected):
        """Of 1,600 examples of 1,000 numbers, 400 are judged: (1/4)**(3/4) is 1 / root(8)."""
        rng = np.random.default_rng(0)
        examples = Examples(
            rng.normal(size=(1600, 1000)), np.tile([1.0, -1.0], 800), np.zeros(1600, int), ("a",)
        )
        cached = {f"C {c:g}": np.full(400, 0.0 if c == best else -9.0) for c in (1.0, 3.0, 10.0)}
        space, likelihoods = SearchSpace.of_sharing(("a",)), LikelihoodCache(cached)
        chosen = _select(examples, space, likelihoods=likelihoods)
        assert chosen.report["n"] == 400
        assert chosen.settings.C == pytest.approx(expected)
        assert chosen.report["tasks"]["a"]["C"] == chosen.settings.C


def test_weights_by_hand():
    found = np.array([[-3.0, -1.0], [-2.0, -2.0]])
    own = found - found.mean(axis=0)
    expected = np.exp(2 * own + 0.3 * own[:, ::-1]) * np.array([[1.0], [3.0]])
    assert_allclose(posterior_weights(found, [1.0, 3.0], 2.0, 0.3), expected / expected.sum(axis=0))
    assert_allclose(
        posterior_weights(found[:, :1], 1.0, 2.0, 0.3), posterior_weights(2 * found)[:, :1]
    )


def test_a_task_of_too_few_labels_follows_the_others(caplog):
    caplog.set_level(logging.INFO)
    examples = _examples(240, ALIKE)
    own = np.flatnonzero((examples.ids == 1) & (examples.y > 0))
    chosen = _select(examples.take(np.setdiff1d(np.arange(240), own[1:])))
    assert "fly has too few labels of a class (1) to hold one out" in caplog.text
    assert [task["by_prior"] for task in chosen.report["tasks"].values()] == [False, True, False]
    assert _trust(chosen)[1] > 0.3


@dataclass(frozen=True)
class _Columns(Numeric):
    """Some columns of a matrix."""

    columns: tuple[int, ...] = (0,)

    def bind(self, data):
        return Numeric().bind(np.ascontiguousarray(data[:, list(self.columns)]))

    def to_dict(self, length):
        return {"kind": "columns", "columns": self.columns}


class TestFeatures:
    @pytest.mark.parametrize(
        ("candidates", "expected"),
        [
            (((3,), (4,), (0, 1)), (0, 1)),  # one that is clearly better
            (((3,), (0, 1), (0, 1, 3)), (0, 1)),  # the first of those that are not clearly worse
            (((0, 3), (0, 4)), (0, 3)),
        ],
    )
    def test_the_first_that_is_not_clearly_worse_than_the_best(self, candidates, expected):
        chosen = _select(_examples(240, ALIKE), candidates=[*map(_Columns, candidates)])
        assert chosen.features.columns == expected
        marked = [entry["chosen"] for entry in chosen.report["features"]]
        assert marked == [columns == expected for columns in candidates]
        values = [entry["log_likelihood"] for entry in chosen.report["features"]]
        assert max(values) - values[marked.index(True)] < 10

    def test_examples_that_only_some_features_tell_apart(self):
        """All examples of a class are copies in column 0 where it is rounded, but not in 1."""
        examples = _examples(240, ALIKE)
        X = examples.data.copy()
        X[:, 0] = np.round(X[:, 0])
        candidates = [_Columns(columns) for columns in ((1,), (0,), (0, 1))]
        chosen = _select(replace(examples, data=X), candidates=candidates)
        assert chosen.features.columns[0] == 0
        assert len({entry["log_likelihood"] for entry in chosen.report["features"]}) == 3


def _is_partly_anywhere(model):
    return any(view.is_position_free for view in model.features.flat_views())


class TestKinds:
    """With no site in sight, held-out labels tell where the signal is."""

    @staticmethod
    def _windows(place, *, both_strands=True, middle="ACGT", lengths=(60,), n=240):
        rng = np.random.default_rng(3)
        y = np.where(np.arange(n) % 2 == 0, 1, -1)
        letters = rng.choice(list("ACGT"), (n, 60))
        for row, label in zip(letters, y, strict=True):
            if label > 0:
                start = place(rng)
                mirror = both_strands and rng.random() < 0.5 and place(rng) != start
                row[start : start + 7] = list("GAGTCAT" if mirror else "ATGACTC")
                row[28:33] = rng.choice(list(middle), 5)
        strings = ["".join(row)[: lengths[i % len(lengths)]] for i, row in enumerate(letters)]
        return Windows.from_strings(strings, labels=y, pad=len(lengths) > 1)

    @staticmethod
    def _model(windows, likelihoods=None):
        examples = Examples.of(windows.with_tasks(["one"] * len(windows)))
        space = SearchSpace.of_sharing(("one",))
        return train_with_few(examples, space, likelihoods=likelihoods)[0]

    def _chosen(self, place, **options):
        return self._model(self._windows(place, **options))

    def test_a_motif_anywhere_on_either_strand(self):
        seen = []
        cache = LikelihoodCache(on_score=lambda name, k, n: seen.append((k, n)))
        model = self._model(self._windows(lambda rng: rng.integers(53)), cache)
        assert [k for k, _ in seen] == [*range(1, len(seen) + 1)]
        assert seen[-1] == (len(seen), len(seen))
        assert model.features.is_position_free
        assert not model.features.is_stranded
        assert model.site.length == 0

    def test_a_motif_anywhere_on_one_strand_in_sequences_of_different_lengths(self):
        place, lengths = (lambda rng: rng.integers(47)), (54, 57, 60)
        model = self._chosen(place, both_strands=False, lengths=lengths, n=600)
        assert model.features.is_position_free
        assert model.features.is_stranded

    @pytest.mark.parametrize(("word", "is_joint"), [("TA", True), ("GT", False)])
    def test_a_motif_anywhere_around_letters_that_all_windows_share(self, word, is_joint):
        """Letters of a known signal, such as GT, are a splice site: features are positional."""
        windows = self._windows(
            lambda rng: rng.choice([rng.integers(20), 34 + rng.integers(19)]),
            both_strands=False,
            n=400,
        )
        strings = [text[:28] + word + text[28 + len(word) :] for text in windows.sequences()]
        model = self._model(Windows.from_strings(strings, labels=windows.labels))
        assert model.site.letters == word
        assert isinstance(model.features, JointFeatures) == is_joint

    def test_a_motif_anywhere_with_other_letters_in_the_middle(self):
        """The site in the middle is a guess."""
        place, middle = (lambda rng: rng.choice([rng.integers(20), 34 + rng.integers(19)])), "AACG"
        windows = self._windows(place, middle=middle)
        assert site_detection.locate(windows, windows.labels)[0].length == 1
        assert _is_partly_anywhere(self._model(windows))
        given = Windows.from_strings(windows.sequences(), labels=windows.labels, site=30)
        assert not _is_partly_anywhere(self._model(given))

    def test_a_motif_at_one_base(self):
        model = self._chosen(lambda rng: 41)
        assert not model.features.is_position_free


class TestTargets:
    """Regression: the likelihood of residuals takes the place of that of labels."""

    @staticmethod
    def _data(n, directions, noise):
        rng = np.random.default_rng(1)
        X, ids = rng.normal(size=(n, 60)), np.arange(n) % 3
        y = (X * np.array(directions)[ids]).sum(axis=1) + noise * rng.normal(size=n)
        return Examples(X, y, ids, NAMES)

    def _chosen(self, directions, noise=0.3, candidates=None):
        loss = {"kind": "regression", "loss": "squared_epsilon_insensitive"}
        space = SearchSpace.of_sharing(NAMES, None, (0.001, 0.1, 10.0))
        return _select(self._data(300, directions, noise), space, candidates, Settings(**loss))

    def test_trust_follows_the_tasks_the_cost_the_noise_and_features_the_signal(self):
        alike = self._chosen(ALIKE, candidates=[_Columns((3,)), _Columns((0, 1))])
        assert alike.features.columns == (0, 1)
        assert (_trust(alike) > 0.45).all()
        assert (_trust(self._chosen(APART)) < 0.2).all()
        assert self._chosen(ALIKE, noise=10.0).settings.C < 0.01 < alike.settings.C


def test_many_tasks_are_judged_on_some():
    """2,000 tasks of 6 examples have no room for two of each class among 4,000."""
    rng = np.random.default_rng(0)
    y, ids = np.where(np.arange(12_000) % 2, 1.0, -1.0), np.arange(12_000) // 6
    examples = Examples(rng.normal(size=(12_000, 2)), y, ids, tuple(map(str, range(2000))))
    sample = examples.take(examples.sample(4000, np.random.default_rng(0)))
    assert sample.y.size <= 4000
    sizes, positive = sample.counts()
    assert set(zip(sizes.tolist(), positive.tolist(), strict=True)) == {(0, 0), (4, 2)}


def test_what_is_known_is_not_found_again():
    examples, known, seen, again = _examples(90, ALIKE), {}, [], []
    first = _select(examples, likelihoods=LikelihoodCache(known, lambda *its: seen.append(its)))
    assert [number for _, number, _ in seen] == list(range(1, len(known) + 1))
    assert {total for *_, total in seen} == {len(known)}
    half = dict(list(known.items())[: len(known) // 2])
    second = _select(examples, likelihoods=LikelihoodCache(half, lambda *its: again.append(its)))
    assert again == seen[len(known) // 2 :]
    assert first.task_kernel == second.task_kernel
    assert first.report == second.report


class TestTraining:
    def test_it_is_the_estimator(self):
        windows, features = motif_windows(120, NAMES), PositionalKmers("wd:2")
        space = SearchSpace.of_sharing(NAMES, TREE)
        model, solution = train_with_few(Examples.of(windows), task_kernel=space, features=features)
        assert solution.converged
        svc = MultiTaskClassifierCV(features, TREE).fit(windows)
        assert_array_equal(svc.model_.W, model.W)
        assert svc.selection_ == model.training["selection"]
        assert svc.C_ == model.training["settings"]["C"]
        assert svc.task_kernel_ == model.kernel

    def test_mkl_with_one_cost_is_the_published_algorithm(self):
        windows, clades = motif_windows(120, NAMES), TaskKernel.hierarchical("((ape,man),fly);")
        clades, features = clades.restrict(NAMES), PositionalKmers("wd:2")
        models = {
            costs: train_with_few(
                Examples.of(windows),
                task_kernel=SearchSpace.of_cost(clades, costs),
                features=features,
                settings=Settings(norm=1.5),
            )[0]
            for costs in ((0.5,), (0.1, 10.0))
        }
        mkl = MultiTaskMKLClassifier(features, clades, norm=1.5, C=0.5).fit(windows)
        assert_array_equal(models[0.5,].W, mkl.model_.W)
        assert 0.1 <= models[0.1, 10.0].training["settings"]["C"] <= 10.0


def test_bad_input():
    with pytest.raises(ValueError, match=r"costs must be a finite number above 0, got -1\.0"):
        _select(_examples(30, ALIKE), SearchSpace.of_sharing(NAMES, None, (-1.0, 1.0)))
    y, ids = np.array([1, -1, -1, 1, -1]), np.array([0, 0, 1, 2, 2])
    with pytest.raises(ValueError, match="task 'fly' has 0 positive and 1 negative"):
        fit(Examples(np.zeros((5, 1)), y, ids, NAMES), features=Numeric())
