"""Kinds of values: rules that take a text or a value and return the value.

A kind raises a ValueError that goes on after the name of what has the value: "must be at least 1,
got 0". The command line, TOML files and Python arguments have the same kinds.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from typing import TypeVar, cast

from seqmtl._checks import check_integer, check_number, is_number, refuse
from seqmtl._surroundings import has_matplotlib

Kind = Callable[[object], object]

_Number = TypeVar("_Number", int, float)

_LARGEST = (1 << 62) - 1


def text(value: object) -> str:
    """Take a text or a path."""
    path_or_text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(path_or_text, str):
        refuse("", "a text", value)
    return path_or_text


def donors(value: object) -> str:
    """Take words of two letters, separated by commas."""
    words = text(value).upper().split(",")
    if not all(len(word) == 2 and {*word} <= {*"ACGT"} for word in words):
        refuse("", "words of two of the letters A, C, G, T, such as GT,GC", value)
    return ",".join(dict.fromkeys(words))


def flag(value: object) -> bool:
    """Take true or false."""
    if not isinstance(value, bool):
        refuse("", "True or False", value)
    return value


def integer(value: object) -> int:
    """Take an integer."""
    return _whole(value, None)


def positive_int(value: object) -> int:
    """Take an integer of at least 1."""
    return _whole(value, 1)


def up_to(max_val: int, min_val: int = 1) -> Kind:
    """Return a kind that takes an integer from one to another."""

    def number(value: object) -> int:
        parsed = _parsed(value, int)
        check_integer("", parsed, min_val, max_val)
        return int(parsed)

    return number


def count(value: object) -> int:
    """Take an integer of at least 0."""
    return _whole(value, 0)


def _whole(value: object, min_val: int | None) -> int:
    parsed = _parsed(value, int)
    check_integer("", parsed, min_val)
    if abs(parsed) > _LARGEST:
        raise ValueError(f"must be at most {_LARGEST}")
    return int(parsed)


def memory(value: object) -> int:
    """Take a size in bytes, such as 500M or 4G."""
    factors = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
    plain = str(value).upper().removesuffix("B").removesuffix("I")
    number, factor = (plain[:-1], factors[plain[-1:]]) if plain[-1:] in factors else (plain, 1)
    try:
        n_bytes = int(positive_float(number) * factor)
    except ValueError:
        n_bytes = 0
    if n_bytes < 1:
        refuse("", "a size such as 500M or 4G", value)
    return n_bytes


def finite_float(value: object) -> float:
    """Take a finite number."""
    return _number(value, min_val=-math.inf)


def positive_float(value: object) -> float:
    """Take a finite number above 0."""
    return _number(value)


def share(value: object) -> float:
    """Take a number between 0 and 1, both excluded."""
    parsed = _parsed(value, float)
    if not is_number(parsed) or not 0 < parsed < 1:
        refuse("", "between 0 and 1", parsed)
    return float(parsed)


def probability(value: object) -> float:
    """Take a number from 0 to 1."""
    return _number(value, min_val=0, max_val=1)


def _number(value: object, min_val: float | None = None, max_val: float = math.inf) -> float:
    parsed = _parsed(value, float)
    check_number("", parsed, min_val=min_val, max_val=max_val)
    return float(parsed)


def _parsed(value: object, kind: type[_Number]) -> _Number:
    """Return the number that a text says, or what is not one as it is, which a check refuses."""
    try:
        if isinstance(value, str) and "_" not in value:
            return kind(value)
    except ValueError:
        pass
    return cast("_Number", value)


def positive_floats(value: object) -> tuple[float, ...]:
    """Take comma-separated numbers above 0; return them sorted, without duplicates."""
    return tuple(sorted(set(map(positive_float, _several(value)))))


def _several(value: object) -> Iterable[object]:
    if isinstance(value, str):
        return value.split(",")
    return [value] if is_number(value) else cast("Iterable[object]", value)


def names_list(value: object) -> tuple[str, ...]:
    """Take comma-separated names."""
    names = tuple(text(name).strip() for name in _several(value))
    if not all(names):
        refuse("", "comma-separated names", value)
    return names


def named_path(value: object) -> tuple[str, str]:
    """Take ORGANISM=FILE, or the two of them."""
    _check_name(value)
    name, path = name_and_path(value)
    if not (name and path):
        refuse("", "ORGANISM=FILE", value)
    return text(name), text(path)


def data_file(value: object) -> str:
    """Take FILE or ORGANISM=FILE, or the two of them."""
    name, path = name_and_path(value)
    if name == "" or not path:
        refuse("", "FILE or ORGANISM=FILE", value)
    whole = text(path) if name is None else f"{text(name)}={text(path)}"
    _check_name(whole)
    return whole


def name_and_path(value: object) -> tuple[str | None, str]:
    """Return the parts of ORGANISM=FILE or FILE; an organism has no slash in its name.

    A text that is the path of a file as a whole, and not after the ``=``, is a path.
    """
    if not isinstance(value, (str, os.PathLike)):
        name, path = cast("tuple[str | None, str]", value)
        return name, path
    whole = os.fspath(value)
    name, mark, path = whole.partition("=")
    is_path = os.path.exists(whole) and not os.path.exists(path)
    return (name, path) if mark and os.sep not in name and not is_path else (None, whole)


def _check_name(value: object) -> None:
    """Refuse ORGANISM=FILE with a slash or a = in the organism, by which another file is meant."""
    if not isinstance(value, str):
        return
    name, _, path = value.rpartition("=")
    is_odd = os.sep in name or "=" in name
    if is_odd and os.path.exists(path) and not os.path.exists(name_and_path(value)[1]):
        raise ValueError(
            f"must be ORGANISM=FILE with an organism without / and =, got {value!r}; write "
            f"{name.replace(os.sep, '_').replace('=', '_')}={path}"
        )


def dask_address(value: object) -> str:
    """Take the address of a dask scheduler."""
    from seqmtl.cluster import check_address

    return check_address(text(value))


def path_of(*suffixes: str) -> Kind:
    """Return a kind that takes a path with one of these suffixes, which sets the format."""

    def path(value: object) -> str:
        name = text(value)
        if not name.lower().endswith(suffixes):
            suffix_list = f"{', '.join(suffixes[:-1])} or {suffixes[-1]}"
            raise ValueError(f"must end in {suffix_list}, got {name!r}; the suffix sets the format")
        return name

    return path


def figure(value: object) -> str:
    """Take the path of a figure, which can be drawn."""
    path = path_of(".png", ".svg", ".pdf")(value)
    require_matplotlib()
    return str(path)


def require_matplotlib(what: str = "") -> None:
    """Check that figures can be drawn.

    Raises
    ------
    ValueError
        If not; `what` is what needs them.
    """
    if not has_matplotlib():
        raise ValueError(f"{what} needs matplotlib; run: pip install matplotlib".lstrip())
