"""A prior for each word of a consensus: how far scores move, and what a model does with that."""

import functools
import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq

from seqmtl import MultiTaskModel, MultiTaskSVC, PositionalKmers, TaskKernel
from seqmtl.adaptation import adapt
from seqmtl.calibration.curve import cross_fitted, fit_consensus_offsets, fit_curve
from seqmtl.commands.main import main
from seqmtl.exceptions import ModelFileError
from seqmtl.files.model_file import read_arrays, write_arrays
from seqmtl.linear_model.site import Site
from seqmtl.scanning.candidate_scores import score_candidates
from seqmtl.scanning.finder import scanner_of
from seqmtl.sequences import Windows, encode
from tests.oracles.annotation import reverse_complement

NAMES = ("fly", "man")  # as the model sorts them
WORDS = {2: ("GT", "GC"), 3: ("TAA", "TAG", "TGA")}


def logistic(z):
    return 1.0 / (1.0 + np.exp(-z))


def candidates(n, offsets, seed=0):
    """Scores whose log-odds are 2 s - 4, plus an offset for each word."""
    rng = np.random.default_rng(seed)
    words = rng.integers(len(offsets), size=n)
    scores = rng.normal(0.0, 1.5, n)
    y = rng.random(n) < logistic(2.0 * scores - 4.0 + np.array(offsets)[words])
    return scores, np.where(y, 1, -1), words


@pytest.mark.parametrize("method", ["isotonic", "sigmoid"])
def test_scores_move_by_the_difference_of_the_log_odds(method):
    for offset in (-3.0, 0.0, 1.5):
        scores, y, words = candidates(40_000, [0.0, offset])
        shifts = fit_consensus_offsets(scores, y, words, None, method)
        main = int((y[words == 1] > 0).sum() > (y[words == 0] > 0).sum())  # most true sites: stays
        assert shifts[main] == 0.0 == shifts[2]
        assert shifts[1 - main] == pytest.approx((-1) ** main * offset / 2.0, abs=0.12)


@pytest.mark.parametrize(("n_true", "n_rare"), [(0, 3), (0, 400), (5, 400)])
@pytest.mark.parametrize("method", ["isotonic", "sigmoid"])
def test_the_sum_of_probabilities_is_the_posterior_mean(method, n_rare, n_true):
    scores, y, words = candidates(5000, [0.0], seed=1)
    rng = np.random.default_rng(2)
    n_true = min(n_true, n_rare - 1)
    scores = np.append(scores, rng.normal(1.0, 1.0, n_rare))
    y = np.append(y, np.where(np.arange(n_rare) < n_true, 1, -1))
    words = np.append(words, np.ones(n_rare, dtype=int))
    counts = rng.integers(1, 4, y.size) * np.where(y > 0, 1, 2)
    shifts = fit_consensus_offsets(scores, y, words, counts, method)
    curve = fit_curve(scores[:5000], y[:5000], counts[:5000], method)

    def total(shift):
        return counts[5000:] @ logistic(curve(scores[5000:] + shift))

    alone, n = total(0.0), counts[5000:][y[5000:] > 0].sum()
    wanted = alone * (n + 1) / (alone + 1)
    span = np.ptp(scores)
    if total(-span) < wanted < total(span):
        assert total(shifts[1]) == pytest.approx(wanted, rel=1e-5)
        expected = brentq(lambda shift: total(shift) - wanted, -span, span)
        if method == "sigmoid":  # an isotonic curve has flat parts
            assert shifts[1] == pytest.approx(expected, abs=1e-5 * span)
    else:  # the curve is flat beyond its ends: the first shift that reaches its end
        assert total(shifts[1]) == pytest.approx(total(np.sign(shifts[1]) * span), rel=1e-6)
    assert abs(np.log((n + 1) / (alone + 1))) < 1e-9 or np.sign(shifts[1]) == np.sign(n - alone)
    assert n > 0 or total(shifts[1]) < 1.0 or method == "isotonic"


def test_a_word_of_which_little_is_expected_hardly_moves():
    scores, y, words = candidates(5000, [0.0])
    scores, y = np.append(scores, [-6.0, -5.0, -4.0]), np.append(y, [-1, -1, -1])
    words = np.append(words, [1, 1, 1])
    assert abs(fit_consensus_offsets(scores, y, words, None, "sigmoid")[1]) < 0.01


def test_words_without_candidates_or_without_either_class_stay():
    scores, y, words = candidates(2000, [0.0])
    assert_array_equal(fit_consensus_offsets(scores, y, words + 2), [0.0, 0.0, 0.0, 0.0])
    assert_array_equal(fit_consensus_offsets(scores, y, np.where(y > 0, 0, 1)), np.zeros(3))
    assert_array_equal(fit_consensus_offsets(scores, y, np.full(2000, -1)), [0.0])
    assert_array_equal(fit_consensus_offsets(np.ones(2000), y, np.arange(2000) % 2), np.zeros(3))


def test_out_of_fold_probabilities_add_up_for_each_word():
    scores, y, words = candidates(20_000, [0.0, -3.0], seed=3)
    p, rows, held = cross_fitted(scores, y, consensus=words)
    before = cross_fitted(scores, y)[0]
    for word in (0, 1):
        n, own = (y[words == word] > 0).sum(), words[rows] == word
        assert (held * p)[own].sum() == pytest.approx(n, abs=3.0 * np.sqrt(n))
    assert before[words[cross_fitted(scores, y)[1]] == 1].sum() > 2.0 * n


# ---- models


def texts_of(n, length, at, words, seed):
    """Windows with one of the words at a place, or now and then with none of them."""
    rng = np.random.default_rng(seed)
    texts = []
    for i in range(n):
        letters = "".join(rng.choice(list("ACGT"), length))
        word = "NNN"[: len(words[0])] if i % 7 == 0 else words[i % len(words)]
        texts.append(letters[:at] + word + letters[at + len(word) :])
    return texts


@functools.cache
def _trained(degree, width):
    words = WORDS[width]
    texts = texts_of(300, 14, 5, words, 0)
    rng = np.random.default_rng(5)
    y = np.where(rng.random(300) < 0.3, 1, -1)
    windows = Windows.from_strings(texts, labels=y, tasks=[NAMES[i % 2] for i in range(300)])
    kernel = TaskKernel.from_tree("((man:1,ape:1):1,fly:2);")
    svc = MultiTaskSVC(features=PositionalKmers(f"wd:{degree}"), task_kernel=kernel)
    return replace(svc.fit(windows, y).model_, site=Site(5, width, ",".join(words)))


def trained(degree=2, width=2):
    """A model of two organisms and a relative, moved for the words of its consensus."""
    return replace(_trained(degree, width))


@pytest.fixture(params=[(2, 2), (1, 3)], ids=str)
def pair(request):
    """The same model without and with word biases, and windows."""
    degree, width = request.param
    plain, moved = trained(degree, width), trained(degree, width)
    rng = np.random.default_rng(7)
    moved.consensus_bias = rng.normal(size=(2, len(WORDS[width])))
    windows = Windows.from_strings(texts_of(120, 14, 5, WORDS[width], 9))
    return plain, moved, windows


def added(model, texts, row):
    words = model.site.consensus
    found = [t[5 : 5 + len(words[0])] for t in texts]
    return np.array([row[words.index(w)] if w in words else 0.0 for w in found])


def test_scores_of_windows_move_by_their_word(pair):
    plain, moved, windows = pair
    texts = ["".join("ACGTN"[c] for c in row) for row in windows.matrix()]
    for t, name in enumerate(NAMES):
        change = moved.decision_function(windows, name) - plain.decision_function(windows, name)
        assert_allclose(change, added(moved, texts, moved.consensus_bias[t]), atol=1e-12)
    K = plain.kernel.matrix
    a = np.linalg.solve(K[:2, :2], K[:2, plain.kernel.names.index("ape")])
    scores = [m.decision_function(windows, "ape") for m in (moved, plain)]
    assert_allclose(
        scores[0] - scores[1], added(moved, texts, a @ moved.consensus_bias), atol=1e-12
    )


def test_a_scan_gives_the_scores_of_windows(pair):
    _, moved, _ = pair
    rng = np.random.default_rng(11)
    text = "".join(rng.choice(list("ACGTN"), 3000, p=[0.26, 0.2, 0.26, 0.26, 0.02]))
    scanner = scanner_of(moved, "fly")
    for strand, letters in (("+", text), ("-", reverse_complement(text))):
        cut = Windows.from_strings([letters[i : i + 14] for i in range(3000 - 13)])
        expected = moved.decision_function(cut, "fly")
        found = scanner.scan_contig(encode(text), strand)
        assert_allclose(found, expected if strand == "+" else expected[::-1], atol=1e-4)


def test_consensus_biases_round_trip(pair, tmp_path):
    plain, moved, windows = pair
    for model in (plain, moved):
        model.save(tmp_path / "m")
        again = MultiTaskModel.load(tmp_path / "m")
        assert_array_equal(
            again.decision_function(windows, "fly"), model.decision_function(windows, "fly")
        )
        assert again.describe() == model.describe()
        assert ("consensus" in again.describe()) == (model is moved)


def test_damaged_consensus_biases_are_refused(tmp_path):
    model = trained()
    model.consensus_bias = np.ones((2, 2))
    model.save(tmp_path / "m")
    description, arrays = read_arrays(tmp_path / "m")
    arrays = {name: np.array(array) for name, array in arrays.items()}
    good, of_shape = arrays["word_bias"], "array word_bias must be float64 of shape"
    for letters, bias, message in (
        ("GT,GC", good[:, :1], of_shape),
        ("GT,GC", good.astype("f4"), of_shape),
        ("GT,GC", good * np.nan, "array word_bias must hold finite numbers"),
        ("GT", good, "array word_bias does not belong to this model"),
    ):
        description["site"]["letters"] = letters
        write_arrays(tmp_path / "n", description, arrays | {"word_bias": bias})
        with pytest.raises(ModelFileError, match=message):
            MultiTaskModel.load(tmp_path / "n")


def test_calibration_moves_one_organism_and_adds_to_what_is_there():
    model = trained()
    scores, y, words = candidates(4000, [0.0, -3.0])
    with pytest.raises(ValueError, match="prevalence must be"):
        model.calibrate("fly", scores, y, consensus=words, prevalence=2.0)
    assert model.consensus_bias is None
    assert not model.curves
    model.calibrate("fly", scores, y, consensus=words)
    shifts = fit_consensus_offsets(scores, y, words)
    assert_array_equal(model.consensus_bias, [shifts[:2], [0.0, 0.0]])
    assert_array_equal(model.curves["fly"].scores, fit_curve(scores + shifts[words], y).scores)
    moved = scores + shifts[words]
    model.calibrate("fly", moved, y, consensus=words)  # scores as the model now gives them
    assert_allclose(model.consensus_bias[0], shifts[:2], atol=0.1)
    assert "added to scores: GT +0.0000, GC -" in "\n".join(model.text("m"))
    p = model.probability(moved + (model.consensus_bias[0] - shifts[:2])[words], ["fly"] * 4000)
    n = (y[words == 1] > 0).sum()
    assert p[words == 1].sum() == pytest.approx(n, abs=2.0 + np.sqrt(n))


def test_an_adapted_organism_has_the_mean_of_its_relatives(tmp_path):
    model = trained()
    model.consensus_bias = np.array([[0.5, -1.0], [0.0, 2.0]])
    windows = Windows.from_strings(texts_of(60, 14, 5, WORDS[2], 9))
    windows.labels = np.where(np.arange(60) % 3 == 0, 1, -1).astype(np.int8)
    nothing = adapt(model, "cat", like="man")
    texts = ["".join("ACGTN"[c] for c in row) for row in windows.matrix()]
    plain = adapt(trained(), "cat", like="man")
    change = nothing.decision_function(windows, "cat")
    change -= plain.decision_function(windows, "cat")
    assert_allclose(change, added(model, texts, model.consensus_bias[1]), atol=1e-9)
    few = adapt(model, "cat", windows, like="man")
    weights = few.training["adapted"]["cat"]["relatives"]
    expected = [weights["fly"], weights["man"]] @ model.consensus_bias
    assert_allclose(few.consensus_bias, [*model.consensus_bias, expected], atol=1e-9)
    again = adapt(few, "cat", windows)
    assert again.consensus_bias.shape == (3, 2)
    assert_array_equal(again.consensus_bias[:2], model.consensus_bias)


# ---- commands


def genome_of(seed, n=40_000, n_true=120):
    """A genome with donors, of which one in ten is GC but otherwise the same."""
    rng = np.random.default_rng(seed)
    letters = rng.choice(list("ACGT"), n)
    rows = []
    for i, at in enumerate(rng.permutation(n // 200 - 2)[:n_true] * 200 + 200):
        site = list("CAG" + ("GC" if i % 10 == 0 else "GT") + "AAGTA")
        strand = "+-"[i % 2]
        text = site if strand == "+" else list(reverse_complement("".join(site)))
        letters[at : at + 10] = text
        start = at + 3 if strand == "+" else at + 5
        rows.append(f"c\t{start}\t{start + 2}\t.\t0\t{strand}\n")
    return "".join(letters), "".join(rows)


@pytest.fixture(scope="module", params=["GT,GC", "GT"])
def case(request, tmp_path_factory):
    """A dataset of donors with one word or two, and a model that was not calibrated."""
    folder = tmp_path_factory.mktemp("words")
    text, rows = genome_of(3)
    (folder / "g.fa").write_text(f">c\n{text}\n")
    (folder / "s.bed").write_text(rows)
    words = json.dumps(request.param.split(","))
    (folder / "d.toml").write_text(
        f'signal = "donor"\nwindow = 41\n[sites]\nconsensus = {words}\n[decoys]\nclearance = 1\n'
        'ratio = 3\n[split]\nby = "blocks"\nblock = 3000\nvalid = 0.4\ntest = 0.3\n'
        f'[organisms.cat]\ngenome = "{folder}/g.fa"\nsites = "{folder}/s.bed"\n'
    )
    assert main(["dataset", str(folder / "d.toml"), "-o", str(folder / "d"), "-q"]) == 0
    options = ["--features", "wd:3", "--selection", "none", "-C", "1", "-q"]
    assert main(["train", str(folder / "d"), *options, "-o", str(folder / "m.seqmtl")]) == 0
    return folder, text, request.param


def test_candidates_have_their_word(case):
    folder, text, letters = case
    held = score_candidates(MultiTaskModel.load(folder / "m.seqmtl"), folder / "d", split="test")
    assert (held.consensus is None) == (letters == "GT")
    if held.consensus is not None:
        counts = np.zeros(2, dtype=int)
        for line in (folder / "d" / "regions.tsv").read_text().splitlines()[1:]:
            if "test" in line.split("\t"):
                begin, end = (int(field) for field in line.split("\t") if field.isdecimal())
                for part in (text[begin:end], reverse_complement(text[begin:end])):
                    inside = [part[i : i + 2] for i in range(19, len(part) - 21)]
                    counts += np.array([inside.count("GT"), inside.count("GC")])
        assert counts.tolist() == [held.counts[held.consensus == k].sum() for k in (0, 1)]


def test_after_calibration_each_word_has_as_many_sites_as_expected(case, tmp_path):
    folder, _, letters = case
    path, out = folder / "m.seqmtl", tmp_path / "c.seqmtl"
    assert main(["calibrate", str(path), str(folder / "d"), "-o", str(out), "-q"]) == 0
    model = MultiTaskModel.load(out)
    if letters == "GT":
        assert model.consensus_bias is None
        assert "word_bias" not in read_arrays(out)[1]
        return
    held = score_candidates(model, folder / "d", split="valid")
    p = held.counts * model.probability(held.scores, list(held.tasks))
    for word in (0, 1):
        n = held.counts[(held.consensus == word) & (held.labels > 0)].sum()
        assert p[held.consensus == word].sum() == pytest.approx(n, abs=1.0 + np.sqrt(n))
    table = tmp_path / "c2.seqmtl"
    rows = str(folder / "d" / "windows.tsv")
    assert main(["calibrate", str(path), rows, "-o", str(table), "-q"]) == 0
    assert MultiTaskModel.load(table).consensus_bias is not None
