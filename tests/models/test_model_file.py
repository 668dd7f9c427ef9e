"""Model files: exact round trips, and every kind of damage refused."""

import errno
import gzip
import hashlib
import io
import json
import os
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from seqmtl import (
    MultiTaskMKLClassifier,
    MultiTaskModel,
    MultiTaskSVC,
    Spectrum,
    TaskKernel,
    WeightedDegree,
)
from seqmtl.exceptions import ModelFileError, SeqmtlError
from seqmtl.files.model_file import read_arrays, write_arrays
from seqmtl.sequences import Windows

DESCRIPTION = {"format": "seqmtl model", "names": ["a", "ü"], "number": 1.5, "none": None}
ARRAYS = {
    "W": np.arange(12, dtype=np.float32).reshape(4, 3),
    "b": np.array([0.1, -2.0]),
    "rows": np.array([1, 5], dtype=np.int32),
    "long": np.array([2**40]),
    "bytes": np.array([0, 255], dtype=np.uint8),
    "empty": np.zeros((0, 3)),
    "scalar": np.array(7.0),
}


def _windows(n=120, length=12):
    rng = np.random.default_rng(0)
    letters = rng.integers(0, 4, (n, length)).astype(np.uint8)
    labels = np.where(np.arange(n) % 3 == 0, 1, -1)
    letters[labels > 0, 5:8] = [0, 2, 1]
    return Windows(
        letters.ravel(), np.arange(n) * length, length,
        labels=labels, task_ids=np.arange(n) % 2, task_names=("worm", "fly"),
    )  # fmt: skip


def _model(features, **options):
    kernel = TaskKernel.from_newick("((worm:1,fly:1):1,yeast:2);")
    return MultiTaskSVC(features=features, task_kernel=kernel, **options).fit(_windows()).model_


@pytest.fixture(scope="module")
def dense_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "dense.seqmtl"
    _model(Spectrum(k=2)).save(path)
    return path


@pytest.fixture(scope="module")
def sparse_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "sparse.seqmtl"
    _model(WeightedDegree(degree=5)).save(path)
    return path


def _split(raw):
    size = int.from_bytes(raw[:8], "little")
    return json.loads(raw[8 : 8 + size]), raw[8 + size : -32]


def _assemble(table, data):
    """Write a file whose checksum is right, whatever its header says."""
    header = table if isinstance(table, bytes) else json.dumps(table).encode()
    start = len(header).to_bytes(8, "little") + header + data
    return start + hashlib.sha256(start).digest()


def _edited(path, edit):
    """Return the file with its description edited and its checksum made right."""
    table, data = _split(path.read_bytes())
    description = json.loads(table["__metadata__"]["seqmtl"])
    edit(description)
    table["__metadata__"]["seqmtl"] = json.dumps(description)
    return _assemble(table, data)


class TestArrays:
    def test_round_trip(self, tmp_path):
        path = tmp_path / "file"
        write_arrays(path, DESCRIPTION, ARRAYS)
        description, arrays = read_arrays(path)
        assert description == DESCRIPTION
        assert arrays.keys() == ARRAYS.keys()
        for name, array in ARRAYS.items():
            assert arrays[name].dtype == array.dtype
            assert arrays[name].shape == array.shape
            assert_array_equal(arrays[name], array)

    @settings(max_examples=50)
    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["f4", "f8", "i4", "i8", "u1"]),
                st.lists(st.integers(0, 4), max_size=3),
            ),
            max_size=5,
        ),
        st.dictionaries(st.text(), st.none() | st.integers() | st.text(), max_size=3),
    )
    def test_any_arrays_come_back(self, tmp_path_factory, specs, description):
        path = tmp_path_factory.mktemp("any") / "file"
        rng = np.random.default_rng(0)
        arrays = {
            f"array {i}": rng.integers(0, 200, shape).astype(dtype)
            for i, (dtype, shape) in enumerate(specs)
        }
        write_arrays(path, description, arrays)
        found, back = read_arrays(path)
        assert found == description
        for name, array in arrays.items():
            assert back[name].dtype == array.dtype
            assert_array_equal(back[name], array)

    def test_strided_and_big_endian_arrays(self, tmp_path):
        path = tmp_path / "file"
        grid = np.arange(24.0).reshape(4, 6)
        arrays = {"F": np.asfortranarray(grid), "T": grid.T, "s": grid[::2, ::-3]}
        write_arrays(path, {}, {**arrays, "big": grid.astype(">f8")})
        _, back = read_arrays(path)
        for name, array in {**arrays, "big": grid}.items():
            assert_array_equal(back[name], array)

    def test_arrays_are_mapped_and_read_only(self, tmp_path):
        path = tmp_path / "file"
        write_arrays(path, {}, ARRAYS)
        _, arrays = read_arrays(path)
        base = arrays["W"]
        while not isinstance(base, np.memmap):
            base = base.base
        assert base.mode == "r"
        with pytest.raises(ValueError, match="read-only"):
            arrays["W"][0, 0] = 1.0

    def test_layout_is_that_of_safetensors(self, tmp_path):
        path = tmp_path / "file"
        write_arrays(path, DESCRIPTION, ARRAYS)
        raw = path.read_bytes()
        table, _ = _split(raw)
        size = int.from_bytes(raw[:8], "little")
        assert (size + 8) % 64 == 0
        begin, end = table["W"]["data_offsets"]
        found = np.frombuffer(raw[8 + size + begin : 8 + size + end], "<f4")
        assert_array_equal(found.reshape(table["W"]["shape"]), ARRAYS["W"])
        assert table["sha256"]["data_offsets"][1] == len(raw) - 8 - size

    def test_the_same_content_is_the_same_file(self, tmp_path):
        for name in "ab":
            write_arrays(tmp_path / name, DESCRIPTION, ARRAYS)
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()

    def test_no_file(self, tmp_path):
        with pytest.raises(ModelFileError, match="cannot be opened as a model") as info:
            read_arrays(tmp_path / "absent")
        assert info.value.path == str(tmp_path / "absent")

    def test_a_folder(self, tmp_path):
        with pytest.raises(ModelFileError, match="cannot be opened as a model"):
            read_arrays(tmp_path)


class TestModels:
    @pytest.mark.parametrize(
        "features", [WeightedDegree(degree=2), WeightedDegree(degree=5), Spectrum(k=2, begin=3),
                     WeightedDegree(degree=9, hash_bits=14), WeightedDegree(weighting="flat")],
    )  # fmt: skip
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_round_trip_is_exact(self, tmp_path, features, dtype):
        windows, path = _windows(), tmp_path / "model"
        model = _model(features, dtype=dtype)
        model.save(path)
        again = MultiTaskModel.load(path)
        assert again.W.dtype == dtype
        for name in ("W", "bias", "calibration"):
            assert_array_equal(getattr(again, name), getattr(model, name))
        for name in ("length", "tasks", "kernel", "site", "training"):
            assert getattr(again, name) == getattr(model, name)
        assert_array_equal(again.decision_function(windows), model.decision_function(windows))
        for task in ("fly", "yeast"):
            scores = model.decision_function(windows, task, from_relatives=True)
            assert_array_equal(again.decision_function(windows, task, from_relatives=True), scores)
            tasks = [task] * len(windows)
            assert_array_equal(again.probability(scores, tasks), model.probability(scores, tasks))

    def test_several_kernels_round_trip(self, tmp_path):
        kernel = TaskKernel.hierarchical("((worm,fly)insects,yeast)all;")
        views, windows = [Spectrum(k=2), WeightedDegree(degree=2)], _windows()
        model = MultiTaskMKLClassifier(views, kernel).fit(windows).model_
        model.save(tmp_path / "model")
        again = MultiTaskModel.load(tmp_path / "model")
        assert again.kernel == model.kernel
        assert again.kernel.n_kernels == 2
        assert again.kernel.labels == tuple(str(view) for view in views)
        for task in ("fly", "yeast"):
            scores = model.decision_function(windows, task, from_relatives=True)
            found = again.decision_function(windows, task, from_relatives=True)
            assert_array_equal(found, scores)

    def test_numeric_models_round_trip(self, tmp_path):
        rng = np.random.default_rng(1)
        X = rng.standard_normal((60, 4))
        model = MultiTaskSVC().fit(X, X[:, 0] > 0).model_
        model.save(tmp_path / "model")
        again = MultiTaskModel.load(tmp_path / "model")
        assert_array_equal(again.decision_function(X), model.decision_function(X))

    def test_saving_again_gives_the_same_bytes(self, tmp_path, dense_file, sparse_file):
        for path in (dense_file, sparse_file):
            MultiTaskModel.load(path).save(tmp_path / "again")
            assert (tmp_path / "again").read_bytes() == path.read_bytes()

    @pytest.mark.parametrize("rows", [1, 7, 1 << 14])
    def test_sparse_weights_come_back_however_they_are_looked_through(
        self, tmp_path, sparse_file, monkeypatch, rows
    ):
        monkeypatch.setattr("seqmtl.models.stored_weights._ROWS_AT_A_TIME", rows)
        model = MultiTaskModel.load(sparse_file)
        model.save(tmp_path / "again.seqmtl")
        stored = read_arrays(tmp_path / "again.seqmtl")[1]["rows"]
        assert_array_equal(stored, np.flatnonzero(np.any(model.W, axis=1)))
        assert_array_equal(MultiTaskModel.load(tmp_path / "again.seqmtl").W, model.W)

    def test_sparse_weights_make_small_files(self, sparse_file, dense_file):
        assert "rows" in _split(sparse_file.read_bytes())[0]
        assert "rows" not in _split(dense_file.read_bytes())[0]
        model = MultiTaskModel.load(sparse_file)
        assert sparse_file.stat().st_size < 0.5 * model.W.nbytes

    def test_weights_that_are_all_zero(self, tmp_path, dense_file):
        model = MultiTaskModel.load(dense_file)
        model.W = np.zeros_like(model.W)
        model.save(tmp_path / "zero")
        assert_array_equal(MultiTaskModel.load(tmp_path / "zero").W, model.W)

    def test_dense_weights_stay_on_disk(self, dense_file):
        W = MultiTaskModel.load(dense_file).W
        assert not W.flags.writeable
        while W.base is not None and not isinstance(W, np.memmap):
            W = W.base
        assert isinstance(W, np.memmap)

    def test_unicode_paths_and_names(self, tmp_path):
        windows = _windows()
        windows.task_names = ("Ölkäfer", "Fliege 🪰")
        model = MultiTaskSVC(features=Spectrum(k=2)).fit(windows).model_
        path = tmp_path / "modèle 模型"
        model.save(path)
        assert MultiTaskModel.load(path).tasks == model.tasks


class TestDamage:
    @pytest.mark.parametrize("name", ["dense_file", "sparse_file"])
    def test_every_flipped_bit_is_found(self, tmp_path, request, name):
        raw = bytearray(request.getfixturevalue(name).read_bytes())
        path = tmp_path / "flipped"
        rng = np.random.default_rng(5)
        places = rng.integers(0, 8 * len(raw), 200)
        places[:12] = [*range(8), *(8 * len(raw) - 1 - np.arange(4))]
        for place in places:
            byte, bit = divmod(int(place), 8)
            raw[byte] ^= 1 << bit
            path.write_bytes(raw)
            with pytest.raises(ModelFileError, match="flipped: "):
                MultiTaskModel.load(path)
            raw[byte] ^= 1 << bit

    @pytest.mark.parametrize("part", range(50))
    def test_cut_off_files_are_refused(self, tmp_path, sparse_file, part):
        raw = sparse_file.read_bytes()
        path = tmp_path / "cut"
        path.write_bytes(raw[: len(raw) * part // 50])
        with pytest.raises(ModelFileError, match="cut: "):
            MultiTaskModel.load(path)

    @pytest.mark.parametrize("change", [-1, 1, 64])
    def test_a_few_bytes_less_or_more(self, tmp_path, sparse_file, change):
        raw = sparse_file.read_bytes()
        path = tmp_path / "changed"
        path.write_bytes(raw[:change] if change < 0 else raw + b"\0" * change)
        with pytest.raises(ModelFileError, match="is truncated or has extra bytes"):
            MultiTaskModel.load(path)

    @pytest.mark.parametrize("kind", ["empty", "short", "text", "zip", "npy", "gzip", "json"])
    def test_foreign_files_are_refused(self, tmp_path, sparse_file, kind):
        buffer = io.BytesIO()
        if kind == "zip":
            with zipfile.ZipFile(buffer, "w") as archive:
                archive.writestr("model", "x" * 1000)
        elif kind == "npy":
            np.save(buffer, np.arange(100))
        content = {
            "empty": b"",
            "short": b"abc",
            "text": b"organism\tlabel\tsequence\n" * 50,
            "gzip": gzip.compress(sparse_file.read_bytes()),
            "json": json.dumps({"format": "seqmtl model"}).encode() * 20,
        }.get(kind, buffer.getvalue())
        path = tmp_path / "foreign"
        path.write_bytes(content)
        match = "cannot be opened as a model" if kind == "empty" else "is not a seqmtl model"
        with pytest.raises(ModelFileError, match=match) as info:
            MultiTaskModel.load(path)
        assert info.value.path == str(path)

    def test_another_safetensors_file(self, tmp_path):
        path = tmp_path / "other"
        table = {"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}
        path.write_bytes(_assemble(table, b"\0" * 8))
        with pytest.raises(ModelFileError, match="header is unreadable"):
            MultiTaskModel.load(path)

    def test_a_file_of_arrays_that_is_no_model(self, tmp_path):
        write_arrays(tmp_path / "other", {"format": "seqmtl checkpoint"}, ARRAYS)
        with pytest.raises(ModelFileError, match="is not a seqmtl model"):
            MultiTaskModel.load(tmp_path / "other")


def _entry(**changes):
    return {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24], **changes}


_SUM = {"dtype": "U8", "shape": [32], "data_offsets": [24, 56]}
_META = {"seqmtl": json.dumps({"format": "seqmtl model", "format_version": 4})}


class TestHostileHeaders:
    def _refuse(self, path, table, match, data=b"\0" * 24):
        path.write_bytes(_assemble(table, data))
        with pytest.raises(ModelFileError, match=match):
            read_arrays(path)

    def test_the_frame_of_these_tests_is_accepted(self, tmp_path):
        path = tmp_path / "file"
        table = {"__metadata__": _META, "w": _entry(), "sha256": _SUM}
        path.write_bytes(_assemble(table, b"\0" * 24))
        assert_array_equal(read_arrays(path)[1]["w"], np.zeros((2, 3)))

    @pytest.mark.parametrize("size", [0, 2**26 + 1, 2**32, 2**63, 2**64 - 1])
    def test_header_lengths(self, tmp_path, size):
        path = tmp_path / "file"
        path.write_bytes(size.to_bytes(8, "little") + b"{}" * 100)
        with pytest.raises(ModelFileError, match="truncated in its header"):
            read_arrays(path)

    @pytest.mark.parametrize(
        "entry",
        [
            _entry(data_offsets=[-24, 0]),
            _entry(data_offsets=[0, 24.0]),
            _entry(data_offsets=[0]),
            _entry(data_offsets=None),
            _entry(shape=[-2, -3]),
            _entry(shape=[2, True]),
            _entry(shape="23"),
            _entry(shape=6),
            _entry(shape=[2**31, 2**33]),
            _entry(shape=[2**62, 0], data_offsets=[0, 0]),
            _entry(shape=[1] * 100),
            _entry(dtype="F16"),
            _entry(dtype=["F32"]),
            _entry(dtype="object"),
            {"dtype": "F32", "shape": [2, 3]},
            [0, 24],
            None,
        ],
    )
    def test_entries_that_are_none(self, tmp_path, entry):
        table = {"__metadata__": _META, "w": entry, "sha256": _SUM}
        self._refuse(tmp_path / "file", table, "header is unreadable")

    @pytest.mark.parametrize(
        "entries",
        [
            {"w": _entry(shape=[2**28, 2**31])},
            {"w": _entry(shape=[2**30, 2**29])},
            {"w": _entry(shape=[5])},
            {"w": _entry(dtype="F64")},
            {"w": _entry(data_offsets=[24, 0])},
            {"w": _entry(data_offsets=[4, 28])},
            {"w": _entry(), "v": _entry()},
            {"w": _entry(), "v": _entry(shape=[3], data_offsets=[12, 24])},
            {"w": _entry(shape=[3], data_offsets=[0, 12])},
            {"w": _entry(data_offsets=[10**6, 10**6 + 24])},
            {},
        ],
    )
    def test_arrays_that_do_not_fit(self, tmp_path, entries):
        table = {"__metadata__": _META, **entries, "sha256": _SUM}
        self._refuse(tmp_path / "file", table, "do not fit|is truncated")

    @pytest.mark.parametrize(
        "digest",
        [
            {"dtype": "U8", "shape": [8], "data_offsets": [24, 32]},
            {"dtype": "U8", "shape": [56], "data_offsets": [0, 56]},
            {"dtype": "U8", "shape": [0], "data_offsets": [56, 56]},
        ],
    )
    def test_checksums_of_another_place_or_size(self, tmp_path, digest):
        table = {"__metadata__": _META, "w": _entry(), "sha256": digest}
        self._refuse(tmp_path / "file", table, "do not fit|is truncated")

    @pytest.mark.parametrize(
        "table",
        [
            b"[" * 100_000 + b"]" * 100_000,
            b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
            b"\xff\xfe\x00",
            b"{" + b" " * 100,
            b"null",
            b"3",
            b"[]",
            b'"__metadata__"',
            {"w": _entry(), "sha256": _SUM},
            {"__metadata__": _META, "w": _entry()},
            {"__metadata__": {}, "w": _entry(), "sha256": _SUM},
            {"__metadata__": [1], "w": _entry(), "sha256": _SUM},
            {"__metadata__": {"seqmtl": "{"}, "w": _entry(), "sha256": _SUM},
            {"__metadata__": {"seqmtl": "[1]"}, "w": _entry(), "sha256": _SUM},
            {"__metadata__": {"seqmtl": 5}, "w": _entry(), "sha256": _SUM},
            {"__metadata__": {"seqmtl": "[" * 10**5}, "w": _entry(), "sha256": _SUM},
        ],
        ids=range(16),
    )
    def test_headers_that_are_none(self, tmp_path, table):
        self._refuse(tmp_path / "file", table, "header is unreadable")


class TestHostileDescriptions:
    def _refuse(self, tmp_path, raw, match):
        path = tmp_path / "edited"
        path.write_bytes(raw)
        with pytest.raises(ModelFileError, match=match):
            MultiTaskModel.load(path)

    @pytest.mark.parametrize(
        ("version", "remedy"),
        [(1, "train again"), (4, "train again"), (8, "install a newer seqmtl")],
    )
    def test_another_format_says_what_to_do(self, tmp_path, sparse_file, version, remedy):
        raw = _edited(sparse_file, lambda d: d.update(format_version=version))
        self._refuse(
            tmp_path, raw, rf"edited: has model format {version}, .* reads 5 to 7; {remedy}$"
        )

    def test_a_file_of_weighted_degrees_alone_is_refused_by_its_format(self, tmp_path, sparse_file):
        def age(description):
            description["format_version"] = 2
            description["features"] = {"kind": "weighted_degree", "degree": 5, "hash_bits": 0}

        self._refuse(tmp_path, _edited(sparse_file, age), "has model format 2, .*; train again")

    @pytest.mark.parametrize("version", [None, "1", 1.0])
    def test_versions_that_are_none(self, tmp_path, sparse_file, version):
        raw = _edited(sparse_file, lambda d: d.update(format_version=version))
        self._refuse(tmp_path, raw, "is not a seqmtl model")

    @pytest.mark.parametrize(
        "key", ["tasks", "length", "features", "n_features", "kernel", "site", "training"]
    )
    def test_missing_keys(self, tmp_path, sparse_file, key):
        raw = _edited(sparse_file, lambda d: d.pop(key))
        self._refuse(tmp_path, raw, "; the file is damaged or was edited; train again$")

    @pytest.mark.parametrize(
        "changes",
        [
            {"tasks": ["worm"]},
            {"tasks": ["fly", "yeast"]},
            {"tasks": 5},
            {"length": 13},
            {"length": -12},
            {"length": 2**70},
            {"n_features": 7},
            {"n_features": 2**62},
            {"features": {"kind": "gapped"}},
            {"features": {"kind": "positional_kmers", "views": "wd:5"}},
            {"features": "wd:5"},
            {"site": {"offset": 1}},
            {"site": 3},
            {"kernel": {"names": ["fly"], "source": ""}},
            {"kernel": {"names": ["a", "b", "c"], "source": ""}},
            {"kernel": None},
        ],
    )
    def test_values_that_contradict_each_other(self, tmp_path, sparse_file, changes):
        raw = _edited(sparse_file, lambda d: d.update(changes))
        self._refuse(tmp_path, raw, "; the file is damaged or was edited; train again$")

    @pytest.mark.parametrize(
        "changes",
        [
            {"views": "wd:21"},
            {"views": "wd:6"},
            {"views": "wd:5@4..3"},
            {"views": f"wd:{10**9}"},
            {"views": 5},
            {"views": ["wd:5"]},
            {"anchor": -1},
            {"anchor": 12},
            {"anchor": "middle"},
            {"hash_bits": 10**12},
            {"hash_bits": "all"},
        ],
    )
    def test_features_out_of_range(self, tmp_path, sparse_file, changes):
        raw = _edited(sparse_file, lambda d: d["features"].update(changes))
        self._refuse(tmp_path, raw, "; the file is damaged or was edited; train again$")

    @pytest.mark.parametrize(
        ("name", "array"),
        [
            ("rows", np.array([3, 3], dtype=np.int32)),
            ("rows", np.array([-1, 2], dtype=np.int32)),
            ("rows", np.array([0, 10**9], dtype=np.int32)),
            ("rows", np.array([0.0, 1.0])),
            ("rows", np.array([0], dtype=np.int32)),
            ("W", np.zeros((2, 2), dtype=np.int32)),
            ("W", np.zeros((2, 3))),
            ("W", np.zeros(4)),
            ("bias", np.zeros(3)),
            ("calibration", np.zeros((2, 1))),
            ("K", np.full((3, 3), np.nan)),
            ("K", np.eye(2)),
        ],
    )
    def test_arrays_that_contradict_the_description(self, tmp_path, sparse_file, name, array):
        description, arrays = read_arrays(sparse_file)
        arrays["W"], arrays["rows"] = np.ones((2, 2), np.float32), np.array([1, 3], dtype=np.int32)
        write_arrays(tmp_path / "good", description, arrays)
        assert MultiTaskModel.load(tmp_path / "good").W[3, 0] == 1
        write_arrays(tmp_path / "bad", description, {**arrays, name: array})
        with pytest.raises(ModelFileError, match=r"; the file is damaged .*; train again$"):
            MultiTaskModel.load(tmp_path / "bad")

    def test_a_missing_array(self, tmp_path, sparse_file):
        description, arrays = read_arrays(sparse_file)
        del arrays["bias"]
        write_arrays(tmp_path / "bad", description, arrays)
        with pytest.raises(ModelFileError, match="bad: array bias is missing; the file is damaged"):
            MultiTaskModel.load(tmp_path / "bad")

    def test_weights_beyond_the_memory_are_refused_before_they_are_allocated(
        self, tmp_path, sparse_file, monkeypatch
    ):
        monkeypatch.setattr("seqmtl._memory.available_memory", lambda: 1000)
        with pytest.raises(SeqmtlError, match=r"weights of .* features for 2 tasks would take"):
            MultiTaskModel.load(sparse_file)


class TestWriting:
    @pytest.mark.parametrize("exists", [False, True])
    def test_a_full_disk_leaves_nothing_behind(self, tmp_path, dense_file, monkeypatch, exists):
        model = MultiTaskModel.load(dense_file)
        path = tmp_path / "model"
        if exists:
            path.write_bytes(b"what was there")

        def full(*_):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(SeqmtlError, match=r"cannot write .*No space left .* free some space"):
            model.save(path)
        assert sorted(p.name for p in tmp_path.iterdir()) == (["model"] if exists else [])
        if exists:
            assert path.read_bytes() == b"what was there"

    def test_a_disk_that_fills_in_the_middle(self, tmp_path, monkeypatch):
        opened = os.fdopen

        class Filling:
            def __init__(self, stream):
                self.stream, self.left = stream, 100

            def write(self, data):
                self.left -= len(data)
                if self.left < 0:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                return self.stream.write(data)

            def __enter__(self):
                return self

            def __exit__(self, *_):
                self.stream.close()

        monkeypatch.setattr(os, "fdopen", lambda *a, **k: Filling(opened(*a, **k)))
        with pytest.raises(SeqmtlError, match="No space left"):
            write_arrays(tmp_path / "model", DESCRIPTION, ARRAYS)
        assert list(tmp_path.iterdir()) == []

    def test_a_folder_that_is_not_there(self, tmp_path):
        with pytest.raises(SeqmtlError, match="cannot write"):
            write_arrays(tmp_path / "absent" / "model", DESCRIPTION, ARRAYS)

    def test_a_model_can_be_saved_over_the_file_it_is_mapped_from(self, tmp_path, dense_file):
        path = tmp_path / "model"
        path.write_bytes(dense_file.read_bytes())
        MultiTaskModel.load(path).save(path)
        assert path.read_bytes() == dense_file.read_bytes()
