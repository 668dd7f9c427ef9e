"""Damage to model files that their checksum does not show."""

import copy
import hashlib
import itertools
import json
import math

import numpy as np

_DTYPES = {"F32": "<f4", "F64": "<f8", "I64": "<i8", "I32": "<i4", "U8": "|u1"}
_CODES = {np.dtype(code): name for name, code in _DTYPES.items()}
_DEEP = json.loads("[" * 400 + "]" * 400)
#: What takes the place of a value: all of them are out of place nearly everywhere.
VALUES = (
    None,
    True,
    "",
    "x",
    "\ud800",
    "\x1b[2J",
    -1,
    -0.5,
    math.nan,
    math.inf,
    10**30,
    10**400,
    [],
    [[]],
    {},
    {"x": 1},
    _DEEP,
)


def read(raw):
    """Return the description and the arrays of a model file, without checking anything."""
    size = int.from_bytes(raw[:8], "little")
    table = json.loads(raw[8 : 8 + size])
    body = raw[8 + size :]
    description = json.loads(table.pop("__metadata__")["seqmtl"])
    del table["sha256"]
    arrays = {}
    for name, entry in table.items():
        begin, end = entry["data_offsets"]
        array = np.frombuffer(body[begin:end], _DTYPES[entry["dtype"]])
        arrays[name] = array.reshape(entry["shape"])
    return description, arrays


def write(description, arrays):
    """Return a model file with this content and the right checksum."""
    table, data = {"__metadata__": {"seqmtl": json.dumps(description)}}, b""
    for name, array in (*arrays.items(), ("sha256", np.zeros(32, np.uint8))):
        table[name] = {
            "dtype": _CODES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + array.nbytes],
        }
        data += array.tobytes()
    header = json.dumps(table).encode()
    start = len(header).to_bytes(8, "little") + header + data[:-32]
    return start + hashlib.sha256(start).digest()


def mutations(raw, seed, n=None, changes=1):
    """Yield a name and the content of damaged copies of a model file.

    Every value of the header is replaced, removed, and joined by an unknown one; every array gets
    another type and shape, NaN, infinity, and is removed. The order is random.

    Parameters
    ----------
    raw : bytes
        The model file.
    seed : int
        Seed of the order.
    n : int, optional
        Number of copies. Default: every single change once.
    changes : int
        Number of changes in every copy; if it is not 1, they are drawn without end.
    """
    rng = np.random.default_rng(seed)
    description, arrays = read(raw)
    single = [*_of_header(description), *_of_arrays(arrays)]
    chosen = rng.permutation(len(single))[:, None].tolist()
    if changes > 1:
        chosen = (rng.integers(0, len(single), changes).tolist() for _ in itertools.count())
    for numbers in itertools.islice(chosen, n):
        changed, own = copy.deepcopy(description), dict(arrays)
        names = []
        for name, change in (single[i] for i in numbers):
            try:
                change(changed, own)
            except (KeyError, IndexError, TypeError, AttributeError):  # the first removed its place
                continue
            names.append(name)
        yield " and ".join(names), write(changed, own)


def documents(document, seed, n=None):
    """Yield a name and a damaged copy of a JSON document, as :func:`mutations` does."""
    single = list(_of_header(document))
    for i in np.random.default_rng(seed).permutation(len(single))[:n].tolist():
        name, change = single[i]
        changed = copy.deepcopy(document)
        change(changed, {})
        yield name, changed


def _of_header(description):
    values = [(value, repr(value)[:20]) for value in VALUES]
    for path in _paths(description):
        name = ".".join(map(str, path))
        for value, shown in values:
            yield f"{name} = {shown}", _put(path, value)
        yield f"{name} removed", _remove(path)
    for path in [(), *_paths(description)]:
        if isinstance(_at(description, path), dict):
            yield f"{'.'.join(map(str, path))}: one more key", _put((*path, "extra"), 1)
        elif isinstance(_at(description, path), list):
            yield f"{'.'.join(map(str, path))}: twice", _double(path)


def _paths(value, path=()):
    """Yield the path of every entry, however deep."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, entry in entries:
        yield (*path, key)
        if isinstance(entry, (dict, list)):
            yield from _paths(entry, (*path, key))


def _at(value, path):
    for key in path:
        value = value[key]
    return value


def _put(path, value):
    def change(description, arrays):
        _at(description, path[:-1])[path[-1]] = copy.copy(value)

    return change


def _remove(path):
    def change(description, arrays):
        del _at(description, path[:-1])[path[-1]]

    return change


def _double(path):
    def change(description, arrays):
        _at(description, path).extend(copy.deepcopy(_at(description, path)))

    return change


def _of_arrays(arrays):
    for name, array in arrays.items():
        others = {
            f"as {code}": _as(code) for code in _DTYPES.values() if np.dtype(code) != array.dtype
        }
        shapes = {
            "one axis more": lambda a: a[None],
            "flat": lambda a: a.reshape(-1) if a.ndim != 1 else a.reshape(-1, 1),
            "transposed": lambda a: a.T.copy() if a.shape != a.T.shape else a[:0],
            "shorter": lambda a: a[:-1],
            "longer": lambda a: np.concatenate([a, a]),
            "empty": lambda a: np.zeros(0, a.dtype),
        }
        values = {
            f"with {value}": _with(value) for value in (np.nan, np.inf, -np.inf, -1, 2**31 - 1)
        }
        for what, change in {**others, **shapes, **values}.items():
            yield f"array {name} {what}", _change_array(name, change)
        yield f"array {name} removed", lambda d, a, name=name: a.pop(name)
    yield "an extra array", lambda d, a: a.update(extra=np.zeros(3))


def _as(code):
    return lambda array: array.astype(code)


def _with(value):
    def change(array):
        array = array.copy()
        if array.size and np.isfinite(value) != (array.dtype.kind == "f"):
            array.reshape(-1)[array.size // 2] = value % 256 if array.dtype.kind == "u" else value
        return array

    return change


def _change_array(name, change):
    def apply(description, arrays):
        arrays[name] = change(arrays[name])

    return apply


def use(path, X, tasks):
    """Load a model, and do with it what `predict`, `info` and `report` do, or notebooks.

    Returns
    -------
    dict of str to dict of str to list
        The predictions for every task.

    Raises
    ------
    SeqmtlError
        If the file is refused, or the model does not know a task.
    """
    from seqmtl.loading import load
    from seqmtl.reporting import signal_sections
    from seqmtl.reporting.contents import Signal

    model = load(path)
    model.text(str(path)), json.dumps(model.describe(), allow_nan=False)
    if model.structure == "weights":
        signal = Signal("signal", models={"model": model}, files={"model": str(path)})
        assert signal.main == "model"
        signal_sections.features(signal)
    found = {task: model.predictions(X, task) for task in tasks}
    return {task: {key: v.tolist() for key, v in own.items()} for task, own in found.items()}
