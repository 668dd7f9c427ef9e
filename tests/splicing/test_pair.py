"""seqmtl pair on simulated genomes: candidates, files, leaks, bad input."""

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from seqmtl import TaskKernel, Windows
from seqmtl.commands.evaluate import _joined
from seqmtl.core.weights import TaskWeights
from seqmtl.exceptions import SeqmtlError
from seqmtl.files.model_file import read_arrays, write_arrays
from seqmtl.io.dataset import read_dataset, read_split_genome
from seqmtl.loading import load
from seqmtl.scanning.candidate_scores import CandidateScores
from seqmtl.sequences import encode
from seqmtl.splicing import fit, fit_layer, paired_scores, score_paired
from seqmtl.splicing.candidates import cut_regions, end_finders, find_piece
from seqmtl.splicing.chain import run_chain
from seqmtl.splicing.coding import Transcribed
from seqmtl.splicing.model import PairedModel
from seqmtl.splicing.paired_scores import METHODS
from seqmtl.splicing.regions import read_both
from tests.invocation import run
from tests.oracles.annotation import reverse_complement
from tests.oracles.pairs import ends, posteriors_of

SIGNALS = ("donor", "acceptor")
PLACES = 4 ** np.arange(4, -1, -1)  # of the letters of a word


def _inputs(case):
    models = [load(case / signal) for signal in SIGNALS]
    return (*models, case / "donors", case / "acceptors")


def _rename(path, renamed):
    """Write the model with z in place of a."""
    header, arrays = read_arrays(path)
    write_arrays(renamed, json.loads(json.dumps(header).replace('"a"', '"z"')), arrays)


def test_partners_help_and_one_command_shows_it(case, tmp_path, capsys):
    data = f"{case}/donors {case}/acceptors"
    files = f"--json {tmp_path}/metrics.json --plot {tmp_path}/curves.svg"
    run(f"evaluate {case}/splice {data} --bootstrap 0 {files}")
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    metrics = json.loads((tmp_path / "metrics.json").read_text())["signals"]
    assert (tmp_path / "curves.svg").read_bytes().startswith(b"<?xml")
    assert lines[0] == ["signal", "method", "organism", "auprc_genome", "auroc", "precision_80"]
    assert [line[:3] for line in lines[1:4]] == [
        ["donor", "alone", name] for name in ("a", "b", "mean")
    ]
    rows = {tuple(line[:3]): line[3] for line in lines}
    for signal in SIGNALS:
        # the site alone is what the site model's own evaluation gives
        data = case / f"{signal}s"
        run(f"evaluate {case / signal} {data} --bootstrap 0 --json {tmp_path}/own.json")
        own = json.loads((tmp_path / "own.json").read_text())["tasks"]
        for organism in "ab":
            tasks = {method: metrics[signal][method]["tasks"][organism] for method in METHODS}
            alone, paired = (tasks[method]["auprc_genome"] for method in ("alone", "paired"))
            assert paired > alone + 0.05
            for method, task in tasks.items():
                assert task["expected"] == pytest.approx(task["n_positive"], rel=0.5)
                assert rows[signal, method, organism] == f"{task['auprc_genome']:.4f}"
            for name in ("n", "n_positive"):
                assert tasks["alone"][name] == own[organism][name]
            assert alone == pytest.approx(own[organism]["auprc_genome"], abs=1e-3)


def _by_hand(model, letters, word):
    """Candidates of both strands from the letters, plus before minus."""
    site, length = model.site, model.length
    starts, is_reverse, windows = [], [], []
    for turned, text in ((False, letters), (True, reverse_complement(letters))):
        for match in re.finditer(f"(?={word})", text):
            window = text[max(0, match.start() - site.offset) :][:length]
            if match.start() >= site.offset and len(window) == length and "N" not in window:
                starts.append(len(text) - 2 - match.start() if turned else match.start())
                is_reverse.append(turned)
                windows.append(window)
    scores = model.decision_function(Windows.from_strings(windows), "b")
    return ends(starts, is_reverse, model.log_odds(scores, "b"))


def _scores(*data, **options):
    """Return the candidates of the test regions by signal and method."""
    results = score_paired(*data, split="test", **options)
    return {(held.signal, held.method): held for held in results}


def test_candidates_of_both_strands_are_those_in_the_letters(case):
    donor, acceptor, donors, acceptors = _inputs(case)
    model = load(case / "splice")
    layer = model.layer_of("b")
    found = _scores(model, donors, acceptors, organism="b")
    held = read_split_genome(donors, "b", "test")
    assert held.regions.shape == (1, 2)
    codes = held.genome.codes[slice(*held.regions[0])]
    letters = "".join("ACGTN"[code] for code in codes)
    given = [_by_hand(donor, letters, "GT"), _by_hand(acceptor, letters, "AG")]
    by_signal = np.split(posteriors_of(given, codes, layer), [len(given[0])])
    for signal, expected in zip(SIGNALS, by_signal, strict=True):
        held = found[signal, "paired"]
        n_excluded = expected.size - held.labels.size
        assert 0 <= n_excluded < 5
        got = np.sort(-np.logaddexp(0, -held.scores))
        if not n_excluded:
            assert_allclose(got, np.sort(expected), atol=2e-3)
        labels = held.labels > 0
        windows = read_dataset(case / f"{signal}s", split="test", organism="b")
        assert labels.sum() == (windows.labels > 0).sum()


def test_pieces_of_a_region_change_next_to_nothing(case, monkeypatch):
    model = load(case / "splice")
    whole = _scores(model, case / "donors", case / "acceptors")
    monkeypatch.setattr(paired_scores, "_PIECE", 9_000)
    cut = _scores(model, case / "donors", case / "acceptors")
    for signal in SIGNALS:
        of_signal = [[scores[signal, method] for method in METHODS] for scores in (whole, cut)]
        order = [np.lexsort([alone.scores, paired.scores]) for alone, paired in of_signal]
        (_, a), (_, b) = of_signal
        assert a.labels.size == b.labels.size
        assert a.labels.sum() == b.labels.sum()
        assert_allclose(a.scores[order[0]], b.scores[order[1]], atol=1e-5)


def test_a_region_shorter_than_a_window_has_no_candidates(case):
    donor, acceptor, *paths = _inputs(case)
    layer = load(case / "splice").layer_of("a")
    held = read_both(*paths, "a", "valid")
    tiny = [replace(own, regions=own.regions[:1, :1] + np.array([0, 20])) for own in held]
    (bounds,) = cut_regions(tiny[0], 10_000, 1_000_000)
    finders = end_finders((donor, acceptor), "a", layer, paths=paths)
    sites = find_piece(finders, tiny, bounds, layer._replace(edges=()), {})
    assert len(sites) == run_chain(sites, layer).sites.size == 0


def test_values_are_the_best_within_their_bounds(monkeypatch):
    monkeypatch.setattr(fit, "_GAIN", 1e-9)
    rng = np.random.default_rng(0)
    low, high = np.array([-9.0, 0.0, -9.0]), np.array([9.0, 9.0, 0.4])
    X = rng.normal(size=(300, 3)) * [1.0, 10.0, 0.1]
    y = rng.random(300) < 1 / (1 + np.exp(-X @ [1.5, -0.02, 3.0]))

    def loss(v):
        return float(np.logaddexp(0, np.where(y, -1, 1) * (X @ v)).sum())

    def fit_of(v):
        p = 1 / (1 + np.exp(-X @ v))
        return fit._Fit(loss(v), X.T @ (p - y), (X.T * (p * (1 - p))) @ X)

    best = fit._best(fit_of, np.array([-8.0, 8.0, -8.0]), low, high)
    expected = minimize(loss, best, bounds=list(zip(low, high, strict=True)), tol=1e-14).x
    assert_allclose(best, expected, atol=1e-4)
    assert_array_equal(best[1:], [0.0, 0.4])


def test_the_slope_of_a_fit_is_that_of_the_likelihood(case, monkeypatch):
    data = {}
    monkeypatch.setattr(
        fit, "fit_numbers", lambda tasks: data.update(tasks) or dict.fromkeys(tasks, start)
    )
    start = {name: number.start for name, number in fit.NUMBERS.items()}
    fit_layer(*_inputs(case))
    task = data["b"]
    piece, steps = max(task.pieces, key=lambda piece: (piece["labels"] > 0).sum()), np.full(8, 1e-4)

    def loss(values):
        layer = task.layer(dict(zip(fit.NUMBERS, values.tolist(), strict=True)))
        log_p, y = run_chain(piece, layer).sites, piece["labels"]
        return -np.maximum(log_p[y > 0], -30).sum() - np.log(-np.expm1(log_p[y < 0])).sum()

    values = np.array([*start.values()])
    points = [values, *(values + np.diag(steps))]
    layers = [task.layer(dict(zip(start, point.tolist(), strict=True))) for point in points]
    at = fit._fit_piece(piece, layers, steps)
    beside = [loss(values + 1e-3 * e) - loss(values - 1e-3 * e) for e in np.eye(8)]
    assert at.loss == pytest.approx(loss(values))
    assert_allclose(at.gradient, np.array(beside) / 2e-3, rtol=0.01, atol=0.01)
    assert np.linalg.eigvalsh(at.curvature).min() > -1e-9


def test_a_paired_model_survives_its_file(case, tmp_path, capsys):
    first = load(case / "splice")
    assert isinstance(first, PairedModel)
    first.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (case / "splice").read_bytes()
    ciliate = first.layer_of("a")._replace(stops=("TGA",))
    first = replace(first, layer={**first.layer, "a": ciliate})
    first.save(tmp_path / "again")
    again = load(tmp_path / "again")
    for name in "ab":
        a, b = first.layer_of(name), again.layer_of(name)
        assert a.exons.size == 600
        for own, other in zip(a, b, strict=True):
            assert_array_equal(own, other)
            assert type(own) is type(other)
    for signal in SIGNALS:
        assert_array_equal(getattr(again, signal).W, load(case / signal).W)
    run(f"info {case}/splice")
    shown = capsys.readouterr().out
    assert "donors and acceptors in pairs" in shown
    assert f"introns of {first.layer_of('a').shortest} to" in shown
    run(f"info {case}/splice --json -")
    assert json.loads(capsys.readouterr().out)["layer"].keys() == {"a", "b"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h, a: h["layer"]["a"].update(scale=0), r"layer\.a\.scale must be a finite number"),
        (lambda h, a: h["layer"].pop("b"), "array introns must be float64"),
        (lambda h, a: h["layer"]["a"].update(longest=3), "longest must be at least"),
        (lambda h, a: h["donor"].update(model="kernels"), "donor: model must be 'weights'"),
        (lambda h, a: h["donor"].pop("tasks"), "tasks is missing"),
        (lambda h, a: h.pop("acceptor"), "acceptor is missing"),
        (lambda h, a: a.pop("donor.W"), "array W is missing"),
        (lambda h, a: a.update({"x.W": np.zeros(1)}), "array x.W does not belong"),
        (lambda h, a: h.update(donor=h["acceptor"]), "must be trained on donor sites"),
        (lambda h, a: a.update(coding=np.zeros((2, 3, 4096), "f4")), "array coding must be"),
        (lambda h, a: a.update(coding=np.zeros((2, 3, 3, 256), "f4")), "array coding must be"),
    ],
)
def test_damaged_files_are_refused(case, refused, change, message):
    refused(case / "splice", change, message)


def test_predict_says_that_it_cannot(case):
    with pytest.raises(SeqmtlError, match="so it takes no windows"):
        load(case / "splice").predictions(None)


MISFITS = {
    "acceptor donor donors acceptors": "must be trained on donor sites",
    "donor donor donors donors": "must be trained on acceptor sites",
    "donor acceptor acceptors donors": "must be a dataset of donors",
    "donor acceptor donors donors": "must be a dataset of acceptors",
    "donor acceptor donors of_a": "task 'b' is not in",
    "donor of_z donors acceptors": "z",
    "splice acceptor donors acceptors": "is a model of pairs, not of weights",
}


def test_models_and_datasets_that_do_not_fit_are_refused(case, tmp_path, seqmtl):
    run(f"dataset {case}/sim/a.toml -o {tmp_path}/of_a")
    _rename(case / "acceptor", tmp_path / "of_z")
    folders = {"of_a": tmp_path, "of_z": tmp_path}
    for order, message in MISFITS.items():
        inputs = [str(folders.get(name, case) / name) for name in order.split()]
        assert message in seqmtl(["pair", *inputs, "-o", tmp_path / "x"], 1).err


def test_datasets_of_different_genomes_are_refused(case, capsys, tmp_path):
    shutil.copytree(case / "acceptors", tmp_path / "other")
    summary = json.loads((tmp_path / "other/summary.json").read_text())
    summary["genomes"]["b"]["crc32"] += 1
    (tmp_path / "other/summary.json").write_text(json.dumps(summary))
    data = f"{case}/donors {tmp_path}/other"
    run(f"pair {case}/donor {case}/acceptor {data} -o {tmp_path}/x", 1)
    error = capsys.readouterr().err
    assert "must have the same genome of b; build both from one configuration" in error
    with pytest.raises(SeqmtlError, match="must have the same genome of b"):
        score_paired(load(case / "splice"), case / "donors", tmp_path / "other", split="test")


def test_an_annotation_without_introns_is_refused(case, monkeypatch):
    monkeypatch.setattr(fit, "annotated_lengths", lambda strands, **options: np.empty(0, np.int64))
    message = "donors and .*acceptors: the annotation has no introns"
    with pytest.raises(SeqmtlError, match=message):
        fit_layer(*_inputs(case))


def test_regions_that_the_layer_was_fitted_on_are_told(case, seqmtl):
    data = f"{case}/donors {case}/acceptors --split valid --bootstrap 0"
    shown = seqmtl(f"evaluate {case}/splice {data}")
    assert "the model was fitted on the valid regions" in shown.err


def test_an_organism_that_the_model_lacks_is_evaluated_by_a_relative(case, tmp_path, seqmtl):
    _rename(case / "splice", tmp_path / "z")  # it has z in place of a, with the same weights
    command = f"{case}/donors {case}/acceptors --organism a --bootstrap 0 --json {tmp_path}"
    seqmtl(f"evaluate {case}/splice {command}/own.json")
    seqmtl(f"evaluate {tmp_path}/z {command}/like.json --like z")
    own, like = (
        json.loads((tmp_path / f"{name}.json").read_text())["signals"] for name in ("own", "like")
    )
    for signal in SIGNALS:
        alone, paired = (
            [found[signal][method]["tasks"]["a"]["auprc_genome"] for found in (own, like)]
            for method in METHODS
        )
        assert alone[0] == pytest.approx(alone[1])
        assert paired[1] > max(alone[1], 0.9 * paired[0])


def test_an_organism_that_the_datasets_lack_is_told(case, tmp_path, seqmtl):
    """The model has b, the datasets have only a."""
    data = [tmp_path / f"{signal}s" for signal in SIGNALS]
    for signal, folder in zip(SIGNALS, data, strict=True):
        run(f"dataset {case}/sim/a.toml --signal {signal} -o {folder}")
    command = f"evaluate {case}/splice {data[0]} {data[1]} --split all --bootstrap 0 --organism"
    told = seqmtl(f"{command} b", 2).err
    assert "--organism: task 'b' is not in both datasets; it has 'a'" in told
    assert seqmtl(f"{command} a").out.count("\ta\t") == 4


def test_the_layer_holds_at_the_density_of_all_regions_known(case, monkeypatch):
    layer = load(case / "splice").layer_of("b")
    known, calls = fit._count_sites, []

    def doubled(held):  # as if the training regions had twice as many sites
        calls.append(held)
        n_true, n_bases = known(held)
        return (n_true * (1 + (len(calls) <= 2)), n_bases)  # training regions of both come first

    monkeypatch.setattr(fit, "_count_sites", doubled)
    other = fit.fit_layer(*_inputs(case))["b"]
    change = other.shift - layer.shift
    assert 0.0 < change < np.log(2)
    assert other.coding_shift - layer.coding_shift == pytest.approx(change)
    assert other.scale == pytest.approx(layer.scale)


def test_a_masked_region_is_seen_but_not_counted(case, tmp_path, seqmtl):
    """Labels in it are neither true nor false, and all posteriors are as without the mask."""
    (tmp_path / "a.bed").write_text("chr1\t5000\t15000\n")
    text = (case / "sim/dataset.toml").read_text().replace('"genomes/', f'"{case}/sim/genomes/')
    text = text.replace('"annotation/', f'"{case}/sim/annotation/')
    masked = text.replace("\nannotation", f'\nmask = "{tmp_path}/a.bed"\nannotation', 1)
    (tmp_path / "a.toml").write_text(masked)
    for signal in SIGNALS:
        data = tmp_path / f"{signal}s"
        run(f"dataset {tmp_path}/a.toml --signal {signal} -o {data}")
    model, pieces = load(case / "splice"), []
    for folder in (case, tmp_path):
        paths = [folder / f"{signal}s" for signal in SIGNALS]
        held = read_both(*paths, "a", "test")
        layer = model.layer_of("a")._replace(edges=())
        finders = end_finders((model.donor, model.acceptor), "a", layer, paths=paths)
        (bounds,) = cut_regions(held[0], 10_000, 1_000_000)
        pieces.append(find_piece(finders, held, bounds, layer, {}))
    first, second = pieces
    assert_array_equal(first["log_odds"], second["log_odds"])
    starts = first.starts - held[0].regions[0, 0]
    masked = (starts >= 5000) & (starts < 15000)
    assert_array_equal(second["labels"], np.where(masked, 0, first["labels"]))
    assert (first["labels"][masked] > 0).sum() > 3
    is_donor = second["signals"] == 0
    for model, data, n, n_masked in (
        ("donor", ["donors"], is_donor & (second["labels"] != 0), masked & is_donor),
        ("splice", ["donors", "acceptors"], second["labels"] != 0, masked),
    ):
        folders = " ".join(str(tmp_path / own) for own in data)
        options = f"--organism a --bootstrap 0 --json {tmp_path}/x.json"
        err = seqmtl(f"evaluate {case / model} {folders} {options}").err
        assert f"{n_masked.sum()} candidates ignored: in masked regions" in err
        found = json.loads((tmp_path / "x.json").read_text())
        parts = (
            [found] if model == "donor" else [own["paired"] for own in found["signals"].values()]
        )
        assert sum(own["tasks"]["a"]["n"] for own in parts) == n.sum()


def _with_another(model, name):
    """Return a model with another organism, which has the weights of the last one."""
    rows = [*range(len(model.tasks)), len(model.tasks) - 1]
    counts = model.training["tasks"] | {name: model.training["tasks"][model.tasks[-1]]}
    T = len(rows)
    return replace(
        model,
        tasks=(*model.tasks, name),
        kernel=TaskKernel((*model.tasks, name), 0.5 * np.ones((T, T)) + 0.5 * np.eye(T)),
        W=TaskWeights.of(np.asarray(model.W)[:, rows], model.W.columns),
        bias=model.bias[rows],
        calibration=model.calibration[rows],
        training=model.training | {"tasks": counts},
    )


def _pieces(rng, codons, n):
    """Pieces of coding sequence whose first base is at position 1 of a codon, and random ones."""
    exons = [encode("".join(rng.choice(codons, 41)))[1:-1] for _ in range(n)]
    introns = [rng.integers(0, 4, 200).astype(np.uint8) for _ in range(n)]
    return Transcribed([(piece, 1) for piece in exons], [(piece, 1) for piece in introns])


def test_an_organism_without_regions_has_its_lengths_and_further_exons_teach_content(case):
    donor, acceptor, *paths = _inputs(case)
    donor, acceptor = _with_another(donor, "z"), _with_another(acceptor, "z")
    # with TAA, TAG and TGA in the other frames
    rng, codons = np.random.default_rng(0), "GCC AAG GTG CTC GAC AAT GAT CTA ATA".split()
    sample, lengths = _pieces(rng, codons, 500), {"z": np.repeat([400, 3_000], [80, 20])}
    with pytest.raises(SeqmtlError, match="but lack z"):
        fit_layer(donor, acceptor, *paths)
    without = fit_layer(donor, acceptor, *paths, lengths=lengths)
    z, b = without["z"], without["b"]
    assert list(without) == ["a", "b", "z"]
    assert (z.n_introns, z.n_sites, z.n_coding) == (100, 0, 0)
    near = slice(349, 450)
    assert z.density(1_000)[near].sum() > 0.4 > b.density(1_000)[near].sum()
    assert 1 - z.density(1_001)[:1_000].sum() > 0.1 > 1 - b.density(1_001)[:1_000].sum()
    assert z.coding.any()  # that of relatives
    assert 0 < z.scale < 5
    assert PairedModel(donor, acceptor, without).tasks == ("a", "b", "z")
    layer = fit_layer(donor, acceptor, *paths, lengths=lengths, samples={"z": sample})
    n_words = sum(piece.size - 4 for piece, _ in sample.exons)
    assert layer["z"].n_coding == pytest.approx(n_words, rel=0.01)
    for name in "ab":
        assert layer[name].n_introns == without[name].n_introns
    # content per base of exons that were not among them, in their frame and in the next one
    held, means = [piece for piece, _ in _pieces(rng, codons, 50).exons], []
    for fitted, frame in ((layer, 1), (layer, 2), (without, 1)):
        sums = [
            fitted["z"].coding[1, (at + frame) % 3, int(piece[at - 4 : at + 1] @ PLACES)]
            for piece in held
            for at in range(4, piece.size)
        ]
        means.append(np.mean(sums))
    assert means[0] > 0.5 > 0 > means[1]
    assert means[0] > means[2] + 0.2


def test_curves_of_pairs_have_a_name_for_each_way_of_scoring():
    tasks = np.array(["ant", "bee"])
    results = [
        CandidateScores(
            np.array([1, -1], "i1"), scores, tasks, counts, signal=signal, method=method
        )
        for scores, counts, signal, method in (
            (np.array([0, 0.5]), np.array([1, 1]), "donor", "alone"),
            (np.array([1, 0.5]), np.array([1, 2]), "acceptor", "paired"),
        )
    ]
    labels, scores, names, counts, *_ = (part.tolist() for part in _joined(results)[:4])
    assert labels == [1, -1, 1, -1]
    assert scores == [0, 0.5, 1, 0.5]
    ways = ("donor alone", "acceptor paired")
    assert names == [f"{name}, {way}" for way in ways for name in ("ant", "bee")]
    assert counts == [1, 1, 1, 2]
