"""Training on stored windows: the optimum of training in memory, however the windows are cut."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path

import numpy as np
import pytest

from seqmtl import PositionalKmers, TaskKernel, load, use_threads
from seqmtl.adaptation.few_labels import train_with_few
from seqmtl.core.losses import LOSSES
from seqmtl.exceptions import MemoryLimitError, SeqmtlError
from seqmtl.features.joint import parse_features
from seqmtl.files.model_file import read_arrays, write_arrays
from seqmtl.io import window_store
from seqmtl.io.window_store import StoredPart, WindowStore, store_windows
from seqmtl.sequences import Windows
from seqmtl.sequences.examples import Examples
from seqmtl.training import cross_validation, selection, stored_windows
from seqmtl.training.fit import fit
from seqmtl.training.out_of_core import OutOfCoreTrainer
from seqmtl.training.parts import score_part
from seqmtl.training.selection import SearchSpace
from seqmtl.training.settings import Settings
from seqmtl.training.stored_windows import WindowCache
from tests import mutations

GIB = 1 << 30
ON_DISK = [name for name, loss in LOSSES.items() if loss.is_sparse]
N = 1500


@pytest.fixture(scope="module")
def windows():
    """Windows of three organisms, in a buffer that they share and in no order."""
    rng = np.random.default_rng(5)
    codes = rng.choice(4, 10_000, p=[0.35, 0.15, 0.15, 0.35]).astype(np.uint8)
    starts = rng.integers(0, codes.size - 40, N)
    y = np.where(rng.random(starts.size) < 0.2, 1, -1)
    codes = np.concatenate([codes, np.full(10, 4, np.uint8)])
    for start in starts[y > 0][::2]:
        codes[start + 18 : start + 22] = [0, 2, 2, 3]
    return Windows(
        codes,
        starts,
        40,
        is_reverse=rng.random(starts.size) < 0.3,
        labels=y,
        task_ids=rng.permutation(np.repeat([2, 0, 1], N // 3)),
        task_names=["fly", "worm", "yeast"],
    )


@pytest.fixture
def store(windows, tmp_path, monkeypatch):
    monkeypatch.setattr(window_store, "PART", 400)
    return store_windows([windows[:700], windows[700:]], str(tmp_path / "store"))


def score_parts(task, jobs):
    return (score_part(task, *job) for job in jobs)


def shuffled(task, jobs):
    """Score the parts in another order, and return the results in theirs."""
    found = {k: score_part(task, *jobs[k]) for k in np.random.default_rng(0).permutation(len(jobs))}
    return (found[k] for k in range(len(jobs)))


def train_stored(store, *, max_active=1000, score_parts=score_parts, memory=4 * GIB, **options):
    """Train on a store with room for fewer windows than it has."""
    examples = Examples(store, store.labels, store.task_ids, store.task_names)
    trainer = OutOfCoreTrainer(memory, score_parts, max_active=max_active)
    return train_with_few(examples, trainer=trainer, **options)


def assert_alike(windows, *models):
    scores = [model.decision_function(windows) for model in models]
    assert np.corrcoef(*scores)[0, 1] > 0.999


def test_a_store_holds_what_it_was_given(windows, store):
    rows = np.random.default_rng(1).integers(0, N, 500)
    found, expected = store[rows], windows[rows]
    np.testing.assert_array_equal(found.matrix(), expected.matrix())
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_array_equal(found.tasks, expected.tasks)
    for other in (store, WindowStore.of(store.parts)):
        np.testing.assert_array_equal(other.labels, windows.labels)
        names = np.array(other.task_names)[other.task_ids]
        np.testing.assert_array_equal(names, windows.tasks)
    path = store.parts[-1].path
    columns = read_arrays(path)[1]
    for change in (
        {"codes": columns["codes"].reshape(1, -1)},
        {"task_ids": columns["task_ids"] + np.int32(9)},
        {"starts": columns["starts"][1:]},
    ):
        write_arrays(path, {}, columns | change)
        with pytest.raises(SeqmtlError, match=r"\.windows: cannot read stored windows"):
            store[np.array([N - 1])]


@pytest.mark.parametrize("features", ["wd:4", "wd:3,gapped:6/4:stranded,hash:10"])
def test_the_optimum_is_that_of_training_in_memory(windows, store, features):
    features = parse_features(features)
    for loss, weight in zip(ON_DISK, [None, "balanced"], strict=True):
        settings = Settings(loss=loss, tol=1e-5, C=0.7, class_weight=weight, dtype="float64")
        options = {"features": features, "settings": settings}
        max_active = 0 if loss == "squared_hinge" else 1400  # all are its support vectors
        model, solution = train_stored(store, max_active=max_active, **options)
        expected, whole = fit(Examples.of(windows.with_tasks(windows.tasks)), **options)
        assert solution.converged
        assert whole.converged
        assert solution.primal == pytest.approx(whole.primal, rel=2e-5)
        assert solution.dual <= whole.primal * (1 + 1e-9)
        assert whole.dual <= solution.primal * (1 + 1e-9)
        scores = model.decision_function(windows)
        np.testing.assert_allclose(scores, expected.decision_function(windows), atol=0.02)
        np.testing.assert_allclose(model.calibration, expected.calibration, rtol=0.1, atol=0.1)
        told = model.training["history"]
        assert told[-1]["gap"] <= 1e-5
        assert all(entry["n_active"] < N for entry in told) == (loss != "squared_hinge")


def test_the_gap_is_that_of_all_windows(windows, store):
    seen = []
    settings = Settings(tol=1e-2, dtype="float64", C=0.5)
    model, solution = train_stored(
        store,
        features=PositionalKmers("wd:3"),
        settings=settings,
        on_epoch=lambda start, _: seen.append(start),
    )
    alpha = np.where(seen[-1]["bound"], 0.5, 0.0)
    alpha[seen[-1]["rows"]] = solution.alpha
    assert seen[-1]["bound"].sum() > 20
    assert model.training["n_support"] == (alpha > 0).sum()
    assert all(entry["n_active"] < N for entry in model.training["history"])
    some = np.random.default_rng(2).choice(N, 300, replace=False)
    X = PositionalKmers("wd:3").fit_transform(windows).astype(np.float64)
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
    for way, threads in ((score_parts, 1), (shuffled, 1), (score_parts, 3)):
        with use_threads(threads):
            model, _ = train_stored(
                store, score_parts=way, features=PositionalKmers("wd:3,kmers:3/9")
            )
        found.append(np.asarray(model.W))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_hyperparameters_are_those_selected_in_memory(windows, store, monkeypatch):
    for module in (cross_validation, selection):
        monkeypatch.setattr(module, "MAX_GRAM_EXAMPLES", 400)
    space = SearchSpace.of_sharing(store.task_names)
    expected, _ = train_with_few(Examples.of(windows.with_tasks(windows.tasks)), space)
    model, _ = train_stored(store, max_active=0, task_kernel=space)
    assert model.training["selection"] == expected.training["selection"]
    assert_alike(windows, model, expected)


def twenty_organisms(windows):
    """Return windows of twenty organisms, whose weights are in groups, and how to train."""
    names = [f"o{t}" for t in range(20)]
    rows = windows[:1200].matrix()
    many = Windows(
        rows.reshape(-1),
        np.arange(1200) * 40,
        40,
        labels=windows.labels[:1200],
        task_ids=np.arange(1200) % 20,
        task_names=names,
    )
    pairs = [f"(o{2 * k}:1,o{2 * k + 1}:1):{k + 1}" for k in range(10)]
    tree = TaskKernel.from_tree(f"({','.join(pairs)});").restrict(names)
    return many, {
        "features": PositionalKmers("wd:3"),
        "task_kernel": tree,
        "settings": Settings(tol=1e-4),
    }


def test_many_organisms_have_the_optimum_of_memory_and_a_run_that_ended_resumes_with_a_single_pass(
    windows, tmp_path
):
    """Killed after the last pass at the windows, for instance while it calibrated."""
    windows, options = twenty_organisms(windows)
    store = store_windows([windows[:700], windows[700:]], str(tmp_path / "s"))
    starts = []
    model, whole = train_stored(
        store, **options, on_epoch=lambda start, _: starts.append(copy.deepcopy(start))
    )
    expected, in_memory = fit(Examples.of(windows), **options)
    assert whole.primal == pytest.approx(in_memory.primal, rel=2e-4)
    assert_alike(windows, model, expected)
    resumed, solution = train_stored(store, **options, start=starts[-1])
    assert len(solution.history) == 1
    assert solution.gap <= options["settings"].tol
    assert solution.primal == pytest.approx(whole.primal, rel=1e-6)
    scores = [each.decision_function(windows) for each in (resumed, model)]
    np.testing.assert_allclose(*scores, atol=1e-4)
    np.testing.assert_allclose(resumed.calibration, model.calibration, rtol=1e-3, atol=1e-3)


def test_few_windows_may_be_active(windows, store):
    options = {"features": PositionalKmers("wd:4")}
    whole, solution = train_stored(store, max_active=0, **options)
    model, few = train_stored(store, max_active=900, **options)
    assert max(progress.n_active for progress in few.history) <= 900
    assert few.converged
    assert few.primal == pytest.approx(solution.primal, rel=1e-3)
    assert_alike(windows, whole, model)
    np.testing.assert_allclose(model.calibration, whole.calibration, rtol=0.1, atol=0.1)
    message = "windows or more have to be in memory, and there is room for 100"
    with pytest.raises(MemoryLimitError, match=message):
        train_stored(store, max_active=100, **options)


def test_passes_are_those_over_all_windows(store):
    """A tenth of the windows in memory may be visited ten times for a pass."""
    settings = Settings(tol=1e-9, max_epochs=4, dtype="float64")
    _, solution = train_stored(
        store, max_active=0, features=PositionalKmers("wd:4"), settings=settings
    )
    assert solution.stopped_by == "max_epochs"
    assert not solution.converged
    assert 4 <= solution.work < 7
    assert solution.work == solution.history[-1].work


def test_a_gap_that_rounding_prevents_is_not_taken_for_a_lack_of_memory(store):
    settings = Settings(tol=1e-11)
    model, solution = train_stored(
        store, max_active=0, features=PositionalKmers("wd:4"), settings=settings
    )
    assert solution.stopped_by == model.training["stopped_by"] == "rounding"
    assert solution.gap < 1e-5


def test_too_little_memory_is_refused_before_it_starts(store):
    with pytest.raises(MemoryLimitError, match=r"takes at least 0\.\d+ GiB.* allows 0\.10; give"):
        train_stored(store, memory=GIB // 10, max_active=0, score_parts=None)
    with pytest.raises(SeqmtlError, match="all must be in memory"):
        train_stored(store, score_parts=None, settings=Settings(loss="logistic"))


# ---- the command


@pytest.fixture(scope="module")
def table(windows, tmp_path_factory):
    lines = ["organism\tlabel\tsequence\tsplit"]
    tasks, letters = windows.tasks, windows.sequences()
    lines += [
        f"{task}\t{label}\t{row}\t{'test' if k % 5 == 0 else 'train'}"
        for k, (task, label, row) in enumerate(zip(tasks, windows.labels, letters, strict=True))
    ]
    path = tmp_path_factory.mktemp("table") / "windows.tsv"
    path.write_text("\n".join(lines) + "\n")
    return path


def assert_damage_is_refused(path, read):
    """Change a file in many ways: it is read, or refused with its name and a remedy."""
    whole, said = path.read_bytes(), []
    for _, content in mutations.mutations(whole, seed=0, n=60):
        path.write_bytes(content)
        try:
            read()
        except SeqmtlError as error:
            said.append(str(error))
    path.write_bytes(whole)
    assert len(said) > 10
    assert all(text.startswith(f"{path}: ") and "without --resume" in text for text in said)


@pytest.fixture
def interrupt(seqmtl, monkeypatch):
    """Return a function that presses Ctrl-C after some parts of a command."""

    def interrupt_command(command, after):
        asked = []

        def score(*arguments):
            asked.append(1)
            if len(asked) == after:
                raise KeyboardInterrupt
            return score_part(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(stored_windows, "score_part", score)
            return seqmtl(command, code=130).err

    return interrupt_command


def test_an_interrupted_command_resumes(table, tmp_path, seqmtl, monkeypatch, interrupt):
    output, asked = tmp_path / "m.seqmtl", []
    command = f"train {table} -o {output} --features wd:4 --memory 2G --selection none"
    assert "repeat the command with --resume to continue" in interrupt(command, 3)
    folder = tmp_path / "m.seqmtl.windows"
    n_active = read_arrays(folder / "state")[1]["rows"].size
    shown = seqmtl(f"{command} --resume -C 2", code=1).err
    assert f"{folder}: belongs to other data or options (C); resume with" in shown
    whole = (folder / "store.json").read_text()
    odd = json.loads(whole)
    odd["parts"][0]["n"] = "1"
    for text in ("{", '{"request": 1}', json.dumps(odd)):
        (folder / "store.json").write_text(text)
        assert "store.json: damaged" in seqmtl(f"{command} --resume", code=1).err
    moved = whole.replace(str(folder), "/elsewhere/m.seqmtl.windows")
    (folder / "store.json").write_text(moved)
    part = StoredPart(**json.loads(whole)["parts"][0])
    cache = WindowCache(str(folder), {})
    cache.n_windows = part.n
    assert_damage_is_refused(Path(part.path), part.load)
    assert_damage_is_refused(folder / "state", cache.load)

    def watch(task, part, active, *rest):
        asked.append((active.size, bool(np.asarray(task.weights).any())))
        return score_part(task, part, active, *rest)

    monkeypatch.setattr(stored_windows, "score_part", watch)
    seqmtl(f"{command} --resume")
    assert asked[0] == (n_active, True)  # it begins where the other was
    assert load(output).training["converged"]
    assert not folder.exists()


def test_files_that_changed_are_not_taken_for_those_of_the_interrupted_run(
    table, tmp_path, seqmtl, interrupt
):
    """Other contents of the same size and time stamp, as after rsync -t or in a container."""
    data, tree = tmp_path / "windows.tsv", tmp_path / "tree.nwk"
    data.write_bytes(table.read_bytes())
    tree.write_text("((fly:1,worm:1):1,yeast:2);")
    command = f"train {data} --tree {tree} -o {tmp_path}/m.seqmtl --features wd:4 --memory 2G"
    command += " --selection none"
    interrupt(command, 2)
    for path, changed in ((tree, "tree"), (data, "data")):
        before, facts = path.read_bytes(), path.stat()
        path.write_bytes(before.replace(b"1", b"9", 1))
        os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
        shown = seqmtl(f"{command} --resume", code=1).err
        assert f"windows: belongs to other data or options ({changed}); resume with" in shown
        path.write_bytes(before)  # a later copy is the same file
    seqmtl(f"{command} --resume")


@pytest.mark.parametrize("memory", ["", "--memory 2G"])
def test_faults_of_windows_are_those_of_all_parts(tmp_path, write, seqmtl, monkeypatch, memory):
    monkeypatch.setattr(window_store, "PART", 500)
    rng = np.random.default_rng(2)
    rows = ["".join(row) for row in rng.choice(list("ACGT"), (3_000, 30))]
    rows[2_900] = "N" * 30
    rows[5], rows[2_000] = rows[7], rows[9]  # the first 20 are true sites, all others decoys
    lines = [f"fly\t{1 if k < 20 else -1}\t{row}" for k, row in enumerate(rows)]
    path = write("\n".join(["organism\tlabel\tsequence", *lines]) + "\n", "w.tsv")
    quick = "--features wd:2 --selection none -q"
    shown = seqmtl(f"train {path} -o {tmp_path}/m --site 15 {quick} {memory}").err
    assert [line.partition("w.tsv: ")[2] for line in shown.splitlines()] == [
        "1 of 3000 windows hold no A, C, G or T (first: 2900) and are used all the same; "
        "leave them out",
        "windows that occur with both labels: 1 of fly; check the labels",
        "organisms with 100 times as many windows of one class as of the other (true sites to "
        "decoys): fly (20 to 2980); consider class_weight='balanced' in Python",
    ]


def test_a_folder_of_others_is_left_alone_and_what_a_killed_run_left_is_replaced(
    table, tmp_path, seqmtl
):
    folder = tmp_path / "m.windows"
    folder.mkdir()
    command = f"train {table} -o {tmp_path}/m --memory 2G --features wd:3 --selection none -q"
    for name in ("thesis.txt", "thesis.unfinished.txt"):
        (folder / name).write_text("precious")
        assert f"which has other files ({name}); move them" in seqmtl(command, code=1).err
        (folder / name).unlink()
    (folder / "00000.windows").write_text("half")
    (folder / ".00001.windows.unfinished-abc").write_text("half")
    seqmtl(command)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ("{0} --memory much", 2, "must be a size such as 500M or 4G, got 'much'"),
        ("{0} --memory 1M", 1, "GiB, and --memory allows 0.00; give more"),
        ("{0} --memory 2G --loss logistic", 2, "--loss logistic needs all windows in memory"),
        ("{0} --memory 2G --mkl smooth --tree t", 2, "--mkl needs all windows"),
        ("{0} --memory 2G --shift 3", 2, "--shift needs a window length"),
        ("- --memory 2G", 2, "read DATA from disk; name a dataset or a table"),
    ],
)
def test_what_it_cannot_do_is_refused(table, tmp_path, seqmtl, options, code, message):
    assert message in seqmtl(f"train -o {tmp_path}/m {options.format(table)}", code).err
    assert [path.name for path in tmp_path.iterdir() if "lock" not in path.name] == []
