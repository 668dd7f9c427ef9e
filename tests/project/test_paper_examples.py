"""The scripts that repeat experiments of the papers, at a tiny size."""

import csv
import json
import subprocess

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.stats import t as student
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.metadata_routing import MetadataRequest

from seqmtl import MultiTaskKernelSVC, TaskKernel
from tests.oracles import svm, wd


@pytest.fixture(scope="module")
def common(paper_script):
    return paper_script("_shared")


def test_needs_are_checked_before_any_work(common, tmp_path, capsys, monkeypatch):
    def start(*argv, needs=()):
        options = common.Options("What it does.", {"n": 1}, ("n",))
        options.add_argument("--n", type=int, default=9)
        return options.start(["--out", str(tmp_path / "new"), *argv], lambda _: needs)

    def refusal(*argv, needs=()):
        with pytest.raises(SystemExit, match="2"):
            start(*argv, needs=needs)
        return capsys.readouterr().err

    assert "lost.npz does not exist" in refusal(needs=[tmp_path / "lost.npz"])
    assert not (tmp_path / "new").exists()
    assert start("--quick").n == 1
    assert start("--quick", "--n", "1").n == 1
    assert "holds results of other settings" in refusal()
    monkeypatch.setattr(common.importlib.util, "find_spec", lambda _: None)
    assert "pip install matplotlib" in refusal("--quick")


def test_results_are_kept_and_means_have_a_spread_if_they_can(common, tmp_path):
    path = tmp_path / "found.json"
    assert common.kept(path, lambda: [1, 2]) == [1, 2]
    assert common.kept(path, lambda: 1 / 0) == [1, 2]
    values = np.array([1.0, 2.0, 4.0])
    assert common.with_spread(values) == "2.3333 ± 0.8819"
    interval = student.interval(0.95, 2, loc=values.mean(), scale=values.std(ddof=1) / 3**0.5)
    assert common.with_spread(values, "8.2f", 0.95) == f"    2.33 ± {interval[1] - 7 / 3:.4f}"
    assert common.with_spread(values[:1], "+.1f") == "+1.0"


@pytest.fixture(scope="module")
def synthetic(paper_script):
    return paper_script("widmer2015_synthetic")


def test_mutations_follow_the_tree(synthetic):
    means = synthetic.grow_means(5, 5, np.random.default_rng(0))
    assert means.shape == (32, 100)
    assert_array_equal(np.abs(means), 1.0)
    differ = (means[:, None] != means).sum(axis=2)
    t = np.arange(32)
    assert (differ[t, t ^ 1] <= 10).all()  # siblings: 5 on either edge
    assert (differ[t, t ^ 1] % 2 == 0).all()
    levels = [differ[t, t ^ (1 << k)].mean() for k in range(5)]
    assert levels == sorted(levels)
    one_edge = synthetic.grow_means(1, 5, np.random.default_rng(1))
    assert_array_equal((one_edge < 0).sum(axis=1), 5)


def test_points_have_the_means_and_the_deviation_of_their_class(synthetic):
    means = synthetic.grow_means(1, 5, np.random.default_rng(0))
    points = synthetic.draw_points(means, 20_000, 4.0, np.random.default_rng(1))
    assert points.shape == (2, 2, 20_000, 100)
    assert_allclose(4.0 * points[:, 0].mean(axis=1), 0.5 * means, atol=0.15)
    assert_allclose(4.0 * points[:, 1].mean(axis=1), -0.5 * means, atol=0.15)
    assert_allclose(4.0 * points.std(axis=2), 4.0, atol=0.1)


def test_curves_are_those_of_sklearn(synthetic):
    scores = np.random.default_rng(0).standard_normal((3, 2, 50))
    scores[:, 0] += 0.5
    labels = np.repeat([1, 0], 50)
    for curve, part in zip(synthetic.roc(scores), scores, strict=True):
        assert curve.mean() == pytest.approx(roc_auc_score(labels, part.ravel()))
        fpr, tpr, _ = roc_curve(labels, part.ravel(), drop_intermediate=False)
        recall = [tpr[fpr < (j + 0.5) / 50].max() for j in range(50)]
        assert_allclose(curve, recall)


@pytest.mark.parametrize("options", [[], ["--unit-trace"]])
def test_the_experiment_runs(synthetic, tmp_path, capsys, monkeypatch, options):
    monkeypatch.setattr(synthetic, "COSTS", (1e-3, 1e-2))
    arguments = ["--quick", "--depth", "2", "--train", "4", "--test", "30", "--sigma", "4"]
    arguments += [*options, "--out", str(tmp_path / "new")]
    synthetic.main([*arguments, "--seeds", "1"])
    printed = capsys.readouterr().out
    assert "nan" not in printed
    assert "±" not in printed
    begun = (tmp_path / "new" / "seed0.json").stat().st_mtime_ns
    synthetic.main(arguments)
    assert (tmp_path / "new" / "seed0.json").stat().st_mtime_ns == begun
    printed = capsys.readouterr().out
    assert "vanilla MTL - union" in printed
    with open(tmp_path / "new" / "auroc.tsv", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    assert [row["method"] for row in rows[:6]] == [
        "individual",
        "union",
        "vanilla MTL",
        "MT-MKL p=1",
        "MT-MKL p=2",
        "MT-MKL p=3",
    ]
    assert [row["seed"] for row in rows] == ["0"] * 6 + ["1"] * 6
    assert {float(row["C"]) for row in rows} <= {1e-3, 1e-2}
    for row in rows:
        assert 0.0 <= float(row["auroc"]) <= 1.0
    mean = np.mean([float(row["auroc"]) for row in rows if row["method"] == "union"])
    assert f"union           {mean:.4f}" in printed
    assert (tmp_path / "new" / "figure.png").read_bytes()[1:4] == b"PNG"


def test_learning_curves_by_hand(paper_script, tmp_path):
    curves_of = paper_script("widmer2015_learning_curves")
    row = {m: [0.5, 0.7] for m in curves_of.METHODS} | {"MKL": [0.6, 0.7], "tree": [0.9, 0.9]}
    other = row | {"union": [0.8, 0.8]}
    found = {100: {"ape": row, "fly": other, "mean": row}}
    assert curves_of.averages([[0.2, 0.4], [0.4, 0.8]]) == pytest.approx([0.3, 0.6])
    assert curves_of.shown([0.5, 0.7]) == ("0.6000", "0.1414")
    assert curves_of.shown([0.5], "+") == ("+0.5000", "NA")
    assert curves_of.differences(row)["fixed"] == pytest.approx([0.1, 0.0])
    assert curves_of.best(found[100], curves_of.PUBLISHED) == ["ape"]
    assert curves_of.best(found[100], curves_of.METHODS) == []
    curves_of.write_tables(found, tmp_path)
    with open(tmp_path / "differences.tsv", encoding="utf-8") as stream:
        rows = list(csv.reader(stream, delimiter="\t"))
    assert rows[0] == ["windows", "organism", "MKL_minus", "splits", "mean", "sd"]
    assert ["100", "fly", "union", "2", "-0.1500", "0.0707"] in rows
    text = curves_of.report({100: {"ape": {m: own[:1] for m, own in row.items()}, "mean": row}})
    assert "0.6000 NA" in text
    assert "MKL is the best of the paper's methods in 1 of 1 organisms" in text
    assert "tree -0.2500 0.0707" in text


def test_learning_curves_of_one_size_are_all_drawn(paper_script, tmp_path, monkeypatch):
    script, drawn = paper_script("widmer2015_learning_curves"), []
    monkeypatch.setattr(script, "save_figure", lambda figure, path: drawn.append(figure))
    of_methods = {method: [0.9 + 0.01 * m, 0.8] for m, method in enumerate(script.METHODS)}
    names = [f"organism_{k}" for k in range(5)] + ["mean"]  # fewer than two rows of four
    script.draw({100: dict.fromkeys(names, of_methods)}, tmp_path / "x.png")
    shown = [axes for axes in drawn[0].axes if axes.get_visible()]
    assert [axes.get_title("left") for axes in shown] == [name.replace("_", " ") for name in names]
    for axes in shown:
        x = {float(x) for line in axes.lines for x in line.get_xdata()}
        assert len(x) == len(script.METHODS)  # beside each other
        low, high = axes.get_xlim()
        assert low < min(x) <= max(x) < high


def test_learning_curves_of_a_tiny_dataset(paper_script, tmp_path, capsys):
    rng = np.random.default_rng(0)
    letters, names = np.array(list("ACGT")), ["Apis_mellifera", "D. simulans", "rabbit"]
    lines, start = ["organism\tlabel\tsequence"], rng.choice(letters, 60)
    for name in [*names, "unaligned"]:
        for i in range(60):
            window = rng.choice(letters, 20)
            window[8:12] = list("TATA") if i % 2 else window[8:12]
            lines.append(f"{name}\t{1 if i % 2 else -1}\t{''.join(window)}")
    (tmp_path / "tss.tsv").write_text("\n".join(lines) + "\n")
    aligned = []
    for k, name in enumerate(names):
        own = start.copy()
        own[: 6 * k] = rng.choice(letters, 6 * k)
        aligned.append(f">{name.replace(' ', '_')}\n{''.join(own)}\n")
    (tmp_path / "rrna.fa").write_text("".join(aligned))
    out, script = tmp_path / "out", paper_script("widmer2015_learning_curves")
    command = [str(tmp_path / "tss.tsv"), "--alignment", str(tmp_path / "rrna.fa"), "--quick"]
    for _ in range(2):  # the second time nothing is left to do
        script.main([*command, "--out", str(out)])
        text = capsys.readouterr().out
        assert "unaligned is not in" in text
        assert "MKL is the best of all methods in" in text
        assert "nan" not in text
    assert (out / "curves.png").read_bytes()[:4] == b"\x89PNG"
    with open(out / "auroc.tsv", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    assert {row["organism"] for row in rows} == {*names, "mean"}
    assert {row["method"] for row in rows} == set(script.METHODS)
    lines = (out / "20.smooth.runs").read_text().splitlines()[1:]
    finished = [json.loads(line[line.index("{") :]) for line in lines]
    values = [run["tasks"]["rabbit"]["auroc"] for run in finished]
    found = [
        r for r in rows if (r["windows"], r["organism"], r["method"]) == ("20", "rabbit", "MKL")
    ]
    assert found[0]["mean"] == f"{np.mean(values):.4f}"
    assert found[0]["sd"] == f"{np.std(values, ddof=1):.4f}"


@pytest.fixture(scope="module")
def times(paper_script):
    return paper_script("widmer2012_solver_times")


def _sample(times, n=60, T=3, d=4):
    rng = np.random.default_rng(0)
    tasks, y = np.arange(n) % T, np.where(rng.random(n) < 0.3, 1.0, -1.0)
    X = rng.standard_normal((n, d)) + 0.4 * y[:, None] + 0.3
    K = np.linalg.inv((T + 1) * np.eye(T) - np.ones((T, T)))
    return times.Sample(X, y, tasks, K)


def test_objectives_are_those_of_the_kernel_matrix(times):
    s = _sample(times)
    alpha = np.random.default_rng(1).random(s.n)
    primal, dual = s.objectives(alpha)
    G = svm.multitask_kernel(s.X, s.tasks, s.K, 0.0)
    signed = alpha * s.y
    assert dual == pytest.approx(alpha.sum() - 0.5 * signed @ G @ signed)
    V = np.stack([signed[s.tasks == t] @ s.X[s.tasks == t] for t in range(3)], axis=1)
    W = V @ s.K
    assert primal == pytest.approx(
        svm.primal(s.X, s.y, s.tasks, s.K, 1.0, "hinge", W, np.zeros(3), 0.0)
    )
    assert_allclose(times.kernel_matrix(s)[:-2, :-2], G, atol=1e-12)


@pytest.mark.parametrize("shrinking", [True, False])
def test_anchors_take_the_intercept_away(times, shrinking):
    s = _sample(times)
    expected = svm.solve_dual(s.X, s.y, s.tasks, s.K, 1.0, bias=0.0)[1]
    G = times.kernel_matrix(s)
    alpha, _ = times.fit_libsvm(G, s.y, 1e-9, shrinking=shrinking)
    assert ((alpha >= 0) & (alpha <= 1)).all()
    primal, dual = s.objectives(alpha)
    assert dual == pytest.approx(expected, abs=1e-6)
    assert primal - dual < 1e-6
    free, _ = times.fit_libsvm(G, s.y, 1e-9, shrinking=shrinking, has_anchors=False)
    assert free @ s.y == pytest.approx(0.0, abs=1e-9)  # what an intercept costs
    assert s.objectives(free)[1] < dual - 0.1


def test_times_are_interpolated_on_logarithmic_axes(times):
    points = [(1.0, 1e2), (10.0, 1e-2), (20.0, 1e-1), (40.0, 0.0)]
    assert times.time_to(points, 1e3) == 1.0
    assert times.time_to(points, 1.0) == pytest.approx(10.0**0.5)
    assert times.time_to(points, 1e-2) == pytest.approx(10.0)
    assert times.time_to(points, 1e-9) == 40.0
    assert np.isnan(times.time_to(points[:3], 1e-9))


def test_solver_times_run_and_are_resumed(times, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(times, "TOLERANCES", (1.0, 1e-2, 1e-6))
    for name, scale in (("gauss2d", 1.0), ("mnist_mtl", 255.0), ("landmine", 7.0)):
        s = _sample(times, n=120)
        folder = tmp_path / "data" / name
        folder.mkdir(parents=True)
        X, y, tasks = scale * s.X, s.y.astype(np.int8), s.tasks.astype(np.int32)
        np.savez(folder / f"{name}.npz", X=X, y=y, task=tasks)
    out = tmp_path / "out"
    arguments = [str(tmp_path / "data"), "--out", str(out), "--halvings", "1", "--repeats", "2"]
    times.main(arguments)
    first = capsys.readouterr().out
    assert "Landmine: 120 examples" in first
    results = {
        name: {n: json.loads((out / f"{name}_{n}.json").read_text()) for n in ("60", "120")}
        for name in times.TITLES
    }
    for sizes in results.values():
        for both in sizes.values():
            assert 0.0 <= both["dcd"]["gap"] <= 1e-10
            assert both["dcd"]["points"][-1][1] <= 1e-10
            assert abs(both["libsvm"]["points"][-1][1]) < 1e-6
            assert (
                min(seconds for seconds, _ in both["libsvm"]["points"]) >= both["libsvm"]["kernel"]
            )
    assert results["gauss2d"]["120"]["dcd"]["optimum"] == pytest.approx(
        results["mnist_mtl"]["120"]["dcd"]["optimum"]
    )
    assert (out / "figure.png").read_bytes()[1:4] == b"PNG"
    monkeypatch.delattr(times, "measure")
    times.main(arguments)
    assert first.endswith(capsys.readouterr().out)
    with pytest.raises(NameError, match="measure"):
        times.main([*arguments, "--halvings", "2"])


def test_a_run_ends_at_its_limit(times):
    watch = times.follow(_sample(times), 1e-12, 0.0)
    assert len(watch.seconds) == 1


@pytest.fixture(scope="module")
def sites(paper_script):
    return paper_script("widmer2012_splice_sites")


@pytest.fixture
def acceptors(tmp_path):
    """A table of windows of three organisms, with a motif after AG at true sites."""
    rng, rows = np.random.default_rng(0), ["organism\tlabel\tsplit\tsequence"]
    for n in range(150):
        letters, is_true = rng.choice(list("ACGT"), 20), n % 4 == 0
        letters[8:10] = list("AG")
        letters[10:13] = list("TCC") if is_true else letters[10:13]
        split = "test" if n % 5 == 4 else "train"
        rows.append(f"{'abc'[n % 3]}\t{1 if is_true else -1}\t{split}\t{''.join(letters)}")
    path = tmp_path / "acceptors.tsv"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_multitask_kernel_of_sites_is_that_of_the_oracle(sites, acceptors):
    """Widmer 2012, eq. 3: the kernel of examples times that of their tasks, for strings."""
    windows = sites.windows_of(str(acceptors), 30)
    assert set(windows.sequences()) < set(sites.windows_of(str(acceptors), 60).sequences())
    ids, texts, n = windows.task_ids, windows.sequences(), len(windows)
    sizes = np.bincount(2 * ids + (windows.labels > 0))
    assert_array_equal(sizes, [8, 2, 8, 2, 8, 2])  # of 30, a quarter are true, or two
    K = np.linalg.inv(4.0 * np.eye(3) - np.ones((3, 3)))
    G = sites.multitask_matrix(windows)
    assert_allclose(G[:n, :n], K[np.ix_(ids, ids)] * wd.gram(texts, texts, 8))
    anchors = np.eye(n + 2)[n:]
    assert_allclose(G[n:], (anchors - anchors[::-1]) / n)


def test_both_solvers_of_sites_reach_the_same_objective(sites, acceptors, monkeypatch):
    monkeypatch.setattr(sites, "TOLERANCES", (1e-1, 1e-6))
    windows = sites.windows_of(str(acceptors), 60)
    kernel, descent = sites.fit_kernel(windows, 1e-4), sites.descend(windows, "wd:8", 1e-4)
    assert max(kernel["gap"], descent["gap"]) <= 1e-4
    assert kernel["primal"] == pytest.approx(descent["primal"], rel=2e-4)
    y, ids = windows.labels.astype(float), windows.task_ids
    H = np.outer(y, y) * sites.multitask_matrix(windows)[:-2, :-2]
    best = minimize(
        lambda a: 0.5 * a @ H @ a - a.sum(),
        np.zeros(y.size),
        jac=lambda a: H @ a - 1.0,
        bounds=[(0.0, 1.0)] * y.size,
        method="L-BFGS-B",
        options={"ftol": 1e-14, "gtol": 1e-10},
    )
    assert ids.max() == 2
    assert descent["primal"] == pytest.approx(-best.fun, rel=2e-4)


def test_times_of_sites_run_and_are_resumed(sites, acceptors, tmp_path, capsys, monkeypatch):
    def alone(script, once, *arguments, limit):
        if limit < 1 and arguments[1] == "mtk":
            raise subprocess.TimeoutExpired(script, limit)
        sites.main([once, *map(str, arguments)])
        return json.loads(capsys.readouterr().out.splitlines()[-1])

    monkeypatch.setattr(sites, "run_alone", alone)
    tell = sites.report
    monkeypatch.setattr(sites, "report", lambda found: told.append(tell(found)) or "")
    told, out = [], tmp_path / "out"
    arguments = [str(acceptors), "--tol", "0.01", "--out", str(out), "--real", "30", "60"]
    sites.main([*arguments, "--simulated", "80"])
    assert "| 80 | simulated |" in told[0]
    assert "Objective of DCD, hashed, over that of MTK at 60" in told[0]
    for name, magic in (("png", b"\x89PNG"), ("svg", b"<?xml")):
        assert (out / f"figure.{name}").read_bytes().startswith(magic)
    monkeypatch.setattr(sites, "run_alone", None)
    sites.main([*arguments, "--simulated", "80"])
    assert told[1] == told[0]
    monkeypatch.setattr(sites, "run_alone", alone)
    (out / "results.json").unlink()
    sites.main([*arguments, "--simulated", "--limit", "0.5"])
    assert "time: 0 s" in told[2]
    (out / "results.json").unlink()
    sites.main([*arguments, "--simulated", "--memory", "1e-6"])
    assert "memory: 0 GiB" in told[3]


@pytest.fixture(scope="module")
def months(paper_script):
    return paper_script("sheldon2008_months")


def test_common_days_are_in_one_part(months, hours_file):
    hours = months.load(hours_file)._replace(has_common_days=True)
    hours = hours._replace(y=np.where(hours.X[:, 0] > 0, 1, -1))
    split = months.draw_split(hours, 20, 0)
    days = [set(hours.day[part]) for part in split]
    assert sum(map(len, days)) == len(set().union(*days)) == 16
    for part in split:
        for month in range(4):
            assert set(hours.y[part[hours.month[part] == month]]) == {-1, 1}


@pytest.fixture
def hours_file(tmp_path):
    """Four months of 16 days; whether it rains depends on the first feature and on the day."""
    rng = np.random.default_rng(0)
    month, day, hour = (a.ravel() for a in np.indices((4, 16, 6)))
    X = rng.normal(size=(month.size, 2))
    y = np.where((X[:, 0] + 0.2 * month > 0.8) & (day % 2 == 0), 1, -1)
    path = tmp_path / "hours.npz"
    np.savez(
        path,
        X=X,
        y=y,
        task=month,
        day_of_month=day + 1,
        hour=hour,
        task_names=["Winter", "Spring", "Summer", "Autumn"],
        edges=[[0, 1], [1, 2], [2, 3], [3, 0]],
    )
    return path


def _check_split(hours, split, size):
    days = [set(zip(hours.month[part], hours.day[part], strict=True)) for part in split]
    assert not days[0] & days[1]
    assert not days[0] & days[2]
    assert not days[1] & days[2]
    for part, seen in zip(split, days, strict=True):
        assert np.unique(part).size == part.size
        for month in range(len(hours.names)):
            assert set(hours.y[part[hours.month[part] == month]]) == {-1, 1}
        whole = sum((hours.month == m) & (hours.day == d) for m, d in seen).sum()
        assert part is split.train or part.size == whole
    assert_array_equal(np.bincount(hours.month[split.train]), size)


def test_days_are_dealt_out_by_month(months, hours_file):
    hours = months.load(hours_file)
    assert_array_equal(hours.A, [[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])
    small, large = (months.draw_split(hours, size, 3) for size in (10, 20))
    _check_split(hours, small, 10)
    _check_split(hours, large, 20)
    assert set(small.train) <= set(large.train)
    assert_array_equal(small.test, large.test)
    assert set(months.draw_split(hours, 10, 4).test) != set(small.test)
    with pytest.raises(ValueError, match="from 2 to 48 hours per month, got 49"):
        months.draw_split(hours, 49, 3)
    with pytest.raises(ValueError, match="Winter must have wet and dry hours on several days"):
        months.draw_split(hours._replace(y=np.where(hours.month == 0, -1, hours.y)), 10, 3)


def test_every_month_of_the_real_hours_is_wet_in_every_part(months, shared_data):
    path = shared_data / "mtl" / "nyc_weather" / "nyc_weather.npz"
    if not path.exists():
        pytest.skip(f"no {path.name}")
    hours = months.load(path)
    assert_array_equal(hours.A.sum(axis=0), np.full(12, 2.0))
    for repeat in range(10):
        _check_split(hours, months.draw_split(hours, 300, repeat), 300)


def test_auroc_of_the_months(months, hours_file):
    hours = months.load(hours_file)
    rows = np.arange(0, hours.y.size, 2)
    scores = np.round(hours.X[rows, 0], 1)
    found = months.judge(hours, rows, scores)
    assert found["all"] == pytest.approx(roc_auc_score(hours.y[rows], scores), abs=1e-6)
    for month, auc in enumerate(found["months"]):
        own = hours.month[rows] == month
        assert auc == pytest.approx(roc_auc_score(hours.y[rows][own], scores[own]), abs=1e-6)


def test_methods_of_the_months_are_support_vector_machines(months, hours_file):
    hours = months.load(hours_file)
    methods = {(name, a): (K, X) for name, a, K, X in months.methods(hours)}
    assert {name for name, _ in methods} == {"POOL", "INDIV", "CYCLE", "CENTRED"}
    split = months.draw_split(hours, 20, 0)
    month, (train, test) = hours.month, (split.train, split.test)
    y = hours.y[train]
    names = np.array(hours.names)[month]
    L = np.diag(hours.A.sum(axis=0)) - hours.A
    inverse = np.linalg.inv(L + 2.0**-8 * np.eye(4))
    scale = np.sqrt(np.diagonal(inverse))
    expected = {
        ("POOL", None): np.ones((4, 4)),
        ("INDIV", None): np.eye(4),
        ("CYCLE", 2.0**-8): inverse / np.outer(scale, scale),
    }
    for key, product in expected.items():
        K, X = methods[key]
        common = {"task_kernel": K, "C": 2.0, "tol": 1e-9}
        svc = MultiTaskKernelSVC("rbf", 0.3, **common).fit(X[train], y, tasks=names[train])
        found = svc.decision_function(X[test], tasks=names[test])
        given = MultiTaskKernelSVC("precomputed", **common)
        given.fit(rbf_kernel(X[train], gamma=0.3), y, tasks=names[train])
        held = rbf_kernel(X[test], X[train], gamma=0.3)
        assert_allclose(given.decision_function(held, tasks=names[test]), found, atol=1e-9)
        if key[0] == "INDIV":
            for m in range(4):
                one = SVC(C=2.0, gamma=0.3, tol=1e-9)
                one.fit(X[train[month[train] == m]], y[month[train] == m])
                rows = month[test] == m
                assert_allclose(one.decision_function(X[test[rows]]), found[rows], atol=1e-6)
            continue
        H = product[np.ix_(month[train], month[train])] * rbf_kernel(X[train], gamma=0.3)
        oracle = SVC(kernel="precomputed", C=2.0, tol=1e-9).fit(H, y)
        held = product[np.ix_(month[test], month[train])] * held
        assert_allclose(oracle.decision_function(held), found, atol=1e-6)


def test_centred_kernel_is_an_inner_product_about_the_mean(months):
    X, Z = np.random.default_rng(0).normal(size=(2, 9, 3))
    # of degree 1 in gamma the RBF kernel is 1 - gamma ||x - z||^2: centred, 2 gamma <x, z>
    for found, one in zip(months.centred(X, Z, 1e-7), (X, Z), strict=True):
        assert_allclose(found / 2e-7, (one - X.mean(0)) @ (X - X.mean(0)).T, atol=1e-4)


class _AUC:
    """AUC of all hours together, with tasks routed to the scores."""

    def __call__(self, model, X, y, tasks):
        return roc_auc_score(y, model.decision_function(X, tasks=tasks))

    def get_metadata_routing(self):
        request = MetadataRequest(owner=self)
        request.score.add_request(param="tasks", alias=True)
        return request


def test_months_are_chosen_as_grid_search_chooses(months, hours_file, monkeypatch):
    monkeypatch.setattr(months, "TIES", (2.0**-8, 1.0))
    hours = months.load(hours_file)
    grid = {"C": (0.1, 10.0), "gamma": (0.1, 1.0)}
    fits = months.run(hours, 20, 0, grid)
    split = months.draw_split(hours, 20, 0)
    rows = np.concatenate([split.train, split.valid])
    folds = PredefinedSplit(np.where(np.arange(rows.size) < split.train.size, -1, 0))
    step = "multitaskkernelsvc__"
    options = {f"{step}{name}": values for name, values in grid.items()}
    options[f"{step}task_kernel"] = [
        TaskKernel.graphical(hours.A, a, hours.names) for a in months.TIES
    ]
    with sklearn.config_context(enable_metadata_routing=True):
        svc = MultiTaskKernelSVC().set_fit_request(tasks=True)
        svc.set_decision_function_request(tasks=True)
        pipe = make_pipeline(StandardScaler(), svc)
        search = GridSearchCV(pipe, options, scoring=_AUC(), cv=folds, refit=False)
        tasks = np.array(hours.names)[hours.month[rows]]
        search.fit(hours.X[rows], hours.y[rows], tasks=tasks)
    table = search.cv_results_
    for parameters, auc in zip(table["params"], table["mean_test_score"], strict=True):
        known = [
            fit
            for fit in fits
            if fit["method"] == "CYCLE"
            and all(fit[name] == parameters[f"{step}{name}"] for name in grid)
            and parameters[f"{step}task_kernel"].source == f"graphical(a={fit['a']:g})"
        ]
        assert [fit["valid"]["all"] for fit in known] == [pytest.approx(auc, abs=1e-6)]
    best = months.choose(fits, "CYCLE", months.TIES, "all")
    assert best["valid"]["all"] == pytest.approx(search.best_score_, abs=1e-6)
    assert {name: best[name] for name in grid} == {
        name: search.best_params_[f"{step}{name}"] for name in grid
    }


def test_months_run_and_go_on(months, hours_file, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(months, "COARSE", {"C": (0.1, 10.0), "gamma": (0.3,)})
    out = tmp_path / "new"
    arguments = [str(hours_file), "--sizes", "10", "20", "--out", str(out)]
    months.main([*arguments, "--repeats", "1"])
    printed = capsys.readouterr().out
    assert "20 hours per month, repeat 1" in printed
    assert "nan" not in printed
    months.main([*arguments, "--quick"])  # two repeats
    printed = capsys.readouterr().out
    assert "repeat 1" not in printed
    assert "20 hours per month, repeat 2" in printed
    assert sorted(path.name for path in out.iterdir()) == [
        "figure.png",
        "grid_10_0.json",
        "grid_10_1.json",
        "grid_20_0.json",
        "grid_20_1.json",
    ]
    fits = json.loads((out / "grid_20_1.json").read_text())
    assert len(fits) == (3 + len(months.TIES)) * 2
    hours = months.load(hours_file)
    expected = {10: [], 20: []}
    for size, repeat in ((10, 0), (10, 1), (20, 0), (20, 1)):
        fits = json.loads((out / f"grid_{size}_{repeat}.json").read_text())
        split = months.draw_split(hours, size, repeat)
        pool = [fit for fit in fits if fit["method"] == "POOL"]
        best = pool[int(np.argmax([fit["valid"]["all"] for fit in pool]))]
        scaler = StandardScaler().fit(months.with_month(hours)[split.train])
        Z = scaler.transform(months.with_month(hours))
        svc = SVC(C=best["C"], gamma=best["gamma"]).fit(Z[split.train], hours.y[split.train])
        auc = roc_auc_score(hours.y[split.test], svc.decision_function(Z[split.test]))
        assert best["test"]["all"] == pytest.approx(auc, abs=0.01)  # both stop at tol
        expected[size].append(best["test"]["all"])
    rows = [line.split() for line in printed.splitlines() if line.startswith("POOL")]
    for row, values in zip(rows, expected.values(), strict=True):
        assert row[1] == f"{np.mean(values):.4f}"
        assert row[3] == f"{np.std(values, ddof=1) / np.sqrt(2):.4f}"
    assert (out / "figure.png").read_bytes()[1:4] == b"PNG"
