"""A new organism from few labels: the problem that is solved, the relatives, and the model."""

import logging
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.linear_model import Ridge
from sklearn.metrics import average_precision_score

from seqmtl import (
    JointFeatures,
    MultiTaskMKLClassifier,
    MultiTaskModel,
    MultiTaskSVC,
    MultiTaskSVR,
    PositionalKmers,
    TaskKernel,
)
from seqmtl.adaptation import adapt, learning
from seqmtl.adaptation.adapted_model import learn_parts, with_organism
from seqmtl.adaptation.learning import fit_weights
from seqmtl.adaptation.relatives import RelativeWeights, extend, spread, weights_of_relatives
from seqmtl.calibration.sigmoid import fit_sigmoid
from seqmtl.core import dcd
from seqmtl.core.losses import find_loss
from seqmtl.core.problem import Problem
from seqmtl.exceptions import UnknownTaskError
from seqmtl.features.numeric import NumericRows
from seqmtl.linear_model.site import Site
from seqmtl.sequences import Windows, concatenate

TREE = "((ape:1,man:1)primates:3,(fly:2,bee:2)insects:2);"
#: The letters after the site that tell true ones, by organism.
MOTIFS = {"ape": "TCCT", "man": "TCCA", "fly": "TAGT", "bee": "TAGA"}


def windows_of(organism, n, seed, at=8, length=20, motif=None):
    """Windows around AG, in which an organism's motif follows the true sites."""
    rng = np.random.default_rng(seed)
    y, texts = np.where(np.arange(n) % 3 == 0, 1, -1), []
    for label in y:
        letters = rng.choice(list("ACGT"), length)
        letters[at : at + 2] = ["A", "G"]
        if label > 0:
            kept = rng.random(4) < 0.8
            own = list(motif or MOTIFS[organism])
            letters[at + 2 : at + 6] = np.where(kept, own, letters[at + 2 : at + 6])
        texts.append("".join(letters))
    return Windows.from_strings(texts, labels=y, tasks=[organism] * n)


@pytest.fixture(scope="module")
def model():
    """A model of ape, fly and bee, which knows man by the tree."""
    windows = concatenate(
        [windows_of(name, 240, i) for i, name in enumerate(("ape", "fly", "bee"))]
    )
    svc = MultiTaskSVC(features=PositionalKmers("wd:3"), task_kernel=TaskKernel.from_tree(TREE))
    return svc.fit(windows, windows.labels).model_


def auprc(model, organism, **options):
    test = windows_of(organism, 600, 99)
    scores = model.decision_function(test, organism, **options)
    return average_precision_score(test.labels > 0, scores)


class TestProblem:
    """Descent with a given part of the scores."""

    def test_it_is_the_new_task_of_the_joint_problem_with_the_others_held_fixed(self):
        # min over w_n of 1/2 sum_st Q_st <w_s, w_t> + sum_i C loss(y_i <w_n, x_i>), Q = K^-1
        rng = np.random.default_rng(2)
        B = rng.normal(size=(4, 4))
        K = B @ B.T + np.eye(4)
        Q, W = np.linalg.inv(K), rng.normal(size=(6, 3))
        X, y = rng.normal(size=(30, 6)), np.where(rng.random(30) < 0.5, 1.0, -1.0)

        def joint(w):
            every = np.column_stack([W, w])
            return (
                0.5 * np.sum(Q * (every.T @ every))
                + find_loss("squared_hinge").values(y * (X @ w)).sum()
            )

        best = minimize(joint, np.zeros(6), method="BFGS", options={"gtol": 1e-9}).x
        a = np.linalg.solve(K[:3, :3], K[:3, 3])
        kappa = K[3, 3] - K[3, :3] @ a
        problem = Problem(
            NumericRows(X),
            y,
            np.zeros(30, np.int16),
            np.array([[kappa]]),
            np.ones(30),
            "squared_hinge",
            0.0,
            targets=-y * (X @ W @ a),
        )
        delta = dcd.solve(problem, tol=1e-9, dtype=np.float64).W[:, 0]
        assert_allclose(W @ a + delta, best, atol=1e-4)

    def test_hinge_descends_on_features_as_on_the_kernel_matrix(self, model, monkeypatch):
        windows = windows_of("man", 120, 5)
        few = adapt(model, "man", windows)
        monkeypatch.setattr(learning, "COSTS", (1.0,))
        monkeypatch.setattr(learning, "TRUSTS", {0.5: 1.0})
        monkeypatch.setattr(learning, "fit_weights", lambda scores, y, weights, share: weights)
        one = adapt(model, "man", windows)
        monkeypatch.setattr(learning, "MAX_GRAM_EXAMPLES", 100)
        large = adapt(model, "man", windows)
        assert not np.allclose(few.weights(["man"])[0], one.weights(["man"])[0], atol=1e-3)
        scores = [m.decision_function(windows, "man") for m in (one, large)]
        assert_allclose(*scores, atol=0.05)  # both to their tolerance

    def test_learning_of_parts_is_learning_with_trust_and_cost_as_given(self, model, monkeypatch):
        windows = windows_of("man", 30, 5)
        monkeypatch.setattr(learning, "TRUSTS", {0.5: 1.0})
        monkeypatch.setattr(learning, "COSTS", (1.0,))
        monkeypatch.setattr(learning, "fit_weights", lambda scores, y, weights, share: weights)
        n, placed = len(windows), weights_of_relatives(model.kernel, model.tasks, "man")
        half = np.arange(n // 2)

        def learn(windows, weight, parts):
            return learn_parts(model, placed, "man", windows, weight, parts, trust=0.5, C=1.0)

        models = learn(windows, np.ones(n), [np.arange(n), half])
        both, few, mean = (own.decision_function(windows, "man") for own in models)
        adapted = adapt(model, "man", windows).decision_function(windows, "man")
        assert_allclose(both, adapted, atol=0.1)  # both to their tolerance
        assert np.abs(few - both).max() > 0.2
        assert_allclose(mean, (both + few) / 2, atol=1e-4)
        # an example of weight two is two of weight one
        weight = np.where(np.arange(n) < half.size, 2.0, 1.0)
        twice = windows[np.concatenate([np.arange(n), half])]
        weighed, copied = (
            learn(own, w, [np.arange(len(own))])[0].decision_function(windows, "man")
            for own, w in ((windows, weight), (twice, np.ones(len(twice))))
        )
        assert_allclose(weighed, copied, atol=0.1)
        assert np.abs(weighed - both).max() > 0.2

    @pytest.mark.parametrize("at", [None, 0])
    def test_a_model_gets_an_organism_learnt_alone(self, model, at, tmp_path):
        windows, relatives = windows_of("man", 60, 5), np.array([0.7, 0.2, 0.1])
        chosen = {"selection": {"tasks": {name: {"C": 1.0} for name in model.tasks}}}
        model = replace(model, training=model.training | chosen)
        given = model, RelativeWeights(relatives, "a test", 1.0), "man", windows, np.ones(60)
        alone = learn_parts(*given, [np.arange(60)], trust=0.5, C=1.0)[0]
        scores = alone.decision_function(windows, "man")
        alone.calibrate("man", scores, windows.labels)
        alone.save(tmp_path / "alone.seqmtl")  # as a checkpoint does
        alone = MultiTaskModel.load(tmp_path / "alone.seqmtl")
        joined = with_organism(model, alone, relatives, at)
        joined.save(tmp_path / "joined.seqmtl")
        joined = MultiTaskModel.load(tmp_path / "joined.seqmtl")
        expected = ["ape", "bee", "fly"]
        expected.insert(3 if at is None else at, "man")
        assert [*joined.tasks] == expected
        for name, own in (("man", alone), ("ape", model), ("bee", model)):
            test = windows_of(name, 30, 6)
            before, after = (m.decision_function(test, name) for m in (own, joined))
            assert_allclose(after, before, atol=1e-5)
            same = own.log_odds(before, name), joined.log_odds(before, name)
            assert_allclose(*same, atol=1e-9)
        assert joined.training["tasks"]["man"]["n"] == 60
        assert joined.training["adapted"]["man"]["relatives"] == pytest.approx(
            {"ape": 0.35, "bee": 0.1, "fly": 0.05}
        )


class TestRelatives:
    @pytest.mark.parametrize("seed", range(2))
    def test_weights_fitted_to_labels_are_those_of_a_general_optimiser(self, seed):
        rng = np.random.default_rng(seed)
        scores, y = rng.normal(size=(30, 4)), np.where(rng.random(30) < 0.4, 1.0, -1.0)
        scores[:, 1] += 1.5 * y
        scores[:, 2] -= y
        prior, share = np.array([0.4, 0.3, 0.2, 0.1]), rng.random(30) + 0.5
        slope = fit_sigmoid(scores @ prior, y, share)[0]

        def value(p):
            losses = share @ np.logaddexp(0, -y * (scores @ p[:4] + p[4]))
            return losses + 0.15 * ((p[:4] - slope * prior) ** 2).sum() + 0.5e-6 * p[4] ** 2

        bounds = [(0, None)] * 4 + [(None, None)]
        best = minimize(value, np.full(5, 0.1), bounds=bounds, options={"ftol": 1e-14})
        found = fit_weights(scores, y, prior, share)
        assert_allclose(found, best.x[:4] / best.x[:4].sum(), atol=2e-3)
        assert found[2] == 0.0

    def test_labels_that_contradict_all_relatives_leave_the_weights_as_they_are(self):
        y = np.tile([1.0, -1.0], 20)
        prior = np.array([0.7, 0.3])
        found = fit_weights(-y[:, None] * [3.0, 2.0], y, prior, np.ones(40))
        assert_array_equal(found, prior)

    def test_the_place_in_a_tree(self):
        # from the root, with a base of 1/4: man and ape share 3 of 4, man and the insects nothing
        kernel = TaskKernel.individual(["ape", "fly", "bee"])
        R = np.array([[1, 0.25, 0.25], [0.25, 1, 0.625], [0.25, 0.625, 1]])
        shared = np.array([0.8125, 0.25, 0.25])
        own = np.linalg.solve(R, shared)
        r2 = shared @ own  # of a variable with variance 1
        found = weights_of_relatives(kernel, kernel.names, "man", tree=TREE)
        root = np.linalg.inv(R).sum(axis=1)  # generalized least squares: the insects count as one
        expected = r2 * own / own.sum() + (1 - r2) * root / root.sum()
        assert_allclose(found.weights, expected, atol=1e-12)
        assert found[2:] == (pytest.approx(r2), "ape", 2, ("ape",), "text")
        assert not found.is_dated
        assert "2 from ape" in found.source

    def test_a_clade_is_the_mean_of_its_leaves(self):
        kernel = TaskKernel.individual(["ape", "fly"])
        found = weights_of_relatives(kernel, kernel.names, "gnat", like="insects", tree=TREE)
        R = np.array([[1, 0.25], [0.25, 1]])
        shared = np.array([0.25, (1 + 0.625) / 2])
        own = np.linalg.solve(R, shared)
        r2 = shared @ own / np.array([[1, 0.625], [0.625, 1]]).mean()  # of the mean of fly and bee
        assert_allclose(found.weights, r2 * own / own.sum() + (1 - r2) / 2, atol=1e-12)
        # 0 from fly, 4 from bee
        assert found[2:] == (pytest.approx(r2), "fly", 2, ("fly",), "text")

    def test_in_the_place_of_a_relative_it_counts_alone_and_nowhere_all_are_alike(self):
        kernel = TaskKernel.individual(["ape", "fly"])
        assert_allclose(
            weights_of_relatives(kernel, kernel.names, "gnat", like="fly").weights, [0, 1]
        )
        assert_allclose(weights_of_relatives(kernel, kernel.names, "gnat").weights, [0.5, 0.5])

    @pytest.mark.parametrize("error", [1e-9, 0.3, 1.0, 1e9])
    def test_weights_with_errors_are_those_of_the_best_prediction(self, error):
        """The w_s as seen, w_s + error, predict w_n = sum_s a_s w_s with the least mean square."""
        R = TaskKernel.from_tree(TREE, ["ape", "fly", "bee", "man"]).matrix
        half = np.linalg.cholesky(R).T  # w_s = half[:, s] of independent normal variables
        for a in ([0, 1, 0, 0], [0.7, 0.0, 0.2, 0.1]):
            found = spread(R, np.array(a, dtype=float), error)
            best = Ridge(error, fit_intercept=False, tol=1e-12).fit(half, half @ a).coef_
            best = np.maximum(best, 0)
            assert_allclose(found, best / best.sum(), atol=1e-6)
            if error < 1e-6:
                assert_allclose(found, a, atol=1e-6)
            if error > 1e6:
                assert_allclose(found, R @ a / (R @ a).sum(), atol=1e-6)

    def test_a_taxonomy_dump_places_what_no_tree_has(self, tmp_path):
        # root - (animals - (flies - (fly, gnat), worm), weed); the gnat's sister is the fly
        rows = [
            (1, 1, "root"),
            (2, 1, "animals"),
            (3, 2, "flies"),
            (4, 3, "Musca a"),
            (5, 3, "Musca b"),
            (6, 2, "Vermis a"),
            (7, 1, "Herba a"),
        ]
        nodes = "".join(f"{i}\t|\t{up}\t|\tno rank\t|\n" for i, up, _ in rows)
        names = "".join(f"{i}\t|\t{name}\t|\t\t|\tscientific name\t|\n" for i, _, name in rows)
        (tmp_path / "nodes.dmp").write_text(nodes)
        (tmp_path / "names.dmp").write_text(names)
        kernel = TaskKernel.individual(["Musca a", "Vermis a", "Herba a"])
        found = weights_of_relatives(kernel, kernel.names, "gnat", like="Musca b", tree=tmp_path)
        assert found[3:] == ("Musca a", 2, ("Musca a",), tmp_path.name)
        assert found.weights[0] > found.weights[1] >= found.weights[2] > 0
        expected = weights_of_relatives(
            kernel,
            kernel.names,
            "gnat",
            like="Musca b",
            tree="(((Musca_a:1,Musca_b:1):1,Vermis_a:1):1,Herba_a:1);",
        )
        assert_allclose(found.weights, expected.weights)
        with pytest.raises(UnknownTaskError, match="'Musca c' is not in the taxonomy"):
            weights_of_relatives(kernel, kernel.names, "gnat", like="Musca c", tree=tmp_path)

    def test_a_species_that_a_tree_lacks_has_the_place_of_its_genus(self, caplog):
        caplog.set_level("INFO")
        kernel = TaskKernel.individual(["Apis mellifera", "Musca domestica"])
        tree = "((Apis_mellifera:1,(Bombus_a:1,Bombus_b:1):1)bees:1,(Musca_domestica:1,(Aedes_x:1,"
        tree += "Aedes_y:1)Aedes:1)Diptera:1);"
        for like, same in (
            ("Bombus terrestris", ["Bombus_a", "Bombus_b"]),
            ("bombus", ["Bombus_a", "Bombus_b"]),
            ("Aedes_vexans subsp", ["Aedes_x", "Aedes_y"]),
            ("Musca nova", ["Musca_domestica"]),
        ):
            found = weights_of_relatives(kernel, kernel.names, "new", like=like, tree=tree)
            clade = f"{same[0]}:1" if len(same) == 1 else f"({same[0]}:1,{same[1]}:1)here:1"
            named = tree.replace("(Bombus_a:1,Bombus_b:1):1", clade) if "Bombus" in clade else tree
            target = {2: "here" if "Bombus" in clade else "Aedes", 1: same[0]}[len(same)]
            expected = weights_of_relatives(kernel, kernel.names, "new", like=target, tree=named)
            assert_allclose(found.weights, expected.weights, atol=1e-12)
            assert found.distance == expected.distance
        assert "lacks 'Musca nova', but of its genus has Musca_domestica" in caplog.text

    def test_neither_a_typo_nor_an_initial_is_a_genus(self):
        kernel = TaskKernel.individual(["Apis mellifera", "Musca domestica"])
        tree = "((Apis_mellifera:1,Bombus_a:1):1,Musca_domestica:2);"
        for like in ("Apis melifera", "Cupressus sempervirens", "a nova", "melli fera", "Ap nova"):
            with pytest.raises(UnknownTaskError, match=r"clade or genus of .* NCBI taxonomy dump"):
                weights_of_relatives(kernel, kernel.names, "new", like=like, tree=tree)

    def test_a_shipped_tree_is_searched_by_taxid_and_clade(self):
        kernel = TaskKernel.individual(["d_melanogaster", "h_sapiens", "unheard of"])
        for like in ("10090", "mouse", "Amniota"):
            found = weights_of_relatives(kernel, kernel.names, "new", like=like)
            assert found.weights.argmax() == 1
            assert found.weights[2] == pytest.approx((1 - found.r2) / 3)

    def test_trust_in_the_tree_does_not_blur_the_place(self):
        R = TaskKernel.from_tree(TREE, ["ape", "fly", "bee", "man"]).matrix
        x, d = np.array([0.1, 0.5, 0.9, 1.0]), np.array([2.0, 1.0, 0.5, 1.0])
        K = R * np.minimum.outer(x, x)
        np.fill_diagonal(K, 1.0)
        kernel = TaskKernel(["ape", "fly", "bee", "man"], K * np.sqrt(np.outer(d, d)))
        trusts = dict(zip(kernel.names, x.tolist(), strict=True))
        found = weights_of_relatives(kernel, kernel.names[:3], "man", trusts=trusts)
        expected = weights_of_relatives(kernel, kernel.names[:3], "man", tree=TREE)
        assert_allclose(found.weights, expected.weights, atol=1e-12)

    @pytest.mark.parametrize("at", [3, None])
    def test_the_kernel_has_the_organism_where_its_mean_is_the_prior(self, at):
        kernel = TaskKernel.hierarchical(TREE)  # three matrices, and bee without data
        a = np.array([0.2, 0.5, 0.3])
        found = extend(kernel, 3, "new", a, at)
        assert found.names.index("new") == (4 if at is None else at)
        place_ = found.names.index("new")
        for K, before in zip(found.matrices, kernel.matrices, strict=True):
            assert_allclose(K[:3, place_], K[:3, :3] @ a)
            assert np.linalg.eigvalsh(K).min() > -1e-9
            others = [i for i in range(5) if i != place_]
            assert_array_equal(K[np.ix_(others, others)], before)


class TestModel:
    def test_few_labels_and_relatives_beat_either(self, model):
        found = []
        for seed in range(5, 11):
            few = windows_of("man", 12, seed)
            own = MultiTaskSVC(features=PositionalKmers("wd:3")).fit(few, few.labels).model_
            found.append([auprc(adapt(model, "man", few), "man"), auprc(own, "man")])
        adapted, alone = np.mean(found, axis=0)
        assert adapted > alone + 0.03
        assert adapted > auprc(model, "man") + 0.05

    def test_the_other_organisms_stay_as_they_are(self, model):
        adapted = adapt(model, "man", windows_of("man", 24, 5))
        assert adapted.tasks == (*model.tasks, "man")
        assert model.tasks == ("ape", "bee", "fly")
        test = windows_of("fly", 50, 3)
        assert_array_equal(adapted.decision_function(test), model.decision_function(test))
        for organism in model.tasks:
            assert auprc(adapted, organism) == auprc(model, organism)

    def test_the_file_holds_it_all(self, model, tmp_path):
        adapted = adapt(model, "man", windows_of("man", 90, 5), prevalence=0.01)
        adapted.save(tmp_path / "new.seqmtl")
        loaded = MultiTaskModel.load(tmp_path / "new.seqmtl")
        test = windows_of("man", 50, 3)
        assert_array_equal(loaded.decision_function(test), adapted.decision_function(test))
        assert_array_equal(loaded.predict_proba(test), adapted.predict_proba(test))
        text = "\n".join(loaded.text("new.seqmtl"))
        assert "man: placed by man in the task kernel of the model" in text
        entry = loaded.training["adapted"]["man"]
        assert set(entry["relatives"]) == {"ape", "fly", "bee"}
        assert max(entry["relatives"], key=entry["relatives"].get) == "ape"
        assert sum(entry["trust"].values()) == pytest.approx(1, abs=1e-3)
        assert loaded.training["tasks"]["man"] == {"n": 90, "n_positive": 30}

    def test_the_weights_are_those_of_the_relatives_and_the_labels(self, model):
        few = windows_of("man", 24, 5)
        adapted = adapt(model, "man", few)
        weights = adapted.training["adapted"]["man"]["relatives"]
        a = np.array([weights[name] for name in model.tasks])
        rest = np.asarray(adapted.W)[:, 3] - np.asarray(model.W) @ a  # in the span of the windows
        span = PositionalKmers("wd:3").transform(few).toarray().T
        fitted = span @ np.linalg.lstsq(span, rest, rcond=None)[0]
        assert np.abs(rest).max() > 1e-3
        assert_allclose(rest, fitted, atol=1e-5)

    def test_without_labels_it_is_the_mean_of_the_relatives(self, model):
        placed = adapt(model, "unheard of")
        test = windows_of("man", 50, 3)
        every = [model.decision_function(test, name) for name in model.tasks]
        found = placed.decision_function(test, "unheard of")
        assert_allclose(found, np.mean(every, axis=0), atol=1e-5)
        assert placed.tasks == model.tasks

    def test_a_second_step_goes_on_from_the_first(self, model):
        first = adapt(model, "man", windows_of("man", 12, 5))
        second = adapt(first, "man", windows_of("man", 60, 6))
        assert second.tasks == first.tasks
        assert auprc(second, "man") > auprc(first, "man")
        assert second.training["tasks"]["man"] == {"n": 72, "n_positive": 24}
        entry = second.training["adapted"]["man"]
        assert entry["source"] == "its own model of 12 labels"
        assert set(entry["relatives"]) == {"ape", "fly", "bee"}
        placed = adapt(adapt(model, "man", like="fly"), "man", windows_of("man", 12, 5))
        assert placed.training["adapted"]["man"]["relatives"].keys() == {"ape", "fly", "bee"}
        assert placed.kernel.names.count("man") == 1

    def test_probabilities_hold_at_the_prevalence(self, model):
        few = windows_of("man", 150, 5)
        odds = {}
        for prevalence in (None, 1 / 3, 0.01):
            adapted = adapt(model, "man", few, prevalence=prevalence)
            odds[prevalence] = adapted.log_odds(np.array([0.0]), "man")[0]
        change = np.log(0.01 / 0.99) - np.log(0.5)
        assert odds[0.01] - odds[1 / 3] == pytest.approx(change)
        assert odds[None] == pytest.approx(odds[1 / 3], abs=0.5)
        assert adapted.prevalence("man") == 0.01

    def test_several_views_and_learnt_weights(self):
        names = ("ape", "fly", "bee")
        windows = concatenate([windows_of(name, 120, i) for i, name in enumerate(names)])
        mkl = MultiTaskMKLClassifier(
            features=JointFeatures(
                [PositionalKmers("wd:3"), PositionalKmers("kmers:3/inf", anchor=0)]
            ),
            task_kernel=TaskKernel.hierarchical(TREE, names),
        )
        model = mkl.fit(windows, windows.labels).model_
        adapted = adapt(model, "man", windows_of("man", 24, 5), tree=TREE)
        assert auprc(adapted, "man") > 0.6
        assert auprc(adapt(model, "man", tree=TREE), "man") > 0.5
        for name in model.tasks:
            assert auprc(adapted, name) == auprc(model, name)

    def test_many_labels_are_weighed_on_a_sample(self, model, monkeypatch):
        windows = windows_of("man", 300, 5)
        monkeypatch.setattr(learning, "MAX_GRAM_EXAMPLES", 60)
        adapted = adapt(model, "man", windows, prevalence=0.1)
        assert adapted.training["tasks"]["man"]["n"] == 300
        assert adapted.training["calibration"]["man"]["n"] < 80
        assert auprc(adapted, "man") > auprc(adapt(model, "man", windows[:60]), "man")


def test_settings_of_a_later_version_are_left_alone(model):
    training = {**model.training, "settings": {**model.training["settings"], "later": 1}}
    few = windows_of("man", 24, 5)
    scores = adapt(replace(model, training=training), "man", few).decision_function(few)
    assert_array_equal(scores, adapt(model, "man", few).decision_function(few))


def test_what_cannot_be_adapted_is_refused(model):
    few = windows_of("man", 24, 5)
    decoys = np.flatnonzero(few.labels < 0)
    copies = few[np.append(decoys, [0, 0, 0])]
    adapted = adapt(model, "man", few)
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30.0)
    numbers = MultiTaskSVR().fit(X, y, tasks=["a", "b"] * 15).model_
    classes = "'man' must have at least 2 of each class, got 0 positive and 16 negative; add"
    place = r"windows must have AG at base 8 as in training, got \d of \d+ true sites.*; cut"
    other, elsewhere = windows_of("man", 24, 5, length=30), windows_of("man", 24, 5, at=6)
    of_sites = replace(model, site=Site(8, 2, "AG", "acceptor"))
    for known, name, options, message in (
        (model, "Fly", {"data": few}, r"organism 'Fly' is in the model already.*another"),
        (model, "gnat", {"like": "flx"}, r"'flx' is neither.*did you mean 'fly'"),
        (model, "mam", {"tree": TREE}, r"'mam' is neither.*did you mean 'man'"),
        (model, "oak", {"tree": "(oak:1,elm:1);"}, "the tree text has none of the organisms"),
        (model, "man", {"data": few[decoys]}, classes),
        (model, "man", {"data": copies}, "got 1 positive and 16 negative"),
        (model, "man", {"data": other}, "windows must have 20 bases as in training, got 30"),
        (of_sites, "man", {"data": elsewhere}, place),
        (adapted, "man", {}, "'man' is in the model already; give labels"),
        (numbers, "c", {"data": X, "y": y}, "only models of classification can be adapted, got"),
    ):
        with pytest.raises((ValueError, UnknownTaskError), match=message):
            adapt(known, name, **options)


def test_labels_that_contradict_the_relatives(model, caplog):
    windows = windows_of("ape", 60, 5)
    with caplog.at_level(logging.WARNING):
        adapt(model, "man", windows)
        assert "contradict" not in caplog.text
        adapt(model, "man", windows, -windows.labels)
    assert "man: the labels contradict the relatives (AUROC 0." in caplog.text
    assert "check that true sites have label 1" in caplog.text
