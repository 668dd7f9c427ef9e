"""Model files: exact round trips, and every kind of damage refused."""

import gzip
import hashlib
import io
import json
import zipfile
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from seqmtl import MultiTaskModel, MultiTaskSVC, PositionalKmers, TaskKernel
from seqmtl.core.weights import TaskWeights
from seqmtl.exceptions import MemoryLimitError, ModelFileError
from seqmtl.files.model_file import read_arrays, write_arrays
from seqmtl.linear_model.weights_io import round_weights, step_of
from tests.linear_model.cases import motif_windows

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


def _windows():
    return motif_windows(120, ("worm", "fly"), at=5)


def _model(features, **options):
    kernel = TaskKernel.from_tree("((worm:1,fly:1):1,yeast:2);")
    return MultiTaskSVC(features=features, task_kernel=kernel, **options).fit(_windows()).model_


@pytest.fixture(scope="module")
def dense_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "dense.seqmtl"
    _model(PositionalKmers("kmers:2/inf", anchor=0)).save(path)
    return path


@pytest.fixture(scope="module")
def sparse_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "sparse.seqmtl"
    _model(PositionalKmers("wd:5")).save(path)
    return path


def _split(raw):
    size = int.from_bytes(raw[:8], "little")
    return json.loads(raw[8 : 8 + size]), raw[8 + size : -32]


def _assemble(table, data):
    """Write a file whose checksum is right, whatever its header says."""
    header = table if isinstance(table, bytes) else json.dumps(table).encode()
    start = len(header).to_bytes(8, "little") + header + data
    return start + hashlib.sha256(start).digest()


def _edited(path, changes):
    """Return the file with its description changed and its checksum made right."""
    table, data = _split(path.read_bytes())
    description = json.loads(table["__metadata__"]["seqmtl"])
    table["__metadata__"]["seqmtl"] = json.dumps(description | changes)
    return _assemble(table, data)


def _refused(path, raw, match, read=MultiTaskModel.load):
    path.write_bytes(raw)
    with pytest.raises(ModelFileError, match=match) as info:
        read(path)
    assert info.value.path == str(path)


class TestArrays:
    @settings(max_examples=30)
    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["<f4", "<f8", ">f8", "<i4", "<i8", "u1"]),
                st.lists(st.integers(0, 4), max_size=3),
                st.sampled_from("CF"),
            ),
            max_size=5,
        ),
        st.dictionaries(st.text(), st.none() | st.integers() | st.text(), max_size=3),
    )
    def test_any_arrays_come_back(self, tmp_path_factory, specs, description):
        path = tmp_path_factory.mktemp("any") / "file"
        rng = np.random.default_rng(0)
        arrays = {
            f"array {i}": rng.integers(0, 200, shape).astype(dtype, order=order)
            for i, (dtype, shape, order) in enumerate(specs)
        }
        write_arrays(path, description, arrays)
        found, back = read_arrays(path)
        assert found == description
        assert back.keys() == arrays.keys()
        for name, array in arrays.items():
            expected = array.astype(array.dtype.newbyteorder("<"))
            assert (back[name].dtype, back[name].shape) == (expected.dtype, array.shape)
            assert_array_equal(back[name], array)
        write_arrays(path.with_name("again"), description, arrays)
        assert path.with_name("again").read_bytes() == path.read_bytes()

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

    def test_no_file_or_a_folder(self, tmp_path):
        for path in (tmp_path / "absent", tmp_path):
            with pytest.raises(ModelFileError, match="cannot be opened as a model") as info:
                read_arrays(path)
            assert info.value.path == str(path)


def _rounded(model, step):
    """Scale and round the weights of a model; return them."""
    W = np.asarray(model.W)
    W = round_weights(W / np.abs(W).max(), step)
    model.W = TaskWeights.of(W, model.W.columns)
    return W


class TestModels:
    @pytest.mark.parametrize(
        ("features", "dtype"),
        [
            (PositionalKmers("wd:5"), "float32"),
            (PositionalKmers("kmers:2/inf@0..", anchor=3), "float32"),
            (PositionalKmers("wd:9", hash_bits=14), "float64"),
        ],
        ids=str,
    )
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
            scores = model.decision_function(windows, task)
            assert_array_equal(again.decision_function(windows, task), scores)
            tasks = [task] * len(windows)
            assert_array_equal(again.probability(scores, tasks), model.probability(scores, tasks))

    def test_sparse_weights_make_small_files(self, tmp_path, sparse_file, dense_file):
        assert "rows" not in read_arrays(dense_file)[1]
        model = MultiTaskModel.load(sparse_file)
        assert sparse_file.stat().st_size < 0.5 * np.asarray(model.W).nbytes
        stored = read_arrays(sparse_file)[1]["rows"]
        assert_array_equal(stored, np.flatnonzero(np.any(model.W, axis=1)))
        model.W = TaskWeights.of(np.zeros(model.W.shape, model.W.dtype), model.W.columns)
        model.save(tmp_path / "zero")
        assert_array_equal(MultiTaskModel.load(tmp_path / "zero").W, model.W)

    def test_weights_that_16_bits_hold_are_stored_in_16(self, tmp_path):
        whole, short = tmp_path / "whole", tmp_path / "short"
        for dtype, name in (("float32", "W16z"), ("float64", "W")):
            model = _model(PositionalKmers("wd:3"), dtype=dtype)
            model.save(whole)
            model.W = model.W.astype(np.float16).astype(dtype)
            model.save(short)
            again = MultiTaskModel.load(short)
            assert_array_equal(again.W, model.W)
            assert again.W.dtype == dtype
            assert name in read_arrays(short)[1]
            assert "W16z" not in read_arrays(whole)[1]
            again.save(tmp_path / "again")
            assert (tmp_path / "again").read_bytes() == short.read_bytes()

    def test_weights_in_steps_are_compressed(self, tmp_path):
        short, step = tmp_path / "short", 2.0**-5
        model = _model(PositionalKmers("wd:3"), dtype="float32")
        W = _rounded(model, step)
        assert_array_equal(W % step, 0)
        variants = (TaskWeights.of(V, model.W.columns) for V in (W, 2 * W, W + 1e-3))
        assert [step_of(weights) for weights in variants] == [step, 2 * step, 0]
        model.save(short)
        header, arrays = read_arrays(short)
        assert arrays["W16z"].nbytes < 0.25 * W.nbytes
        assert_array_equal(MultiTaskModel.load(short).W, W)
        for raw in (b"no", zlib.compress(W[1:].astype("<f2").tobytes())):
            damaged = arrays | {"W16z": np.frombuffer(raw, dtype=np.uint8)}
            write_arrays(short, header, damaged)
            with pytest.raises(ModelFileError, match="W16z"):
                MultiTaskModel.load(short)

    def test_compressed_weights_are_not_larger_than_weights_can_be(self, tmp_path, monkeypatch):
        """Zeros are compressed a thousand times; weights are ten times, and fit into memory."""
        path = tmp_path / "m"
        model = _model(PositionalKmers("wd:7"), dtype="float32")
        _rounded(model, 2.0**-5)
        model.save(path)
        header, arrays = read_arrays(path)
        size = 2 * arrays["rows"].size * model.W.shape[1]
        zeros = zlib.compress(bytes(size), 9)
        assert len(zeros) < size / 300
        write_arrays(path, header, arrays | {"W16z": np.frombuffer(zeros, dtype=np.uint8)})
        monkeypatch.setattr("zlib.decompressobj", None)  # nothing is decompressed
        with pytest.raises(
            ModelFileError, match=r"W16z must hold the weights of .* features for \d tasks; "
        ):
            MultiTaskModel.load(path)
        write_arrays(path, header, arrays)
        monkeypatch.setattr("seqmtl._memory.available_memory", lambda: 4 * size - 1)
        with pytest.raises(
            MemoryLimitError, match=r"weights of .* features for \d tasks would take"
        ):
            MultiTaskModel.load(path)


class TestDamage:
    def test_every_flipped_bit_is_found(self, tmp_path, sparse_file):
        raw = bytearray(sparse_file.read_bytes())
        path = tmp_path / "flipped"
        rng = np.random.default_rng(5)
        places = rng.integers(0, 8 * len(raw), 100)
        places[:12] = [*range(8), *(8 * len(raw) - 1 - np.arange(4))]
        for place in places:
            byte, bit = divmod(int(place), 8)
            raw[byte] ^= 1 << bit
            path.write_bytes(raw)
            with pytest.raises(ModelFileError, match="flipped: "):
                MultiTaskModel.load(path)
            raw[byte] ^= 1 << bit

    def test_cut_off_files_are_refused(self, tmp_path, sparse_file):
        raw = sparse_file.read_bytes()
        for part in range(20):
            _refused(tmp_path / "cut", raw[: len(raw) * part // 20], "cut: ")
        for changed in (raw[:-1], raw + b"\0", raw + b"\0" * 64):
            _refused(tmp_path / "changed", changed, "is truncated or has extra bytes")

    def test_foreign_files_are_refused(self, tmp_path, sparse_file):
        archive, array = io.BytesIO(), io.BytesIO()
        with zipfile.ZipFile(archive, "w") as packed:
            packed.writestr("model", "x" * 1000)
        np.save(array, np.arange(100))
        text = b"organism\tlabel\tsequence\n" * 50
        compressed = gzip.compress(sparse_file.read_bytes())
        for raw in (archive.getvalue(), array.getvalue(), text, compressed, b"abc"):
            _refused(tmp_path / "foreign", raw, "is not a seqmtl model")
        _refused(tmp_path / "foreign", b"<!DOCTYPE html>\n", "is not a seqmtl model: it is HTML")
        _refused(tmp_path / "foreign", b"", "cannot be opened as a model")
        table = {"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}
        _refused(tmp_path / "other", _assemble(table, b"\0" * 8), "header is unreadable")
        write_arrays(tmp_path / "checkpoint", {"format": "seqmtl checkpoint"}, ARRAYS)
        with pytest.raises(ModelFileError, match="is not a seqmtl model"):
            MultiTaskModel.load(tmp_path / "checkpoint")


def _entry(**changes):
    return {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24], **changes}


_SUM = {"dtype": "U8", "shape": [32], "data_offsets": [24, 56]}
_META = {"seqmtl": json.dumps({"format": "seqmtl model", "format_version": 1})}


_FRAME = {"__metadata__": _META, "w": _entry(), "sha256": _SUM}
_NO_ENTRIES = [
    *(_entry(data_offsets=offsets) for offsets in ([-24, 0], [0, 24.0], [0], None)),
    *(_entry(shape=shape) for shape in ([-2, -3], [2, True], "23", [2**31, 2**33], [1] * 100)),
    *(_entry(dtype=dtype) for dtype in ("F8", ["F32"])),
    _entry(shape=[2**62, 0], data_offsets=[0, 0]),
    {"dtype": "F32", "shape": [2, 3]},
    None,
]
_NO_HEADERS = [
    b"[" * 100_000 + b"]" * 100_000,
    b"\xff\xfe\x00",
    b"{" + b" " * 100,
    b"null",
    {"w": _entry(), "sha256": _SUM},
    {"__metadata__": _META, "w": _entry()},
    *({**_FRAME, "__metadata__": {"seqmtl": text}} for text in ("{", "[1]", 5, "[" * 10**5)),
    *({**_FRAME, "__metadata__": metadata} for metadata in ({}, [1])),
    *({**_FRAME, "w": entry} for entry in _NO_ENTRIES),
]
_NO_FITS = [
    *({"w": _entry(shape=shape)} for shape in ([2**28, 2**31], [5])),
    *({"w": _entry(data_offsets=offsets)} for offsets in ([24, 0], [4, 28], [10**6, 10**6 + 24])),
    {"w": _entry(dtype="F64")},
    {"w": _entry(shape=[3], data_offsets=[0, 12])},
    {"v": _entry()},
    {"sha256": {"dtype": "U8", "shape": [8], "data_offsets": [24, 32]}},
    {"sha256": {"dtype": "U8", "shape": [56], "data_offsets": [0, 56]}},
]


class TestHostileHeaders:
    def test_headers_and_entries(self, tmp_path):
        path, data = tmp_path / "file", b"\0" * 24
        path.write_bytes(_assemble(_FRAME, data))
        assert_array_equal(read_arrays(path)[1]["w"], np.zeros((2, 3)))
        for size in (0, 2**26 + 1, 2**32, 2**63, 2**64 - 1):
            raw = size.to_bytes(8, "little") + b"{}" * 100
            _refused(path, raw, "truncated in its header", read_arrays)
        for table in _NO_HEADERS:
            _refused(path, _assemble(table, data), "header is unreadable", read_arrays)
        without = {"__metadata__": _META, "sha256": _SUM}
        for table in (without, *(_FRAME | entries for entries in _NO_FITS)):
            _refused(path, _assemble(table, data), "do not fit|is truncated", read_arrays)


_FEATURES = {"kind": "positional_kmers", "views": "wd:5", "anchor": 6, "hash_bits": 0}
_WRONG = {
    "tasks": [["worm"], ["fly", "yeast"]],
    "length": [13, 2**70],
    "n_features": [7],
    "site": [{"offset": 1}],
    "kernel": [{"names": ["fly"], "source": ""}, {"names": ["a", "b", "c"], "source": ""}],
    "features": [
        {"kind": "gapped"},
        {"kind": "positional_kmers", "views": "wd:5"},
        *(_FEATURES | {"views": views} for views in ("wd:21", "wd:6", "wd:5@4..3", 5)),
        *(_FEATURES | {"anchor": anchor} for anchor in (-1, 12)),
        _FEATURES | {"hash_bits": 10**12},
    ],
}
_DAMAGED = "; the file is damaged .*; train again$"


class TestHostileDescriptions:
    def test_another_format_says_what_to_do(self, tmp_path, sparse_file):
        other = "edited: has model format {}, .* reads 1; train again, or install the"
        none = "is not a seqmtl model"
        for version, match in ((0, other), (13, other), (None, none), ("1", none), (1.0, none)):
            raw = _edited(sparse_file, {"format_version": version})
            _refused(tmp_path / "edited", raw, match.format(version))

    def test_values_that_contradict_each_other(self, tmp_path, sparse_file):
        same = _edited(sparse_file, {"features": _FEATURES})
        (tmp_path / "same").write_bytes(same)
        MultiTaskModel.load(tmp_path / "same")
        for key, values in _WRONG.items():
            for value in values:
                _refused(tmp_path / "edited", _edited(sparse_file, {key: value}), _DAMAGED)

    @pytest.mark.parametrize(
        ("name", "array"),
        [
            ("rows", np.array([3, 3], dtype=np.int32)),
            ("rows", np.array([-1, 2], dtype=np.int32)),
            ("rows", np.array([0, 10**9], dtype=np.int32)),
            ("rows", np.array([0], dtype=np.int32)),
            ("W", np.zeros((2, 3))),
            ("K", np.eye(2)),
        ],
    )
    def test_arrays_that_contradict_the_description(self, tmp_path, sparse_file, name, array):
        description, arrays = read_arrays(sparse_file)
        arrays["W"], arrays["rows"] = np.ones((2, 2), np.float32), np.array([1, 3], dtype=np.int32)
        write_arrays(tmp_path / "good", description, arrays)
        assert MultiTaskModel.load(tmp_path / "good").W.tables[0][3, 0] == 1
        write_arrays(tmp_path / "bad", description, {**arrays, name: array})
        with pytest.raises(ModelFileError, match=rf"bad: .*{_DAMAGED}"):
            MultiTaskModel.load(tmp_path / "bad")

    def test_weights_beyond_the_memory_are_refused(self, sparse_file, monkeypatch):
        monkeypatch.setattr("seqmtl._memory.available_memory", lambda: 10_000)
        with pytest.raises(MemoryLimitError, match=r"weights of .* features for 2 tasks would"):
            MultiTaskModel.load(sparse_file)


class TestWriting:
    def test_a_model_can_be_saved_over_the_file_it_is_mapped_from(self, tmp_path, dense_file):
        path = tmp_path / "model"
        path.write_bytes(dense_file.read_bytes())
        MultiTaskModel.load(path).save(path)
        assert path.read_bytes() == dense_file.read_bytes()
