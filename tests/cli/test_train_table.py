"""Models of kernels on the command line: tables of numbers and sequences, and windows."""

from __future__ import annotations

import json

import numpy as np
import pytest

import seqmtl
from seqmtl.cli.main import main
from seqmtl.kernels import RBF, Linear, Polynomial, Standardized, make_kernel
from seqmtl.tables.grid import grid_scores
from seqmtl.tables.kernel_model import KernelModel

SPECS = ("linear", "rbf:0.5")
KERNELS = [Standardized(Linear()), Standardized(RBF(0.5))]

# --method and its options, and the estimator of the same settings
METHODS = {
    "kernel-svc": (["--kernel", "rbf:0.5", "--similarity", "easy"],
                   seqmtl.MultiTaskKernelSVC(KERNELS[1], task_kernel="easy", C=2.0)),
    "kernel-mkl": ([], seqmtl.KernelMKLClassifier(KERNELS, C=2.0)),
    "pareto": (["--p", "2", "--norm", "1.5"],
               seqmtl.ParetoMKLClassifier(KERNELS, p=2.0, norm=1.5, C=2.0)),
    "individual-mkl": ([], seqmtl.IndividualMKLClassifier(KERNELS, C=2.0)),
    "partial-mkl": (["--share", "0.25"],
                    seqmtl.PartiallySharedMKLClassifier(KERNELS, share=0.25, C=2.0)),
    "sparse-mkl": (["--p", "0.5", "--q", "1.5"],
                   seqmtl.SparseMKLClassifier(KERNELS, p=0.5, q=1.5, C=2.0)),
}  # fmt: skip


class Data:
    """Two tasks of numbers: rows to train on and to test."""

    def __init__(self):
        rng = np.random.default_rng(1)
        n = 120
        self.X = np.c_[rng.normal(size=(n, 2)) * [1.0, 100.0], np.full(n, 0.1)]
        self.task = np.where(np.arange(n) % 3 == 0, "liver", "brain")
        score = self.X[:, 0] + self.X[:, 1] / 100 * np.where(self.task == "liver", 1.0, 0.5)
        self.label = np.where(score + rng.normal(size=n) / 3 > 0, "well", "ill")
        self.split = np.where(np.arange(n) % 4 == 0, "test", "train")
        self.names = np.array([f"row{i}" for i in range(n)])

    def fitted(self, estimator, balanced=False):
        rows = self.split == "train"
        y = self.label[rows]
        weight = np.where(y == "well", (y == "ill").mean(), (y == "well").mean())
        weight *= len(y) / (2 * (y == "ill").sum() * (y == "well").mean())
        return estimator.fit(self.X[rows], y, self.task[rows], weight if balanced else None)

    def text(self, columns=("name", "task", "label", "a", "b", "c", "split"), **changes):
        table = {
            "name": self.names, "task": self.task, "label": self.label, "split": self.split,
            **dict(zip("abc", self.X.T.tolist(), strict=True)), **changes,
        }  # fmt: skip
        rows = zip(*(map(str, table[column]) for column in columns), strict=True)
        return "\n".join([",".join(columns), *map(",".join, rows)]) + "\n"


DATA = Data()


def _write_numbers(path, X, y, split=()):
    header = ["label", "a", "b", *["split"] * bool(len(split))]
    rows = zip(y, *X.T.tolist(), *[split] * bool(len(split)), strict=True)
    path.write_text("\n".join(",".join(map(str, row)) for row in [header, *rows]) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


@pytest.fixture(scope="module")
def table(folder):
    path = folder / "table.csv"
    path.write_text(DATA.text())
    return path


@pytest.fixture(scope="module")
def model(table, folder):
    """Return a model of two tasks."""
    path = folder / "model"
    assert _train(table, path, "pareto", "--kernel", "rbf") == 0
    return path


def _train(table, path, method, *options):
    return main(["train-table", str(table), "--method", method, "-o", str(path), "-q", *options])


def _kernels(method):
    return [] if method == "kernel-svc" else [o for spec in SPECS for o in ("--kernel", spec)]


def _predict(model, table, *options, columns="name task score class probability"):
    out = model.parent / "scores.tsv"
    assert main(["predict", str(model), str(table), "-o", str(out), "-q", *options]) == 0
    header, *rows = (line.split("\t") for line in out.read_text().splitlines())
    assert header == columns.split()
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))


def _floats(texts):
    return np.array(texts, dtype=float)


@pytest.mark.parametrize("method", METHODS)
def test_the_commands_agree_with_the_estimator(method, table, tmp_path, capsys):
    options, estimator = METHODS[method]
    path, summary = tmp_path / "m", tmp_path / "m.json"
    more = ["-C", "2", "--tol", "1e-5", "--json", str(summary)]
    assert _train(table, path, method, *_kernels(method), *options, *more) == 0
    expected = DATA.fitted(estimator.set_params(tol=1e-5))
    rows = DATA.split == "test"
    scores = expected.decision_function(DATA.X[rows], DATA.task[rows])
    found = _predict(path, table)
    np.testing.assert_allclose(_floats(found["score"]), scores, rtol=1e-5, atol=1e-5)
    assert found["class"] == expected.predict(DATA.X[rows], DATA.task[rows]).tolist()
    probability = expected.predict_proba(DATA.X[rows], DATA.task[rows])[:, 1]
    np.testing.assert_allclose(_floats(found["probability"]), probability, atol=1e-5)
    assert found["name"] == DATA.names[rows].tolist()
    assert found["task"] == DATA.task[rows].tolist()

    training = json.loads(summary.read_text())
    assert training["method"] == method
    assert training["C"] == 2.0
    assert training["converged"] is True
    assert training["n"] == (~rows).sum()
    liver = DATA.label[~rows & (DATA.task == "liver")]
    assert training["tasks"]["liver"] == {"n": len(liver), "n_positive": (liver == "well").sum()}

    capsys.readouterr()
    assert main(["evaluate", str(path), str(table), "--bootstrap", "0", "-q"]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert lines[0][0] == "task"
    assert lines[0][-1] == "accuracy"
    accuracy = {line[0]: float(line[-1]) for line in lines[1:]}
    right = np.array(found["class"]) == DATA.label[rows]
    for task in ("liver", "brain"):
        assert accuracy[task] == pytest.approx(right[DATA.task[rows] == task].mean(), abs=1e-4)
    assert accuracy["mean"] == pytest.approx((accuracy["liver"] + accuracy["brain"]) / 2, abs=1e-4)

    assert main(["info", str(path)]) == 0
    text = capsys.readouterr().out
    assert f"{method}\n" in text
    for name in ("p", "q", "norm", "share"):
        assert (f"{name}={getattr(expected, name, '')}" in text) == hasattr(expected, name)
    assert "3 numbers, standardized: a, b, c" in text
    assert ("learnt weights" in text) == (method != "kernel-svc")
    assert ("trade-off weight" in text) == (method == "pareto")


@pytest.mark.parametrize("options", [[], ["--share", "0.25", "--norm", "2", "-C", "30"]])
def test_minimax_is_linear(options, table, tmp_path, capsys):
    from sklearn.preprocessing import StandardScaler

    path, rows = tmp_path / "m", DATA.split == "train"
    assert _train(table, path, "minimax", "--tol", "1e-4", *options) == 0
    mean = {"regularizer": "mean", "share": 0.25, "norm": 2.0, "C": 30.0}
    estimator = seqmtl.MinimaxClassifier(tol=1e-4, **(mean if options else {}))
    scaler = StandardScaler().fit(DATA.X[rows][:, :2])
    scaled = np.c_[scaler.transform(DATA.X[:, :2]), np.zeros(len(DATA.X))]
    estimator.fit(scaled[rows], DATA.label[rows], DATA.task[rows])
    found = _predict(path, table)
    expected = estimator.decision_function(scaled[~rows], DATA.task[~rows])
    np.testing.assert_allclose(_floats(found["score"]), expected, atol=1e-4)
    assert main(["info", str(path)]) == 0
    text = capsys.readouterr().out
    assert "loss  trade-off weight" in text
    training = KernelModel.load(path).training
    np.testing.assert_allclose(training["losses"], estimator.losses_, atol=1e-6)
    assert _train(table, path, "minimax", "--no-standardize", "--max-epochs", "100000") == 0


def test_info_draws_the_weights(model, folder, table, capsys):
    assert main(["info", str(model)]) == 0
    text = capsys.readouterr().out
    assert "classes        ill, well" in text
    assert "rbf:0.5" in text  # of three columns two vary
    assert "learnt weights, in all tasks\n  rbf:0.5  1.000" in text
    assert text.count("#") == 20
    path = folder / "own"
    assert _train(table, path, "individual-mkl", *_kernels("")) == 0
    assert main(["info", str(path)]) == 0
    text = capsys.readouterr().out
    theta = KernelModel.load(path).training["theta"]
    assert "  liver  " + " ".join(f"{value:.3f}" for value in theta[1]) in text
    assert main(["info", str(path), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["tasks"] == ["brain", "liver"]
    assert summary["classes"] == ["ill", "well"]
    assert summary["kernels"][0]["kind"] == "standardized"


def test_info_of_a_model_saved_from_python(tmp_path, capsys):
    estimator = seqmtl.MultiTaskKernelSVC(RBF(0.1)).fit(DATA.X, DATA.label)
    estimator.model_.save(tmp_path / "m")
    assert main(["info", str(tmp_path / "m")]) == 0
    text = capsys.readouterr().out
    assert "examples       3 numbers\n" in text
    table = tmp_path / "t.csv"
    table.write_text(DATA.text(["a", "b", "c"]))
    found = _predict(tmp_path / "m", table)
    assert found["class"] == estimator.predict(DATA.X).tolist()


def test_all_formats_give_the_same_model(table, model, tmp_path):
    (tmp_path / "t.tsv").write_text(DATA.text().replace(",", "\t"))
    path = tmp_path / "tsv.model"
    assert _train(tmp_path / "t.tsv", path, "pareto", "--kernel", "rbf") == 0
    assert _predict(path, table) == _predict(model, table)


def test_columns_are_matched_by_name(table, model, tmp_path, capsys):
    expected = _predict(model, table)
    notes = ["fine"] * len(DATA.X)
    other = tmp_path / "other.csv"
    other.write_text(DATA.text(["c", "split", "note", "b", "task", "a", "name"], note=notes))
    assert _predict(model, other) == expected
    assert main(["predict", str(model), str(other)]) == 0
    assert "columns left out: 'note'" in capsys.readouterr().err
    other.write_text(DATA.text(["c", "task", "a"]))
    assert main(["predict", str(model), str(other)]) == 1
    assert "the header must name the column 'b'" in capsys.readouterr().err


def test_a_table_without_tasks_needs_one(model, tmp_path, capsys):
    bare = tmp_path / "bare.csv"
    bare.write_text(DATA.text(["a", "b", "c"]))
    assert main(["predict", str(model), str(bare)]) == 1
    assert "name one of brain, liver with --task" in capsys.readouterr().err
    found = _predict(model, bare, "--task", "liver")
    assert set(found["task"]) == {"liver"}
    every = _predict(model, bare, "--organism", "brain")
    assert found["score"] != every["score"]
    assert main(["predict", str(model), str(bare), "--task", "skin"]) == 1
    assert "'skin'" in capsys.readouterr().err


def test_named_columns_are_remembered(tmp_path):
    path, table = tmp_path / "m", tmp_path / "t.csv"
    table.write_text(DATA.text().replace("name,task,label", "name,tissue,state"))
    columns = ["--label-column", "state", "--task-column", "tissue"]
    assert _train(table, path, "kernel-svc", *columns) == 0
    assert KernelModel.load(path).tasks == ("brain", "liver")
    assert set(_predict(path, table)["task"]) == {"brain", "liver"}
    assert set(_predict(path, table, "--task", "liver")["task"]) == {"liver"}
    table.write_text(DATA.text(["a", "b", "c"]))
    assert set(_predict(path, table, "--task", "liver")["task"]) == {"liver"}


def test_one_task_needs_no_column(tmp_path):
    path, table = tmp_path / "m", tmp_path / "t.csv"
    table.write_text(DATA.text(["label", "a", "b"]))
    assert _train(table, path, "kernel-mkl") == 0
    kernels = [Standardized(make_kernel(name)) for name in ("linear", "poly", "rbf")]
    expected = seqmtl.KernelMKLClassifier(kernels).fit(DATA.X[:, :2], DATA.label)
    found = _predict(path, table)
    np.testing.assert_allclose(
        _floats(found["score"]), expected.decision_function(DATA.X[:, :2]), atol=1e-5
    )
    table.write_text(DATA.text(["task", "a", "b"]))  # tasks that the model does not have
    assert _predict(path, table) == found
    assert _train(table, path, "kernel-svc") == 1


def test_scales_are_optional_and_kept(table, tmp_path):
    path, rows = tmp_path / "m", DATA.split == "train"
    plain = ["--kernel", "rbf:0.01", "--no-standardize"]
    assert _train(table, path, "kernel-svc", *plain) == 0
    expected = DATA.fitted(seqmtl.MultiTaskKernelSVC(RBF(0.01)))
    np.testing.assert_allclose(
        _floats(_predict(path, table)["score"]),
        expected.decision_function(DATA.X[~rows], DATA.task[~rows]), atol=1e-5,
    )  # fmt: skip
    assert _train(table, path, "kernel-svc", "--kernel", "poly:3") == 0
    (kernel,) = KernelModel.load(path).kernels
    assert kernel.kernel == Polynomial(3, kernel.kernel.gamma, 1.0)
    assert kernel.kernel.gamma == pytest.approx(0.5)
    np.testing.assert_allclose(kernel.center, DATA.X[rows].mean(axis=0))
    np.testing.assert_allclose(kernel.scale[:2], DATA.X[rows].std(axis=0)[:2])
    assert kernel.scale[2] == 1.0


def test_balanced_classes(table, tmp_path):
    path, rows = tmp_path / "m", DATA.split == "train"
    assert _train(table, path, "individual-mkl", "--balanced", "--tol", "1e-6") == 0
    kernels = [Standardized(make_kernel(name)) for name in ("linear", "poly", "rbf")]
    estimator = seqmtl.IndividualMKLClassifier(kernels, tol=1e-6)
    expected = DATA.fitted(estimator, balanced=True)
    np.testing.assert_allclose(
        _floats(_predict(path, table)["score"]),
        expected.decision_function(DATA.X[~rows], DATA.task[~rows]), atol=1e-5,
    )  # fmt: skip


def test_costs_and_trade_offs_are_chosen(table, tmp_path, capsys):
    path, rows = tmp_path / "m", DATA.split == "train"
    code = main(
        ["train-table", str(table), "--method", "pareto", "--tune", "0.01,1", "--p", "0.5,2",
         "--kernel", "rbf:0.5", "--kernel", "linear", "-o", str(path)]
    )  # fmt: skip
    assert code == 0
    assert "AUROC 0." in capsys.readouterr().err
    estimator = seqmtl.ParetoMKLClassifier(KERNELS[::-1], tol=1e-3)
    points = grid_scores(
        estimator, {"C": [0.01, 1.0], "p": [0.5, 2.0]}, DATA.X[rows], DATA.label[rows],
        DATA.task[rows],
    )  # fmt: skip
    best = max(points, key=lambda point: point.score).settings
    training = KernelModel.load(path).training
    assert training["C"] == best["C"]
    assert training["p"] == str(best["p"])
    found = [entry["score"] for entry in training["selection"]]
    assert found == pytest.approx([point.score for point in points])


def test_the_path_is_drawn(table, tmp_path):
    path, figure = tmp_path / "m", tmp_path / "front.svg"
    options = ["--p", "0.5,1,inf", "--plot", str(figure), "--tol", "1e-5", "--balanced"]
    assert _train(table, path, "pareto", *options, *_kernels("")) == 0
    assert "Kernel weights" in figure.read_text()
    training = KernelModel.load(path).training
    assert [entry["p"] for entry in training["selection"]] == [0.5, 1.0, "inf"]
    expected = DATA.fitted(
        seqmtl.ParetoMKLClassifier(KERNELS, p=float(training["p"]), tol=1e-5), balanced=True
    )
    assert training["objective"] == pytest.approx(expected.objective_, rel=1e-4)


def test_similarities_of_the_tasks(table, tmp_path, capsys):
    from seqmtl import TaskKernel

    path, rows = tmp_path / "m", DATA.split == "train"
    tree = tmp_path / "t.nwk"
    tree.write_text("((liver:0.2,brain:0.2):0.8,skin:1);")
    assert _train(table, path, "kernel-svc", "--tree", str(tree)) == 0
    kernel = TaskKernel.from_newick(tree.read_text())
    expected = DATA.fitted(
        seqmtl.MultiTaskKernelSVC(Standardized(make_kernel("rbf")), task_kernel=kernel)
    )
    np.testing.assert_allclose(
        _floats(_predict(path, table)["score"]),
        expected.decision_function(DATA.X[~rows], DATA.task[~rows]), atol=1e-5,
    )  # fmt: skip
    assert _train(table, path, "kernel-mkl", "--tree", str(tree), "--mkl", "smooth") == 0
    labels = {entry["label"] for entry in KernelModel.load(path).training["mkl"]}
    assert len(labels) == 3
    bare = tmp_path / "bare.csv"
    bare.write_text(DATA.text(["label", "a"]))
    assert _train(bare, path, "kernel-svc", "--tree", str(tree)) == 1
    assert "no task column" in capsys.readouterr().err


# ---- several classes


def test_several_classes(tmp_path, capsys):
    rng = np.random.default_rng(0)
    y = np.repeat([3, 5, 9], 20)
    X = np.c_[y == 5, y == 9] * 2.0 + rng.normal(size=(60, 2)) / 2
    table, path, metrics = tmp_path / "t.csv", tmp_path / "m", tmp_path / "metrics.json"
    _write_numbers(table, X, y)
    assert _train(table, path, "pareto", "--tune", "1,10", "--kernel", "rbf:0.5") == 0
    capsys.readouterr()
    C = KernelModel.load(path).training["C"]
    expected = seqmtl.ParetoMKLClassifier([KERNELS[1]], C=C, tol=1e-3).fit(X, y)
    found = _predict(path, table, columns="name votes_3 votes_5 votes_9 class")
    assert found["class"] == expected.predict(X).astype(str).tolist()
    votes = np.column_stack([_floats(found[f"votes_{c}"]) for c in (3, 5, 9)])
    np.testing.assert_allclose(votes, expected.decision_function(X), atol=1e-5)
    assert main(["evaluate", str(path), str(table), "--json", str(metrics), "-q"]) == 0
    right = expected.predict(X) == y
    text = capsys.readouterr().out
    assert text.splitlines()[0] == "class\tn\taccuracy"
    assert f"all\t60\t{right.mean():.4f}" in text
    assert f"5\t20\t{right[20:40].mean():.4f}" in text
    assert json.loads(metrics.read_text())["accuracy"] == right.mean()
    assert main(["evaluate", str(path), str(table), "--plot", str(tmp_path / "p.png")]) == 1
    assert "--plot needs a two-class model, got 3 classes" in capsys.readouterr().err
    assert main(["info", str(path)]) == 0
    assert "3 vs 5" in capsys.readouterr().out
    for method in ("kernel-svc", "kernel-mkl"):
        assert _train(table, tmp_path / "n", method) == 1
        assert "must have two classes with" in capsys.readouterr().err
    _write_numbers(table, X, y % 2)
    assert main(["evaluate", str(path), str(table)]) == 1
    assert "classes of the model, 3, 5, 9, got 1" in capsys.readouterr().err
    _write_numbers(table, X[:40], y[:40])
    assert main(["evaluate", str(path), str(table), "-q"]) == 0
    assert "9\t0\tNA" in capsys.readouterr().out


# ---- sequences


def _peptides(n=60):
    rng = np.random.default_rng(5)
    letters = np.array(list("ACDEFGHIKLMNPQRSTVWY"))
    texts = ["".join(rng.choice(letters, rng.integers(8, 12))) for _ in range(n)]
    labels = np.arange(n) % 2
    texts = [f"{t[:3]}WW{t[5:]}" if label else t for t, label in zip(texts, labels, strict=True)]
    return np.array(texts), labels, np.array(["A1", "B7", "B7"])[np.arange(n) % 3]


def test_sequences_of_a_column(tmp_path, capsys):
    texts, labels, alleles = _peptides()
    table, path = tmp_path / "t.csv", tmp_path / "m"
    rows = zip(texts, alleles, map(str, labels), strict=True)
    table.write_text("\n".join(["peptide,allele,label", *map(",".join, rows)]) + "\n")
    specs = ["spectrum:2:protein", "gapped:4:2:protein"]
    code = main(
        ["train-table", str(table), "--method", "partial-mkl", "--sequence", "peptide",
         "--task-column", "allele", "--kernel", specs[0], "--kernel", specs[1], "-o",
         str(path), "-q"]
    )  # fmt: skip
    assert code == 0
    expected = seqmtl.PartiallySharedMKLClassifier(specs, tol=1e-3).fit(texts, labels, alleles)
    found = _predict(path, table)
    np.testing.assert_allclose(
        _floats(found["score"]), expected.decision_function(texts, alleles), atol=1e-5
    )
    assert found["class"] == expected.predict(texts, alleles).astype(str).tolist()
    assert main(["info", str(path)]) == 0
    assert "sequences of the column peptide" in capsys.readouterr().out
    assert _train(table, path, "pareto", "--sequence", "peptide", "--task-column", "allele",
                  "--kernel", "rbf") == 1  # fmt: skip
    assert "--kernel must compare sequences here, got rbf:scale" in capsys.readouterr().err


def _windows(n=48):
    rng = np.random.default_rng(2)
    rows = []
    for i in range(n):
        text = "".join(rng.choice(list("ACGT"), 21))
        label = 1 if i % 3 == 0 else -1
        text = f"{text[:9]}{'AAG' if label > 0 else 'CTC'}{text[12:]}"
        rows.append(("worm" if i % 2 else "fly", str(label), text, "test" if i > 36 else "train"))
    return rows


def test_windows_of_dna(tmp_path, capsys):
    from seqmtl.io import read_windows

    table, path, fasta = tmp_path / "w.tsv", tmp_path / "m", tmp_path / "w.fa"
    header = ("organism", "label", "sequence", "split")
    table.write_text("\n".join("\t".join(row) for row in [header, *_windows()]) + "\n")
    options = ["--kernel", "wd:4", "--window", "11", "--shift", "1"]
    assert _train(table, path, "kernel-svc", *options) == 0
    train, test = (read_windows(table, split=s).center(11, 1) for s in ("train", "test"))
    expected = seqmtl.MultiTaskKernelSVC(make_kernel("wd:4")).fit(train)
    found = _predict(path, table)
    np.testing.assert_allclose(_floats(found["score"]), expected.decision_function(test), atol=1e-5)
    assert found["task"] == test.tasks.tolist()
    assert main(["evaluate", str(path), str(table), "-q", "--bootstrap", "0"]) == 0
    assert main(["info", str(path)]) == 0
    assert "windows of 11 bases" in capsys.readouterr().out
    fasta.write_text("".join(f">w{i}\n{row[2]}\n" for i, row in enumerate(_windows())))
    assert main(["predict", str(path), str(fasta)]) == 1
    assert "do not name their organism" in capsys.readouterr().err
    every = _predict(path, fasta, "--organism", "fly")
    same = _predict(path, table, "--split", "all", "--organism", "fly")
    assert every["score"] == same["score"]
    assert _train(table, path, "kernel-svc") == 1
    assert "--kernel must compare sequences here, got rbf:scale" in capsys.readouterr().err
    assert _train(table, path, "kernel-svc", "--kernel", "wd:4", "--standardize") == 1
    assert "--standardize applies to numbers" in capsys.readouterr().err
    assert _train(table, path, "minimax") == 1
    assert "minimax learns from numbers" in capsys.readouterr().err
    # asked for as a column, the same sequences are strings
    options = ["--sequence", "sequence", "--task-column", "organism", "--kernel", "spectrum:3"]
    assert _train(table, path, "pareto", *options) == 0
    assert KernelModel.load(path).examples.ndim == 1


# ---- novelties


def test_novelties_of_a_table(tmp_path, capsys):
    rng = np.random.default_rng(0)
    usual, odd = rng.normal([4.0, 1.0], 0.4, (60, 2)), rng.normal([0.5, 3.0], 0.3, (20, 2))
    X = np.abs(np.r_[usual, odd])
    task = np.where(np.arange(80) % 2, "a", "b")
    label = np.repeat(["usual", "odd"], [60, 20])
    known, new = tmp_path / "known.csv", tmp_path / "new.csv"
    rows = [f"{t},{x:.6f},{z:.6f}" for t, (x, z) in zip(task, X, strict=True)]
    X = np.array([row.split(",")[1:] for row in rows], dtype=float)
    known.write_text("\n".join(["task,x,z", *rows[:60]]) + "\n")
    labelled = [f"{row},{name}" for row, name in zip(rows, label, strict=True)]
    new.write_text("\n".join(["task,x,z,label", *labelled]) + "\n")
    options = ["--contamination", "0.05", "-C", "0.5"]
    assert _train(known, tmp_path / "m", "one-class", *options) == 0
    expected = seqmtl.MultiTaskOneClassSVM(C=0.5, contamination=0.05)
    expected.fit(X[:60], tasks=task[:60])
    found = _predict(tmp_path / "m", new, columns="name task score class")
    scores = expected.decision_function(X, task)
    np.testing.assert_allclose(_floats(found["score"]), scores, rtol=1e-4, atol=1e-5)
    sure = np.abs(scores) > 1e-4
    assert (_floats(found["class"]) == expected.predict(X, task))[sure].all()
    # of two classes the second is learnt, here the same rows
    assert _train(new, tmp_path / "n", "one-class", *options) == 0
    again = _predict(tmp_path / "n", new, columns="name task score class")
    assert again["score"] == found["score"]
    assert set(again["class"]) == {"odd", "usual"}
    capsys.readouterr()
    assert main(["evaluate", str(tmp_path / "n"), str(new), "--bootstrap", "0", "-q"]) == 0
    assert float(capsys.readouterr().out.splitlines()[-1].split("\t")[3]) > 0.95  # mean AUROC
    assert main(["info", str(tmp_path / "m")]) == 0
    assert "one-class" in capsys.readouterr().out
    assert main(["calibrate", str(tmp_path / "n"), str(new), "-o", str(tmp_path / "c")]) == 1
    assert "only two-class models have probabilities" in capsys.readouterr().err
    new.write_text(new.read_text().replace("0,odd", "0,strange").replace("1,odd", "1,strange"))
    assert _train(new, tmp_path / "o", "one-class") == 1
    assert "labels must have one or two classes, got 3" in capsys.readouterr().err


def test_novelties_of_windows(tmp_path, capsys):
    from seqmtl import PositionalKmers
    from seqmtl.io import read_windows

    table, path = tmp_path / "w.tsv", tmp_path / "m"
    header = ("organism", "label", "sequence", "split")
    table.write_text("\n".join("\t".join(row) for row in [header, *_windows()]) + "\n")
    assert _train(table, path, "one-class", "--features", "wd:4", "--similarity", "union") == 0
    train, test = (read_windows(table, split=s) for s in ("train", "test"))
    expected = seqmtl.MultiTaskOneClassSVM(PositionalKmers("wd:4"), "union", tol=1e-3)
    expected.fit(train[train.labels > 0])
    found = _predict(path, table, columns="name organism score class")
    np.testing.assert_allclose(_floats(found["score"]), expected.decision_function(test), atol=1e-5)
    assert found["class"] == expected.predict(test).astype(str).tolist()
    assert main(["info", str(path)]) == 0
    assert "features" in capsys.readouterr().out
    assert main(["evaluate", str(path), str(table), "--bootstrap", "0", "-q"]) == 0
    assert float(capsys.readouterr().out.splitlines()[-1].split("\t")[3]) > 0.9


# ---- what is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "minimax", "--kernel", "rbf"], "minimax does not take it"),
        (["--method", "svc"], "invalid choice: 'svc'"),
        (["--method", "pareto", "--share", "0.1"], "--share is an option of partial-mkl, minimax"),
        (["--method", "pareto", "--q", "2"], "--q is an option of sparse-mkl"),
        (["--method", "partial-mkl", "--norm", "2"], "--norm is an option of kernel-mkl, pareto"),
        (["--method", "kernel-svc", "--p", "2"], "--p is an option of pareto, sparse-mkl"),
        (["--method", "kernel-svc", "--mkl", "smooth"], "--mkl is an option of kernel-mkl"),
        (["--method", "kernel-svc", "--max-epochs", "5"], "--max-epochs is an option of kernel"),
        (["--method", "pareto", "--tree", "metazoa"], "--tree is an option of kernel-svc"),
        (["--method", "pareto", "--features", "wd:5"], "--features is an option of one-class"),
        (["--method", "pareto", "--resume"], "unrecognized arguments: --resume"),
        (["--method", "one-class", "--tune", "1,2"], "--tune is an option of kernel-svc"),
        (["--method", "one-class", "--standardize"], "one-class separates raw numbers"),
        (["--method", "pareto", "--contamination", "0.2"], "is an option of one-class"),
        ([], "the following arguments are required: --method"),
        (["--method", "kernel-svc", "--kernel", "rbf", "--kernel", "rbf:1"], "takes one --kernel"),
        (["--method", "pareto", "--kernel", "rbf:x"], "kernel must be rbf:GAMMA with numbers"),
        (["--method", "pareto", "--kernel", "cubic"], "kernel must be one of linear, poly"),
        (["--method", "pareto", "--p", "0"], "--p: must be a finite number above 0, got 0"),
        (["--method", "pareto", "--plot", "x.png"], "--plot draws the path over several values"),
        (["--method", "pareto", "--sequence", "s"], "--sequence needs a string --kernel"),
        (["--method", "pareto", "--sequence", "s", "--kernel", "wd:2", "--standardize"],
         "--standardize applies to numbers"),
        (["--method", "kernel-svc", "--similarity", "tree"], "tree must have one source"),
    ],
)  # fmt: skip
def test_wrong_usage(options, message, tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["train-table", str(tmp_path / "absent.csv"), "-o", str(tmp_path / "m"), *options])
    assert message in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "method"),
    [
        (["--method", "pareto"], "pareto"),
        (["--kernel", "rbf", "--method", "pareto"], "METHOD"),
        (["--p=1"], "METHOD"),
        (["--label-column", "y"], "METHOD"),
        (["--plot", "x.png"], "METHOD"),
        (["--no-standardize"], "METHOD"),
    ],
)
def test_train_names_the_command_of_tables(options, method, tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["train", str(tmp_path / "absent.csv"), "-o", str(tmp_path / "m"), *options])
    flag = options[0].partition("=")[0]
    message = f"{flag} is for tables: use seqmtl train-table DATA --method {method}\n"
    assert capsys.readouterr().err.endswith(message)


def test_the_help_of_train_fits_one_screen(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit, match="0"):
        main(["train", "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 100
    with pytest.raises(SystemExit, match="0"):
        main(["train", "--features", "help", "-o", "m"])
    assert "the K1-mers to K2-mers in bins of W positions" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        main(["train", "--features", "wd", "-o", "m"])
    assert "the K1-mers to K2-mers in bins of W positions" in capsys.readouterr().err


def test_figures_on_the_training_rows_are_too_good(tmp_path, capsys, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 0] > 0, 1, -1)
    _write_numbers(tmp_path / "all.csv", X, y)
    _write_numbers(tmp_path / "other.csv", X, y)
    _write_numbers(tmp_path / "split.csv", X, y, np.repeat(["train", "test"], 20))
    evaluations = [("all", "all", 1), ("all", "other", 0), ("split", "split", 0)]
    for trained_on, evaluated_on, n_warnings in evaluations:
        assert _train(tmp_path / f"{trained_on}.csv", tmp_path / "m", "kernel-svc") == 0
        capsys.readouterr()
        monkeypatch.chdir(tmp_path)  # another spelling of the same path
        assert main(["evaluate", "m", f"{evaluated_on}.csv", "--bootstrap", "0", "-q"]) == 0
        message = capsys.readouterr().err
        assert message.count("so these figures are too good; give examples held") == n_warnings


def test_the_usage_of_train_table_is_one_line(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["train-table", "x.csv", "-o", "m"])
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "usage: seqmtl train-table DATA --method METHOD -o MODEL [options]"
    assert lines[1].endswith("error: the following arguments are required: --method")


def test_a_table_of_examples_needs_a_method(table, tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["train", str(table), "-o", str(tmp_path / "m")])
    message = f"train on it with seqmtl train-table {table} --method {{kernel-svc,kernel-"
    assert message in " ".join(capsys.readouterr().err.split())
    windows = tmp_path / "windows.csv"
    windows.write_text("organism\tlabel\tsequence\nworm\t1\tACGT\nworm\t-1\tTTGT\n")
    assert main(["train", str(windows), "-o", str(tmp_path / "m"), "--features", "wd:2", "-q"]) == 0


def test_figures_are_refused_before_the_work(model, table, tmp_path, capsys):
    path = ["--p", "1,2", "--plot", str(tmp_path / "x.gif")]
    with pytest.raises(SystemExit, match="2"):
        _train(table, tmp_path / "m", "pareto", *path)
    with pytest.raises(SystemExit, match="2"):
        main(["evaluate", str(model), str(tmp_path / "absent.csv"), "--plot", "x.gif"])
    error = capsys.readouterr().err
    assert error.count("must end in .png, .svg or .pdf") == 2
    assert "training" not in error
    assert not list(tmp_path.iterdir())


def test_labels_that_are_no_classes(tmp_path, capsys):
    rows = [f"{'ab'[i % 2]},{i},{i / 3:.3f},{i % 3}" for i in range(12)]
    path = tmp_path / "x.csv"
    path.write_text("\n".join(["task,f,height,label", *rows]) + "\n")
    for method in ("pareto", "kernel-svc"):
        assert main(["train-table", str(path), "--method", method, "-o", str(tmp_path / "m")]) == 1
        message = "labels must have two classes if there are tasks, got 3; for more classes"
        assert message in capsys.readouterr().err
        options = ["--method", method, "--label-column", "height", "-o", str(tmp_path / "m")]
        assert main(["train-table", str(path), *options]) == 1
        assert (
            "labels must be names or integers below 2**53, got 0.333; name"
            in capsys.readouterr().err
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--kernel", "wd:4"], "--kernel must compare numbers here, got wd:4"),
        (["--window", "5"], "--window and --shift apply to DNA windows"),
        (["--split", "dev"], "split must be one of test, train, got 'dev'"),
        (["--label-column", "y"], "the header must name the column 'y'"),
        (["-C", "1", "--tune", "1,2", "--task", "liver", "--split", "none"], "split must be one"),
    ],
)  # fmt: skip
def test_bad_data(options, message, table, tmp_path, capsys):
    assert _train(table, tmp_path / "m", "pareto", *options) == 1
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_models_of_kernels_have_no_relatives_and_scan_nothing(model, table, tmp_path, capsys):
    assert main(["predict", str(model), str(table), "--from-relatives"]) == 1
    assert "scores from relatives need a model of weights" in capsys.readouterr().err
    assert main(["predict", str(model)]) == 1
    assert "trained on a table of examples" in capsys.readouterr().err
    out = str(tmp_path / "x.bed")
    assert main(["scan", str(model), str(table), "-o", out]) == 1
    assert "is a model of kernels, not of weights" in capsys.readouterr().err


def test_stopping_early_is_exit_code_3(table, tmp_path, capsys):
    path = tmp_path / "m"
    more = ["--max-epochs", "1", "--tol", "1e-9", "--kernel", "linear", "--kernel", "rbf:2"]
    assert _train(table, path, "pareto", *more) == 3
    assert "not converged to the tolerance 1e-09" in capsys.readouterr().err
    assert main(["info", str(path)]) == 0
    assert "(stopped before the tolerance)" in capsys.readouterr().out


def test_probabilities_are_calibrated_on_held_out_rows(model, table, tmp_path, capsys):
    out = tmp_path / "calibrated"
    arguments = ["calibrate", str(model), str(table), "--split", "test", "-o", str(out)]
    assert main([*arguments, "--method", "sigmoid", "--prevalence", "0.5", "-q"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split("\t")[0] for line in lines[1 : lines.index("")]} == {"brain", "liver"}
    assert list(KernelModel.load(out).curves) == ["brain", "liver"]
    assert main(["info", str(out)]) == 0
    assert "calibrated on held-out windows" in capsys.readouterr().out


def test_weights_of_numbers_take_tables(table, tmp_path, capsys):
    estimator = DATA.fitted(seqmtl.MultiTaskSVC(tol=1e-5))
    estimator.model_.save(tmp_path / "m")
    found = _predict(tmp_path / "m", table, columns="name task score probability")
    rows = DATA.split == "test"
    scores = estimator.decision_function(DATA.X[rows], DATA.task[rows])
    np.testing.assert_allclose(_floats(found["score"]), scores, rtol=1e-5)
    assert found["task"] == DATA.task[rows].tolist()
    numbers = tmp_path / "signs.csv"
    numbers.write_text(DATA.text(label=np.where(DATA.label == "well", 1, -1)))
    assert main(["evaluate", str(tmp_path / "m"), str(numbers), "--bootstrap", "0", "-q"]) == 0
    assert capsys.readouterr().out.startswith("task\tn\tpositive\tauroc")


def test_curves_are_drawn(model, table, tmp_path):
    figure = tmp_path / "curves.png"
    assert main(["evaluate", str(model), str(table), "--plot", str(figure), "-q"]) == 0
    assert figure.read_bytes().startswith(b"\x89PNG")
