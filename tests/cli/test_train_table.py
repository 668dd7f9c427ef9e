"""Models of kernels from tables of numbers and sequences, and from windows."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import r2_score
from sklearn.preprocessing import StandardScaler

from seqmtl import (
    IndividualMKLClassifier,
    KernelMKLClassifier,
    MinimaxClassifier,
    MultiTaskKernelSVC,
    MultiTaskOneClassSVM,
    MultiTaskSVC,
    MultiTaskSVR,
    ParetoMKLClassifier,
    PartiallySharedMKLClassifier,
    PositionalKmers,
    SparseMKLClassifier,
    TaskKernel,
    evaluate,
    predict,
    read_windows,
    train_table,
)
from seqmtl.exceptions import SeqmtlError, UsageError
from seqmtl.kernels import RBF, Linear, Polynomial, Standardized, make_kernel
from seqmtl.tables.grid import grid_scores
from seqmtl.tables.kernel_model import KernelModel

SPECS = ("linear", "rbf:0.5")
KERNELS = [Standardized(Linear()), Standardized(RBF(0.5))]
DEFAULT = [Standardized(make_kernel(name)) for name in ("linear", "poly", "rbf")]

# a method and its options, and the estimator of the same settings
METHODS = {
    "kernel-svc": (
        {"kernel": "rbf:0.5", "similarity": "easy"},
        MultiTaskKernelSVC(KERNELS[1], task_kernel="easy", C=2.0),
    ),
    "kernel-mkl": ({"kernel": SPECS}, KernelMKLClassifier(KERNELS, C=2.0)),
    "pareto": (
        {"kernel": SPECS, "p": 2, "norm": 1.5},
        ParetoMKLClassifier(KERNELS, p=2.0, norm=1.5, C=2.0),
    ),
    "individual-mkl": ({"balanced": True}, IndividualMKLClassifier(DEFAULT, C=2.0)),
    "partial-mkl": (
        {"kernel": SPECS, "share": 0.25},
        PartiallySharedMKLClassifier(KERNELS, share=0.25, C=2.0),
    ),
    "sparse-mkl": (
        {"kernel": SPECS, "p": 0.5, "q": 1.5},
        SparseMKLClassifier(KERNELS, p=0.5, q=1.5, C=2.0),
    ),
}


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
        self.train, self.test = self.split == "train", self.split == "test"

    def fitted(self, estimator, balanced=False):
        y = self.label[self.train]
        weight = np.where(y == "well", (y == "ill").mean(), (y == "well").mean())
        weight *= len(y) / (2 * (y == "ill").sum() * (y == "well").mean())
        X, task = self.X[self.train], self.task[self.train]
        return estimator.fit(X, y, task, weight if balanced else None)

    def scores(self, estimator):
        return estimator.decision_function(self.X[self.test], self.task[self.test])

    def write(self, path, columns="name task label a b c split", **changes):
        table = {
            "name": self.names,
            "task": self.task,
            "label": self.label,
            "split": self.split,
            **dict(zip("abc", self.X.T.tolist(), strict=True)),
            **changes,
        }
        return write(path, {column: table[column] for column in columns.split()})


def write(path, columns, between=","):
    """Write a table; return its path."""
    rows = zip(*(map(str, column) for column in columns.values()), strict=True)
    path.write_text("\n".join([between.join(columns), *map(between.join, rows)]) + "\n")
    return path


DATA = Data()


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return DATA.write(tmp_path_factory.mktemp("tables") / "table.csv")


@pytest.fixture(scope="module")
def model(table):
    """Return the file of a model of two tasks."""
    path = table.parent / "model"
    train_table(table, method="pareto", kernel="rbf", output=path)
    return path


@pytest.fixture
def train(tmp_path):
    """Return a function that trains a model, to the file m."""
    return lambda data, method, **options: train_table(
        data, method=method, output=tmp_path / "m", **options
    )


def test_one_of_several_similarities_is_chosen_with_the_cost(train, table, tmp_path, seqmtl):
    """Sheldon 2008, section 3: C and the a of eq. 5 are chosen by cross-validation."""
    graph = write(tmp_path / "graph.tsv", {"liver": ["liver"], "brain": ["brain"]}, "\t")
    numbers = (0.01, 1.0, 100.0)
    options = {"similarity": "graphical:0.01,1,100", "graph": graph, "kernel": "linear"}
    model = train(table, "kernel-svc", tune="0.1,1", **options)
    kernels = [TaskKernel.graphical([[0, 1], [1, 0]], a, ("liver", "brain")) for a in numbers]
    scores = [
        grid_scores(
            MultiTaskKernelSVC(KERNELS[0], task_kernel=kernel),
            {"C": [0.1, 1.0]},
            DATA.X[DATA.train],
            DATA.label[DATA.train],
            DATA.task[DATA.train],
        )
        for kernel in kernels
    ]
    found = {
        (point["C"], point["task_kernel"]): point["score"] for point in model.training["selection"]
    }
    for a, points in zip(numbers, scores, strict=True):
        for point in points:
            own = found[point.settings["C"], f"graphical, a={a:g}"]
            assert own == pytest.approx(point.score, abs=1e-9)
    best = max(found, key=found.get)
    assert model.training["task_kernel"] == best[1]
    assert best[1] in seqmtl(f"info {tmp_path / 'm'}").out


@pytest.mark.parametrize("method", METHODS)
def test_methods_are_their_estimators(method, table, train, tmp_path, seqmtl):
    options, estimator = METHODS[method]
    path, summary = tmp_path / "m", tmp_path / "m.json"
    train(table, method, C=2, tol=1e-5, json=summary, **options)
    expected = DATA.fitted(estimator.set_params(tol=1e-5), "balanced" in options)
    X, tasks, rows = DATA.X[DATA.test], DATA.task[DATA.test], DATA.test
    found = predict(path, table)
    assert_allclose(found["score"], DATA.scores(expected), rtol=1e-5, atol=1e-5)
    assert found["class"].tolist() == expected.predict(X, tasks).tolist()
    assert_allclose(found["probability"], expected.predict_proba(X, tasks)[:, 1], atol=1e-5)
    assert found["name"].tolist() == DATA.names[rows].tolist()
    assert found["task"].tolist() == tasks.tolist()
    training = json.loads(summary.read_text())
    assert (training["method"], training["C"], training["converged"]) == (method, 2.0, True)
    assert training["n"] == DATA.train.sum()
    liver = DATA.label[DATA.train & (DATA.task == "liver")]
    assert training["tasks"]["liver"] == {"n": len(liver), "n_positive": (liver == "well").sum()}
    metrics = evaluate(path, table, bootstrap=0)
    right = found["class"] == DATA.label[rows]
    each = [metrics["tasks"][task]["accuracy"] for task in ("liver", "brain")]
    assert each == [right[tasks == task].mean() for task in ("liver", "brain")]
    assert metrics["mean"]["accuracy"] == pytest.approx(np.mean(each))
    text = seqmtl(f"info {path}").out
    assert f"{method}\n" in text
    for name in ("p", "q", "norm", "share"):
        assert (f"{name}={getattr(expected, name, '')}" in text) == hasattr(expected, name)
    assert "3 numbers, standardized: a, b, c" in text
    assert ("learnt weights" in text) == (method != "kernel-svc")
    assert ("trade-off weight" in text) == (method == "pareto")


@pytest.mark.parametrize("options", [{}, {"share": 0.25, "norm": 2, "C": 30}])
def test_minimax_is_linear(options, table, train, tmp_path, seqmtl):
    training = train(table, "minimax", tol=1e-4, **options).training
    estimator = MinimaxClassifier(
        tol=1e-4, **options | ({"regularizer": "mean"} if options else {})
    )
    scaler = StandardScaler().fit(DATA.X[DATA.train][:, :2])
    scaled = np.c_[scaler.transform(DATA.X[:, :2]), np.zeros(len(DATA.X))]
    estimator.fit(scaled[DATA.train], DATA.label[DATA.train], DATA.task[DATA.train])
    expected = estimator.decision_function(scaled[DATA.test], DATA.task[DATA.test])
    assert_allclose(predict(tmp_path / "m", table)["score"], expected, atol=1e-4)
    assert_allclose(training["losses"], estimator.losses_, atol=1e-6)
    assert "loss  trade-off weight" in seqmtl(f"info {tmp_path / 'm'}").out
    train(table, "minimax", standardize=False, max_epochs=100_000)


def test_info_draws_the_weights(model, table, train, tmp_path, seqmtl):
    text = seqmtl(f"info {model}").out
    assert "classes        ill, well" in text
    assert "learnt weights, in all tasks\n  rbf:0.5  1.000" in text  # of three columns two vary
    assert text.count("#") == 20
    theta = train(table, "individual-mkl", kernel=SPECS).training["theta"]
    numbers = " ".join(f"{value:.3f}" for value in theta[1])
    assert f"  liver  {numbers}" in seqmtl(f"info {tmp_path / 'm'}").out
    summary = json.loads(seqmtl(f"info {tmp_path / 'm'} --json").out)
    assert (summary["tasks"], summary["classes"]) == (["brain", "liver"], ["ill", "well"])
    assert summary["kernels"][0]["kind"] == "standardized"
    estimator = MultiTaskKernelSVC(RBF(0.1)).fit(DATA.X, DATA.label)
    estimator.model_.save(tmp_path / "python")
    assert "examples       3 numbers\n" in seqmtl(f"info {tmp_path / 'python'}").out
    bare = DATA.write(tmp_path / "t.csv", "a b c")
    found = predict(tmp_path / "python", bare)
    assert found["class"].tolist() == estimator.predict(DATA.X).tolist()


def test_columns_are_matched_by_name(table, model, tmp_path, seqmtl):
    notes = ["fine"] * len(DATA.X)
    other = DATA.write(tmp_path / "t.csv", "c split note b task a name", note=notes)
    assert_allclose(predict(model, other)["score"], predict(model, table)["score"])
    assert "columns left out: 'note'" in seqmtl(f"predict {model} {other}").err
    DATA.write(other, "c task a")
    with pytest.raises(SeqmtlError, match="the header must name the column 'b'"):
        predict(model, other)


def test_a_table_without_tasks_needs_one(model, tmp_path):
    bare = DATA.write(tmp_path / "bare.csv", "a b c")
    with pytest.raises(SeqmtlError, match="name one of brain, liver with --task"):
        predict(model, bare)
    liver, brain = (predict(model, bare, organism=task) for task in ("liver", "brain"))
    assert set(liver["task"]) == {"liver"}
    assert (liver["score"] != brain["score"]).any()
    with pytest.raises(SeqmtlError, match="'skin'"):
        predict(model, bare, organism="skin")


def test_named_columns_are_remembered(train, tmp_path):
    path, table = tmp_path / "m", DATA.write(tmp_path / "t.csv")
    table.write_text(table.read_text().replace("name,task,label", "name,tissue,state"))
    found = train(table, "kernel-svc", label_column="state", task_column="tissue")
    assert found.tasks == ("brain", "liver")
    assert set(predict(path, table)["task"]) == {"brain", "liver"}
    for columns in ("name task label a b c split", "a b c"):
        DATA.write(table, columns)
        assert set(predict(path, table, organism="liver")["task"]) == {"liver"}


def test_one_task_needs_no_column(train, tmp_path):
    path, table = tmp_path / "m", DATA.write(tmp_path / "t.csv", "label a b")
    train(table, "kernel-mkl")
    expected = KernelMKLClassifier(DEFAULT).fit(DATA.X[:, :2], DATA.label)
    scores = expected.decision_function(DATA.X[:, :2])
    assert_allclose(predict(path, table)["score"], scores, atol=1e-5)
    DATA.write(table, "task a b")  # tasks that the model does not have
    assert_allclose(predict(path, table)["score"], scores, atol=1e-5)
    with pytest.raises(SeqmtlError, match="label"):
        train(table, "kernel-svc")


def test_scales_are_optional_and_kept(table, train, tmp_path):
    train(table, "kernel-svc", kernel="rbf:0.01", standardize=False)
    expected = DATA.fitted(MultiTaskKernelSVC(RBF(0.01)))
    assert_allclose(predict(tmp_path / "m", table)["score"], DATA.scores(expected), atol=1e-5)
    (kernel,) = train(table, "kernel-svc", kernel="poly:3").kernels
    assert kernel.kernel == Polynomial(3, kernel.kernel.gamma, 1.0)
    assert kernel.kernel.gamma == pytest.approx(0.5)
    assert_allclose(kernel.center, DATA.X[DATA.train].mean(axis=0))
    assert_allclose(kernel.scale[:2], DATA.X[DATA.train].std(axis=0)[:2])
    assert kernel.scale[2] == 1.0


def test_costs_and_trade_offs_are_chosen(table, tmp_path, seqmtl):
    kernels = "--kernel rbf:0.5 --kernel linear"
    command = f"train-table {table} --method pareto --tune 0.01,1 --p 0.5,2 {kernels}"
    assert "AUROC 0." in seqmtl(f"{command} -o {tmp_path / 'm'}").err
    points = grid_scores(
        ParetoMKLClassifier(KERNELS[::-1], tol=1e-3),
        {"C": [0.01, 1.0], "p": [0.5, 2.0]},
        DATA.X[DATA.train],
        DATA.label[DATA.train],
        DATA.task[DATA.train],
    )
    best = max(points, key=lambda point: point.score).settings
    training = KernelModel.load(tmp_path / "m").training
    assert (training["C"], training["p"]) == (best["C"], str(best["p"]))
    found = [entry["score"] for entry in training["selection"]]
    assert found == pytest.approx([point.score for point in points])


def test_the_path_is_drawn(table, train, tmp_path):
    figure = tmp_path / "front.svg"
    options = {"p": (0.5, 1, np.inf), "tol": 1e-5, "balanced": True, "kernel": SPECS}
    training = train(table, "pareto", plot=figure, **options).training
    assert "Kernel weights" in figure.read_text()
    assert [entry["p"] for entry in training["selection"]] == [0.5, 1.0, "inf"]
    best = ParetoMKLClassifier(KERNELS, p=float(training["p"]), tol=1e-5)
    expected = DATA.fitted(best, balanced=True).objective_
    assert training["objective"] == pytest.approx(expected, rel=1e-4)


def test_similarities_of_the_tasks(table, train, tmp_path):
    tree = "((liver:0.2,brain:0.2):0.8,skin:1);"
    train(table, "kernel-svc", tree=tree)
    expected = MultiTaskKernelSVC(DEFAULT[2], task_kernel=TaskKernel.from_newick(tree))
    expected = DATA.scores(DATA.fitted(expected))
    assert_allclose(predict(tmp_path / "m", table)["score"], expected, atol=1e-5)
    learnt = train(table, "kernel-mkl", tree=tree, mkl="smooth").training["mkl"]
    assert len({entry["label"] for entry in learnt}) == 3
    bare = DATA.write(tmp_path / "bare.csv", "label a")
    with pytest.raises(SeqmtlError, match="no task column"):
        train(bare, "kernel-svc", tree=tree)


def test_several_classes(train, tmp_path, seqmtl):
    rng = np.random.default_rng(0)
    y = np.repeat([3, 5, 9], 20)
    X = np.c_[y == 5, y == 9] * 2.0 + rng.normal(size=(60, 2)) / 2
    path, table = (
        tmp_path / "m",
        write(tmp_path / "t.csv", {"a": X[:, 0], "b": X[:, 1], "label": y}),
    )
    C = train(table, "pareto", tune="1,10", kernel="rbf:0.5").training["C"]
    expected = ParetoMKLClassifier([KERNELS[1]], C=C, tol=1e-3).fit(X, y)
    found = predict(path, table)
    assert list(found) == ["name", "votes_3", "votes_5", "votes_9", "class"]
    assert found["class"].tolist() == expected.predict(X).tolist()
    votes = np.column_stack([found[f"votes_{c}"] for c in (3, 5, 9)])
    assert_allclose(votes, expected.decision_function(X), atol=1e-5)
    right = expected.predict(X) == y
    text = seqmtl(f"evaluate {path} {table}").out
    assert text.splitlines()[0] == "class\tn\taccuracy"
    assert f"all\t60\t{right.mean():.4f}" in text
    assert f"5\t20\t{right[20:40].mean():.4f}" in text
    assert evaluate(path, table)["accuracy"] == right.mean()
    with pytest.raises(SeqmtlError, match="--plot needs a two-class model, got 3 classes"):
        evaluate(path, table, plot=tmp_path / "p.png")
    assert "3 vs 5" in seqmtl(f"info {path}").out
    for method in ("kernel-svc", "kernel-mkl"):
        with pytest.raises(SeqmtlError, match="must have two classes with"):
            train_table(table, method=method, output=tmp_path / "n")
    write(table, {"a": X[:40, 0], "b": X[:40, 1], "label": y[:40]})
    assert "9\t0\tNA" in seqmtl(f"evaluate {path} {table}").out
    write(table, {"a": X[:, 0], "b": X[:, 1], "label": y % 2})
    with pytest.raises(SeqmtlError, match="classes of the model, 3, 5, 9, got 1"):
        evaluate(path, table)


def test_sequences_of_a_column(train, tmp_path, seqmtl):
    rng = np.random.default_rng(5)
    letters, labels = np.array(list("ACDEFGHIKLMNPQRSTVWY")), np.arange(60) % 2
    texts = ["".join(rng.choice(letters, rng.integers(8, 12))) for _ in range(60)]
    texts = [f"{t[:3]}WW{t[5:]}" if label else t for t, label in zip(texts, labels, strict=True)]
    alleles = np.array(["A1", "B7", "B7"])[np.arange(60) % 3]
    columns = {"peptide": texts, "allele": alleles, "label": labels}
    table, path = write(tmp_path / "t.csv", columns), tmp_path / "m"
    specs = ["spectrum:2:protein", "gapped:4:2:protein"]
    where = {"sequence": "peptide", "task_column": "allele"}
    train(table, "partial-mkl", kernel=specs, **where)
    expected = PartiallySharedMKLClassifier(specs, tol=1e-3).fit(np.array(texts), labels, alleles)
    found = predict(path, table)
    assert_allclose(found["score"], expected.decision_function(texts, alleles), atol=1e-5)
    assert found["class"].tolist() == expected.predict(texts, alleles).tolist()
    assert "sequences of the column peptide" in seqmtl(f"info {path}").out
    with pytest.raises(SeqmtlError, match="--kernel must compare sequences here, got rbf:scale"):
        train(table, "pareto", kernel="rbf", **where)


@pytest.fixture(scope="module")
def windows(tmp_path_factory):
    """Return a table of windows of two organisms."""
    rng = np.random.default_rng(2)
    is_site = np.arange(48) % 3 == 0
    texts = ["".join(rng.choice(list("ACGT"), 21)) for _ in is_site]
    columns = {
        "organism": np.where(np.arange(48) % 2, "worm", "fly"),
        "label": np.where(is_site, 1, -1),
        "sequence": [
            f"{text[:9]}{'AAG' if site else 'CTC'}{text[12:]}"
            for text, site in zip(texts, is_site, strict=True)
        ],
        "split": np.where(np.arange(48) > 36, "test", "train"),
    }
    return write(tmp_path_factory.mktemp("windows") / "w.tsv", columns, "\t")


def test_windows_of_dna(windows, train, tmp_path, seqmtl):
    path, fasta = tmp_path / "m", tmp_path / "w.fa"
    train(windows, "kernel-svc", kernel="wd:4", window=11, shift=1)
    known, new = (read_windows(windows, split=s).center(11, 1) for s in ("train", "test"))
    expected = MultiTaskKernelSVC(make_kernel("wd:4")).fit(known)
    found = predict(path, windows)
    assert_allclose(found["score"], expected.decision_function(new), atol=1e-5)
    assert found["task"].tolist() == new.tasks.tolist()
    assert "windows of 11 bases" in seqmtl(f"info {path}").out
    assert seqmtl(f"evaluate {path} {windows} --bootstrap 0").out.startswith("task\tn\t")
    texts = [line.split("\t")[2] for line in windows.read_text().splitlines()[1:]]
    fasta.write_text("".join(f">w{i}\n{text}\n" for i, text in enumerate(texts)))
    with pytest.raises(SeqmtlError, match="do not name their organism"):
        predict(path, fasta)
    of_fly = [predict(path, data, organism="fly", split="all") for data in (fasta, windows)]
    assert_allclose(of_fly[0]["score"], of_fly[1]["score"])
    for method, options, message in (
        ("kernel-svc", {}, "--kernel must compare sequences here, got rbf:scale"),
        ("kernel-svc", {"kernel": "wd:4", "standardize": True}, "--standardize applies to numbers"),
        ("minimax", {}, "minimax learns from numbers"),
    ):
        with pytest.raises(SeqmtlError, match=message):
            train(windows, method, **options)
    # asked for as a column, the same sequences are strings
    columns = {"sequence": "sequence", "task_column": "organism", "kernel": "spectrum:3"}
    assert train(windows, "pareto", **columns).examples.ndim == 1


def test_novelties_of_a_table(train, tmp_path, seqmtl):
    rng = np.random.default_rng(0)
    usual, odd = rng.normal([4.0, 1.0], 0.4, (60, 2)), rng.normal([0.5, 3.0], 0.3, (20, 2))
    X = np.abs(np.r_[usual, odd]).round(6)
    columns = {"task": np.where(np.arange(80) % 2, "a", "b"), "x": X[:, 0], "z": X[:, 1]}
    label = np.repeat(["usual", "odd"], [60, 20])
    known = write(tmp_path / "k.csv", {name: column[:60] for name, column in columns.items()})
    new = write(tmp_path / "n.csv", columns | {"label": label})
    options = {"contamination": 0.05, "C": 0.5}
    train(known, "one-class", **options)
    expected = MultiTaskOneClassSVM(**options).fit(X[:60], tasks=columns["task"][:60])
    found, scores = predict(tmp_path / "m", new), expected.decision_function(X, columns["task"])
    assert list(found) == ["name", "task", "score", "class"]
    assert_allclose(found["score"], scores, rtol=1e-4, atol=1e-5)
    sure = np.abs(scores) > 1e-4
    assert (found["class"] == expected.predict(X, columns["task"]))[sure].all()
    assert "one-class" in seqmtl(f"info {tmp_path / 'm'}").out
    train(new, "one-class", **options)  # of two classes the second is learnt, here the same rows
    again = predict(tmp_path / "m", new)
    assert_allclose(again["score"], found["score"])
    assert set(again["class"]) == {"odd", "usual"}
    assert evaluate(tmp_path / "m", new, bootstrap=0)["mean"]["auroc"] > 0.95
    error = seqmtl(f"calibrate {tmp_path / 'm'} {new} -o {tmp_path / 'c'}", 1).err
    assert "only two-class models have probabilities" in error
    write(new, columns | {"label": np.where(np.arange(80) < 70, label, "strange")})
    with pytest.raises(SeqmtlError, match="labels must have one or two classes, got 3"):
        train(new, "one-class")


def test_novelties_learn_the_weights_of_similarities(train, tmp_path, seqmtl):
    rng = np.random.default_rng(0)
    X, task = rng.normal([4.0, 1.0], 0.4, (60, 2)).round(6), np.array(["a", "b", "c"] * 20)
    known = write(tmp_path / "k.csv", {"task": task, "x": X[:, 0], "z": X[:, 1]})
    model = train(known, "one-class", tree="((a,b)ab,c)root;", mkl="hierarchical", C=0.1)
    kernels = TaskKernel.hierarchical("((a,b)ab,c)root;")
    expected = MultiTaskOneClassSVM(task_kernel=kernels, norm=2.0, C=0.1).fit(X, tasks=task)
    found = predict(tmp_path / "m", known)
    assert_allclose(found["score"], expected.decision_function(X, task), atol=1e-5)
    described = [(entry["label"], entry["weight"]) for entry in model.training["mkl"]]
    assert described == [(e["label"], e["weight"]) for e in expected.kernel_weights_]
    text = seqmtl(f"info {tmp_path / 'm'}").out
    assert "learnt weights" in text
    assert "linear x ab" in text
    with pytest.raises(UsageError, match="--norm applies to the --mkl weights; give --mkl too"):
        train(known, "one-class", norm=2)


def test_regression(train, tmp_path, seqmtl):
    """Widmer 2012, eq. 8 with the loss of regression: numbers far from 0, and of unlike scales."""
    rng = np.random.default_rng(0)
    X = np.c_[rng.normal(size=(90, 2)) * [1.0, 100.0], np.full(90, 0.1)].round(6)
    task = np.array(["a", "b", "c"] * 30)
    y = (50 + X @ [2.0, 0.01, 0.0] + np.where(task == "c", -X[:, 0], 0.0)).round(6)
    known = write(
        tmp_path / "k.csv", {"task": task, "label": y, **dict(zip("xyz", X.T, strict=True))}
    )
    model = train(known, "svr", C=3, epsilon=0.05, tol=1e-6)
    Z = StandardScaler().fit_transform(X)
    expected = MultiTaskSVR(C=3, epsilon=0.05, tol=1e-6).fit(Z, y - y.mean(), task)
    scores = expected.predict(Z, task) + y.mean()
    found = predict(tmp_path / "m", known)
    assert list(found) == ["name", "task", "score"]
    assert_allclose(found["score"], scores, rtol=1e-6)
    metrics = evaluate(tmp_path / "m", known)
    for name in "abc":
        own = metrics["tasks"][name]
        assert own["r2"] == pytest.approx(r2_score(y[task == name], scores[task == name]))
        error = np.abs(y - scores)[task == name].mean()
        assert (own["n"], own["absolute_error"]) == (30, pytest.approx(error, rel=1e-4))
    assert metrics["mean"]["r2"] == pytest.approx(
        np.mean([v["r2"] for v in metrics["tasks"].values()])
    )
    assert seqmtl(f"evaluate {tmp_path / 'm'} {known}").out.startswith(
        "task\tn\tr2\tabsolute_error"
    )
    assert "none: regression" in seqmtl(f"info {tmp_path / 'm'}").out
    assert (
        "got 0 classes"
        in seqmtl(f"evaluate {tmp_path / 'm'} {known} --plot {tmp_path}/x.png", 2).err
    )
    assert model.training["epsilon"] == "0.05"
    learnt = train(known, "svr", tree="((a,b)ab,c)root;", mkl="hierarchical").training["mkl"]
    assert [entry["label"] for entry in learnt] == ["root", "ab"]
    write(tmp_path / "names.csv", {"task": task, "label": task, "x": X[:, 0]})
    with pytest.raises(
        SeqmtlError, match="svr learns numbers in the label column of a table, got n"
    ):
        train(tmp_path / "names.csv", "svr")


def test_novelties_of_windows(windows, train, tmp_path):
    train(windows, "one-class", features="wd:4", similarity="union")
    known, new = (read_windows(windows, split=s) for s in ("train", "test"))
    expected = MultiTaskOneClassSVM(PositionalKmers("wd:4"), "union", tol=1e-3)
    expected.fit(known[known.labels > 0])
    found = predict(tmp_path / "m", windows)
    assert_allclose(found["score"], expected.decision_function(new), atol=1e-5)
    assert found["class"].tolist() == expected.predict(new).tolist()
    assert evaluate(tmp_path / "m", windows, bootstrap=0)["mean"]["auroc"] > 0.9


def test_weights_of_numbers_take_tables(table, tmp_path, seqmtl):
    estimator = DATA.fitted(MultiTaskSVC(tol=1e-5))
    estimator.model_.save(tmp_path / "m")
    found = predict(tmp_path / "m", table)
    assert list(found) == ["name", "task", "score", "probability"]
    assert_allclose(found["score"], DATA.scores(estimator), rtol=1e-5)
    signs = DATA.write(tmp_path / "t.csv", label=np.where(DATA.label == "well", 1, -1))
    assert seqmtl(f"evaluate {tmp_path / 'm'} {signs}").out.startswith("task\tn\tpositive\tauroc")


# ---- what is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--method minimax --kernel rbf", "minimax does not take it"),
        ("--method svc", "--method must be one of kernel-svc, "),
        ("--method pareto --share 0.1", "--share is an option of partial-mkl, minimax"),
        ("--method pareto --q 2", "--q is an option of sparse-mkl"),
        ("--method partial-mkl --norm 2", "--norm is an option of kernel-mkl, pareto"),
        ("--method kernel-svc --p 2", "--p is an option of pareto, sparse-mkl"),
        ("--method kernel-svc --mkl smooth", "--mkl is an option of kernel-mkl"),
        ("--method kernel-svc --max-epochs 5", "--max-epochs is an option of kernel"),
        ("--method pareto --tree metazoa", "--tree is an option of kernel-svc"),
        ("--method pareto --features wd:5", "--features is an option of one-class"),
        ("--method pareto --resume", "there is no option --resume"),
        ("--method one-class --tune 1,2", "--tune is an option of kernel-svc"),
        ("--method one-class --standardize", "one-class separates raw numbers"),
        ("--method pareto --contamination 0.2", "is an option of one-class"),
        ("--method sparse-mkl --p 1,2 --plot x.png", "--plot is an option of pareto"),
        ("", "the following arguments are required: --method"),
        ("--method kernel-svc --kernel rbf --kernel rbf:1", "takes one --kernel"),
        ("--method pareto --kernel rbf:x", "kernel must be rbf:GAMMA with numbers"),
        ("--method pareto --kernel cubic", "kernel must be one of linear, poly"),
        ("--method pareto --p 0", "--p must be a finite number above 0, got 0"),
        ("--method pareto --plot x.png", "--plot draws the path over several values"),
        ("--method pareto --p 1,2 --plot x.gif", "must end in .png, .svg or .pdf"),
        ("--method pareto --sequence s", "--sequence needs a string --kernel"),
        (
            "--method pareto --sequence s --kernel wd:2 --standardize",
            "--standardize applies to numbers",
        ),
        ("--method kernel-svc --similarity tree", "tree must have one source"),
    ],
)
def test_wrong_usage(options, message, tmp_path, seqmtl):
    error = seqmtl(f"train-table {tmp_path / 'absent.csv'} -o {tmp_path / 'm'} {options}", 2).err
    assert message in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_train_names_the_command_of_tables(table, tmp_path, seqmtl):
    for options in (
        "--method pareto",
        "--kernel rbf --method pareto",
        "--p=1",
        "--plot x.png",
        "--label-column y",
        "--no-standardize",
    ):
        error = seqmtl(f"train {table} -o {tmp_path / 'm'} {options}", 2).err
        flag, method = options.replace("=", " ").split()[0], "METHOD"
        method = "pareto" if flag == "--method" else method
        assert f"{flag} is for tables: use seqmtl train-table DATA --method {method} (" in error
    error = " ".join(seqmtl(f"train {table} -o {tmp_path / 'm'}", 2).err.split())
    assert f"train on it with seqmtl train-table {table} --method {{kernel-svc,kernel-" in error
    columns = {"organism": ["worm"] * 2, "label": [1, -1], "sequence": ["ACGT", "TTGT"]}
    windows = write(tmp_path / "windows.csv", columns, "\t")
    seqmtl(f"train {windows} -o {tmp_path / 'm'} --features wd:2")


def test_the_help_of_train_fits_one_screen(seqmtl, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    lines = seqmtl("train --help").out.splitlines()
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 100
    grammar = "the K1-mers to K2-mers in bins of W positions"
    assert grammar in seqmtl("train --features help -o m").out
    assert grammar in seqmtl("train --features wd -o m", 2).err


def test_figures_on_the_training_rows_are_too_good(train, tmp_path, monkeypatch, seqmtl):
    X = np.random.default_rng(0).normal(size=(40, 2))
    columns = {"a": X[:, 0], "b": X[:, 1], "label": np.where(X[:, 0] > 0, 1, -1)}
    for name in ("all", "other", "split"):
        split = {"split": np.repeat(["train", "test"], 20)} if name == "split" else {}
        write(tmp_path / f"{name}.csv", columns | split)
    monkeypatch.chdir(tmp_path)  # another spelling of the same path
    for trained_on, evaluated_on, n_warnings in (
        ("all", "all", 1),
        ("all", "other", 0),
        ("split", "split", 0),
    ):
        train(tmp_path / f"{trained_on}.csv", "kernel-svc")
        error = seqmtl(f"evaluate m {evaluated_on}.csv --bootstrap 0").err
        assert error.count("so these figures are too good; give examples held") == n_warnings


def test_labels_that_are_no_classes(train, tmp_path):
    i = np.arange(12)
    columns = {"task": np.array(["a", "b"])[i % 2], "f": i, "height": i / 3, "label": i % 3}
    path = write(tmp_path / "x.csv", columns)
    for method in ("pareto", "kernel-svc"):
        with pytest.raises(SeqmtlError, match="two classes if there are tasks, got 3; for more"):
            train(path, method)
        with pytest.raises(SeqmtlError, match=r"integers below 2\*\*53, got 0.333\d*; name"):
            train(path, method, label_column="height")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "wd:4"}, "--kernel must compare numbers here, got wd:4"),
        ({"window": 5}, "--window and --shift apply to DNA windows"),
        ({"split": "dev"}, "split must be one of test, train, got 'dev'"),
        ({"label_column": "y"}, "the header must name the column 'y'"),
    ],
)
def test_bad_data(options, message, table, train, tmp_path):
    with pytest.raises(SeqmtlError, match=message):
        train(table, "pareto", **options)
    with pytest.raises(UsageError, match="--q is an option of sparse-mkl"):
        train(table, "pareto", q=1.5)
    assert not list(tmp_path.iterdir())


def test_models_of_kernels_have_no_relatives_and_scan_nothing(model, table, tmp_path, seqmtl):
    for code, command, message in (
        (2, f"predict {model} {table} --from-relatives", "scores from relatives need a model of w"),
        (2, f"predict {model}", "trained on a table of examples"),
        (1, f"scan {model} {table} -o {tmp_path}/x.bed", "is a model of kernels, not of weights"),
    ):
        assert message in seqmtl(command, code).err


def test_stopping_early_is_exit_code_3(table, tmp_path, seqmtl):
    options = "--max-epochs 1 --tol 1e-9 --kernel linear --kernel rbf:2"
    error = seqmtl(f"train-table {table} --method pareto -o {tmp_path / 'm'} {options}", 3).err
    assert "not converged to the tolerance 1e-09" in error
    assert "(stopped before the tolerance)" in seqmtl(f"info {tmp_path / 'm'}").out
