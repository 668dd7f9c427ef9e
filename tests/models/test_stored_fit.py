"""Training on stored windows: the optimum of training in memory, however the windows are cut."""

from __future__ import annotations

import argparse
import copy
import json
import tempfile
from pathlib import Path

import numpy as np
import pytest

from seqmtl import PositionalKmers, TaskKernel, WeightedDegree, load_model, use_threads
from seqmtl.cli.main import main
from seqmtl.exceptions import MemoryLimitError, SeqmtlError
from seqmtl.files import streams
from seqmtl.files.model_file import read_arrays
from seqmtl.io import window_store
from seqmtl.io.tables import read_windows, read_windows_in_parts
from seqmtl.io.window_store import StoredPart, WindowStore, store_windows
from seqmtl.models import stored_fit
from seqmtl.models.fit import train_windows
from seqmtl.models.selected import labelled, train_selected
from seqmtl.models.selection import Space
from seqmtl.models.stored_fit import train_stored
from seqmtl.models.stored_look import look
from seqmtl.models.training import Settings
from seqmtl.sequences import Windows
from seqmtl.verbs import _train_stored
from tests import mutations

GIB = 1 << 30


@pytest.fixture(scope="module")
def windows():
    """6,000 windows of three organisms, in a buffer that they share and in no order."""
    rng = np.random.default_rng(5)
    codes = rng.choice(4, 40_000, p=[0.35, 0.15, 0.15, 0.35]).astype(np.uint8)
    starts = rng.integers(0, codes.size - 40, 6000)
    y = np.where(rng.random(starts.size) < 0.2, 1, -1)
    codes = np.concatenate([codes, np.full(10, 4, np.uint8)])
    for start in starts[y > 0][::2]:
        codes[start + 18 : start + 22] = [0, 2, 2, 3]
    return Windows(
        codes, starts, 40, is_reverse=rng.random(starts.size) < 0.3, labels=y,
        task_ids=rng.permutation(np.repeat([2, 0, 1], 2000)), task_names=["fly", "worm", "yeast"],
    )  # fmt: skip


@pytest.fixture(params=[6000, 777])
def store(request, windows, tmp_path, monkeypatch):
    monkeypatch.setattr(window_store, "PART", request.param)
    return store_windows([windows[:2500], windows[2500:]], str(tmp_path / "store"))


def ask(question, jobs):
    return (look(question, *job) for job in jobs)


def shuffled(question, jobs):
    """Ask the parts in another order, and answer in theirs."""
    found = {k: look(question, *jobs[k]) for k in np.random.default_rng(0).permutation(len(jobs))}
    return (found[k] for k in range(len(jobs)))


def test_a_store_holds_what_it_was_given(windows, store):
    rows = np.random.default_rng(1).integers(0, 6000, 500)
    found, expected = store[rows], windows[rows]
    np.testing.assert_array_equal(found.matrix(), expected.matrix())
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_array_equal(found.tasks, expected.tasks)
    again = WindowStore.of(store.parts)
    for other in (store, again):
        np.testing.assert_array_equal(other.labels, windows.labels)
        names = np.array(other.task_names)[other.task_ids]
        np.testing.assert_array_equal(names, windows.tasks)


def test_a_damaged_part_is_named(store):
    with open(store.parts[-1].path, "wb") as stream:
        stream.write(b"PK")
    with pytest.raises(SeqmtlError, match=r"\.windows: cannot read stored windows"):
        store[np.array([5999])]


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("weight", [None, "balanced"])
def test_the_optimum_is_that_of_training_in_memory(windows, store, loss, weight):
    features = WeightedDegree(4)
    settings = Settings(loss=loss, tol=1e-5, C=0.7, class_weight=weight, dtype="float64")
    model, solution = train_stored(
        store, memory=4 * GIB, ask=ask, features=features, settings=settings
    )
    expected, whole = train_windows(
        windows.with_tasks(windows.tasks), features=features, settings=settings
    )
    assert solution.converged
    assert whole.converged
    assert solution.primal == pytest.approx(whole.primal, rel=2e-5)
    assert solution.dual <= whole.primal * (1 + 1e-9)
    assert whole.dual <= solution.primal * (1 + 1e-9)
    scores = model.decision_function(windows)
    np.testing.assert_allclose(scores, expected.decision_function(windows), atol=0.02)
    np.testing.assert_allclose(model.calibration, expected.calibration, rtol=0.1, atol=0.1)
    assert model.site == expected.site
    told = [(p["gap"], p["n_active"]) for p in model.training["history"]]
    assert told[-1][0] <= 1e-5
    assert all(n < len(windows) for _, n in told)


def test_the_gap_is_that_of_all_windows(windows, store, monkeypatch):
    monkeypatch.setattr("seqmtl.models.stored_fit.most_active", lambda *_: 2500)
    seen = []
    settings = Settings(tol=1e-2, dtype="float64", C=0.5)
    model, solution = train_stored(
        store, memory=4 * GIB, ask=ask, features=WeightedDegree(3), settings=settings,
        on_look=lambda active, _: seen.append(active),
    )  # fmt: skip
    alpha = np.where(seen[-1].bound, 0.5, 0.0)
    alpha[seen[-1].rows] = solution.alpha
    assert seen[-1].bound.sum() > 100
    assert model.training["n_support"] == (alpha > 0).sum()
    some = np.random.default_rng(2).choice(len(windows), 300, replace=False)
    X = WeightedDegree(3).fit_transform(windows).astype(np.float64)
    ids = windows.task_ids
    K = np.where(ids[some][:, np.newaxis] == ids, 1.0, 0.25)
    gram = (X[some] @ X.T).toarray() + 1.0
    scores = model.decision_function(windows)
    np.testing.assert_allclose(scores[some], (K * gram) @ (alpha * windows.labels), atol=1e-6)
    losses = 0.5 * np.maximum(0.0, 1.0 - windows.labels * scores).sum()
    half_q = 0.5 * (alpha * windows.labels * scores).sum()
    assert solution.primal == pytest.approx(losses + half_q, rel=1e-6)
    assert solution.dual == pytest.approx(alpha.sum() - half_q, rel=1e-6)
    assert solution.gap == pytest.approx(1.0 - solution.dual / solution.primal, abs=1e-9)


def test_neither_order_nor_threads_change_the_result(store):
    found = []
    for way, threads in ((ask, 1), (shuffled, 1), (ask, 3)):
        with use_threads(threads):
            model, _ = train_stored(store, memory=4 * GIB, ask=way, features=PositionalKmers())
        found.append(np.asarray(model.W))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize("n", [900, 6000])
def test_hyperparameters_are_those_selected_in_memory(windows, tmp_path, n):
    windows = windows[:n].with_tasks(windows[:n].tasks)
    store = store_windows([windows], str(tmp_path / "store"))
    examples = labelled(windows, windows.labels, windows.task_ids, windows.task_names)
    expected, _ = train_selected(examples)
    space = Space.of_sharing(windows.task_names)
    model, _ = train_stored(store, memory=4 * GIB, ask=ask, space=space)
    assert model.training["selection"] == expected.training["selection"]
    scores = [m.decision_function(windows) for m in (model, expected)]
    assert np.corrcoef(*scores)[0, 1] > 0.999


def test_it_goes_on_from_a_state(store):
    seen = []
    options = {"memory": 4 * GIB, "ask": ask, "features": WeightedDegree(4)}
    _, whole = train_stored(
        store,
        **options,
        on_look=lambda a, _: seen.append(copy.deepcopy(a.state())),
    )
    _, rest = train_stored(store, **options, state=seen[-2])
    assert rest.primal == pytest.approx(whole.primal, rel=1e-3)
    assert len(rest.history) <= 2 < len(whole.history)


def test_few_windows_may_be_active(windows, store, monkeypatch):
    options = {"memory": GIB, "ask": ask, "features": WeightedDegree(4)}
    whole, solution = train_stored(store, **options)
    for most in (4500, 2500):
        monkeypatch.setattr("seqmtl.models.stored_fit.most_active", lambda *_, n=most: n)
        model, few = train_stored(store, **options)
        assert max(look.n_active for look in few.history) <= most
        assert few.converged
        assert few.primal == pytest.approx(solution.primal, rel=1e-3)
        scores = [m.decision_function(windows) for m in (whole, model)]
        assert np.corrcoef(*scores)[0, 1] > 0.999
        np.testing.assert_allclose(model.calibration, whole.calibration, rtol=0.1, atol=0.1)
    monkeypatch.setattr("seqmtl.models.stored_fit.most_active", lambda *_: 200)
    with pytest.raises(
        MemoryLimitError, match="windows or more have to be in memory, and there is room for 200"
    ):
        train_stored(store, **options)


@pytest.mark.parametrize("n", [40, 300])
def test_windows_that_are_all_support_vectors_fit(tmp_path, n):
    rng = np.random.default_rng(n)
    rows = ["".join(rng.choice(list("ACGT"), 20)) for _ in range(n)]
    windows = Windows.from_strings(rows, rng.permutation(np.resize([1, -1], n)), ["a"] * n)
    settings = Settings(C=0.01, tol=1e-4)
    options = {"features": WeightedDegree(3), "settings": settings}
    store = store_windows([windows], str(tmp_path / "s"))
    model, solution = train_stored(store, memory=GIB, ask=ask, **options)
    expected, whole = train_windows(windows, **options)
    assert (solution.alpha > 0).all()
    assert solution.primal == pytest.approx(whole.primal, rel=2e-4)
    assert np.corrcoef(*(m.decision_function(windows) for m in (model, expected)))[0, 1] > 0.999


def test_many_organisms_have_the_optimum_of_memory(windows, tmp_path):
    names = [f"o{t}" for t in range(20)]
    rows = windows[:1200].matrix()
    many = Windows(
        rows.reshape(-1), np.arange(1200) * 40, 40, labels=windows.labels[:1200],
        task_ids=np.arange(1200) % 20, task_names=names,
    )  # fmt: skip
    pairs = [f"(o{2 * k}:1,o{2 * k + 1}:1):{k + 1}" for k in range(10)]
    tree = TaskKernel.from_newick(f"({','.join(pairs)});").restrict(names)
    options = {"features": WeightedDegree(3), "task_kernel": tree, "settings": Settings(tol=1e-4)}
    store = store_windows([many], str(tmp_path / "s"))
    model, solution = train_stored(store, memory=4 * GIB, ask=ask, **options)
    expected, whole = train_windows(many, **options)
    assert solution.primal == pytest.approx(whole.primal, rel=2e-4)
    assert np.corrcoef(*(m.decision_function(many) for m in (model, expected)))[0, 1] > 0.999


def test_too_little_memory_is_refused_before_it_starts(store):
    with pytest.raises(MemoryLimitError, match=r"takes at least 0\.\d+ GiB.* allows 0\.10; give"):
        train_stored(store, memory=GIB // 10, ask=None)
    with pytest.raises(SeqmtlError, match="all must be in memory"):
        train_stored(store, memory=GIB, ask=None, settings=Settings(loss="logistic"))


@pytest.fixture
def table(windows, tmp_path):
    lines = ["organism\tlabel\tsequence\tsplit"]
    tasks, letters = windows.tasks, windows.sequences()
    lines += [
        f"{task}\t{label}\t{row}\t{'test' if k % 5 == 0 else 'train'}"
        for k, (task, label, row) in enumerate(zip(tasks, windows.labels, letters, strict=True))
    ]
    path = tmp_path / "windows.tsv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("options", [{}, {"split": "train"}, {"window": 21}])
def test_a_table_is_read_in_parts(table, options, monkeypatch):
    whole = read_windows(table, **options)
    monkeypatch.setattr(streams, "BLOCK_BYTES", 20_000)
    parts = list(read_windows_in_parts(table, 100, **options))
    assert len(parts) > 5
    for name in ("matrix", "sequences"):
        found = [row for part in parts for row in getattr(part, name)()]
        np.testing.assert_array_equal(found, getattr(whole, name)())
    assert [name for part in parts for name in part.names] == list(whole.names)
    np.testing.assert_array_equal(np.concatenate([part.tasks for part in parts]), whole.tasks)


def test_the_command_trains_the_model_of_memory(table, tmp_path, capsys):
    common = ["train", str(table), "-q", "--features", "wd:4", "--selection", "none"]
    for name, options in (("core", []), ("disk", ["--memory", "2G"])):
        assert main([*common, "-o", str(tmp_path / f"{name}.seqmtl"), *options]) == 0
    core, disk = (load_model(tmp_path / f"{name}.seqmtl") for name in ("core", "disk"))
    assert disk.training["primal"] == pytest.approx(core.training["primal"], rel=2e-3)
    assert disk.training["tasks"] == core.training["tasks"]
    assert not (tmp_path / "disk.seqmtl.windows").exists()


def assert_damage_is_told(path, read):
    """Change a file in many ways: it is read, or refused with its name and a remedy."""
    whole, said = path.read_bytes(), []
    for _, content in mutations.mutations(whole, seed=0):
        path.write_bytes(content)
        try:
            read()
        except SeqmtlError as error:
            said.append(str(error))
    path.write_bytes(whole)
    assert len(said) > 10
    assert all(text.startswith(f"{path}: ") and "without --resume" in text for text in said)


def test_an_interrupted_command_resumes(table, tmp_path, capsys, monkeypatch):
    from seqmtl.models import stored_look

    output, n_looks = tmp_path / "m.seqmtl", []
    command = ["train", str(table), "-o", str(output), "--features", "wd:4", "--memory", "2G"]

    def interrupt(*arguments):
        n_looks.append(1)
        if len(n_looks) == 3:
            raise KeyboardInterrupt
        return look(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(stored_look, "look", interrupt)
        assert main(command) == 130
    assert "repeat the command with --resume to continue" in capsys.readouterr().err
    folder = tmp_path / "m.seqmtl.windows"
    state = (folder / "state").read_bytes()
    assert main([*command, "--resume", "-C", "2"]) == 1
    assert "of another DATA or other options" in capsys.readouterr().err
    whole = (folder / "store.json").read_text()
    odd = json.loads(whole)
    odd["parts"][0]["n"] = "1"
    for text in ("{", "[]", '{"request": 1}', json.dumps(odd)):
        (folder / "store.json").write_text(text)
        assert main([*command, "--resume"]) == 1
        assert "store.json: damaged" in capsys.readouterr().err
    (folder / "store.json").write_text(whole)
    (folder / "state").write_bytes(state[:-9])
    assert main([*command, "--resume"]) == 1
    assert "state: damaged; train without --resume" in capsys.readouterr().err
    (folder / "state").write_bytes(state)
    part = StoredPart(**json.loads(whole)["parts"][0])
    resumed = argparse.Namespace(resume=True)
    assert_damage_is_told(Path(part.path), part.load)
    assert_damage_is_told(
        folder / "state", lambda: _train_stored._state(str(folder), resumed, part.n)
    )

    def watch(question, part, active, bound):
        asked.append((active.size, bool(np.asarray(question.W).any())))
        return look(question, part, active, bound)

    asked = []
    monkeypatch.setattr(stored_look, "look", watch)
    assert main([*command, "--resume"]) == 0
    assert asked[0] == (read_arrays_of(state)["rows"].size, True)  # it begins where the other was
    assert load_model(output).training["converged"]
    assert not folder.exists()


def read_arrays_of(content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "state")
        path.write_bytes(content)
        return {name: np.array(array) for name, array in read_arrays(path)[1].items()}


def test_nothing_is_kept_of_a_selection_that_is_interrupted(table, tmp_path, capsys, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(stored_fit, "select", interrupt)
    assert main(["train", str(table), "-o", str(tmp_path / "m"), "--memory", "2G"]) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "seqmtl: error: interrupted"
    assert not (tmp_path / "m.windows").exists()


@pytest.mark.parametrize("memory", [[], ["--memory", "2G"]])
def test_faults_of_windows_are_those_of_all_parts(tmp_path, capsys, monkeypatch, memory):
    monkeypatch.setattr(streams, "BLOCK_BYTES", 20_000)
    monkeypatch.setattr(window_store, "PART", 500)
    rng = np.random.default_rng(2)
    rows = ["".join(row) for row in rng.choice(list("ACGT"), (3_000, 30))]
    rows[2_900] = "N" * 30
    rows[5], rows[2_000] = rows[7], rows[9]  # the first 20 are true sites, all others decoys
    lines = [f"fly\t{1 if k < 20 else -1}\t{row}" for k, row in enumerate(rows)]
    path = tmp_path / "w.tsv"
    path.write_text("\n".join(["organism\tlabel\tsequence", *lines]) + "\n")
    command = ["train", str(path), "-o", str(tmp_path / "m"), "--features", "wd:2", "-q"]
    assert main([*command, "--selection", "none", *memory]) == 0
    assert [line.partition("w.tsv: ")[2] for line in capsys.readouterr().err.splitlines()] == [
        "1 of 3000 windows hold no A, C, G or T (first: 2900) and are used all the same; "
        "leave them out",
        "windows that occur with both labels: 1 of fly; check the labels",
        "organisms with 100 times as many windows of one class as of the other (true sites to "
        "decoys): fly (20 to 2980); consider --balanced",
    ]


def test_a_table_of_one_split_is_used_whole(table, tmp_path, capsys):
    path = tmp_path / "one.tsv"
    path.write_text(
        table.read_text().replace("\ttest\n", "\tall\n").replace("\ttrain\n", "\tall\n")
    )
    common = ["train", str(path), "--features", "wd:3", "--selection", "none"]
    for name, options in (("core", []), ("disk", ["--memory", "2G"])):
        assert main([*common, "-o", str(tmp_path / f"{name}.seqmtl"), *options]) == 0
        assert "ignoring it and using all rows" in capsys.readouterr().err
    core, disk = (load_model(tmp_path / f"{name}.seqmtl") for name in ("core", "disk"))
    assert disk.training["tasks"] == core.training["tasks"]


def test_a_folder_of_others_is_left_alone(table, tmp_path, capsys):
    folder = tmp_path / "m.windows"
    folder.mkdir()
    (folder / "thesis.txt").write_text("precious")
    (folder / "thesis.unfinished.txt").write_text("precious, too")
    command = ["train", str(table), "-o", str(tmp_path / "m"), "--memory", "2G"]
    assert main(command) == 1
    assert "which has other files (thesis.txt); move them" in capsys.readouterr().err
    (folder / "thesis.txt").unlink()
    assert main(command) == 1
    assert (folder / "thesis.unfinished.txt").read_text() == "precious, too"


def test_what_a_killed_run_left_is_replaced(table, tmp_path):
    folder = tmp_path / "m.windows"
    folder.mkdir()
    (folder / "00000.windows").write_text("half")
    (folder / ".00001.windows.unfinished-abc").write_text("half")
    command = ["train", str(table), "-o", str(tmp_path / "m"), "--features", "wd:3"]
    assert main([*command, "--selection", "none", "--memory", "2G", "-q"]) == 0
    assert not folder.exists()


@pytest.mark.parametrize("data", [[], ["-"]])
def test_it_needs_data_on_disk(data, tmp_path, capsys):
    assert main(["train", *data, "-o", str(tmp_path / "m"), "--memory", "2G"]) == 1
    assert "read DATA from disk; name a dataset or a table" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--memory", "much"], "must be a size such as 500M or 4G, got 'much'"),
        (["--memory", "0.5"], "must be a size such as 500M or 4G, got '0.5'"),
        (["--memory", "1M"], "GiB, and --memory allows 0.00; give more"),
        (["--memory", "2G", "--loss", "logistic"], "--loss logistic needs all windows in memory"),
        (["--memory", "2G", "--mkl", "smooth", "--distances", "d"], "--mkl needs all windows"),
        (["--memory", "2G", "--shift", "3"], "--shift needs a window length"),
        (["--dask", "local:0"], "must be the address of a scheduler"),
    ],
)
def test_what_it_cannot_do_is_refused(table, tmp_path, capsys, options, message):
    try:
        code = main(["train", str(table), "-o", str(tmp_path / "m"), *options])
    except SystemExit as error:
        code = error.code
    assert code in (1, 2)
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir() if "lock" not in path.name] == ["windows.tsv"]
