"""What a model file must hold: keys, types and ranges of its header, and the form of its arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from seqmtl._checks import refuse
from seqmtl._schema import (
    Rule,
    choice,
    items,
    mapping,
    number,
    record,
    text,
    whole,
    word,
)
from seqmtl.calibration.sigmoid import CALIBRATION
from seqmtl.features.joint import check_description
from seqmtl.linear_model.site import SIGNALS

_LONGEST = 10_000_000  # bases of a window
_FLOATS = ("float32", "float64")

_COUNTS = record({"n": whole(1)}, {"n_positive": whole()})
_CALIBRATION = record(
    {"n": whole(1), "n_positive": whole(1), "prevalence": number(above=0, max_val=1)}
)
#: What scores and probabilities take of the training summary; the rest is for people.
_TRAINING = record(
    {"settings": record({"dtype": choice(*_FLOATS)}), "tasks": mapping(_COUNTS, 1)},
    {"calibration": mapping(_CALIBRATION)},
)


_SITE = record(
    {"offset": whole(), "length": whole(), "letters": text, "signal": choice("", *SIGNALS)}
)
_HEADER: dict[str, Rule] = {
    "seqmtl_version": text,
    "kind": choice(*CALIBRATION),
    "tasks": items(word, 1, distinct=True),
    "shift": whole(-_LONGEST, _LONGEST),
    "calibrated": items(word, distinct=True),
    "features": check_description,
    "n_features": whole(1, 1 << 60),
    "length": whole(1),
    "kernel": record(
        {"names": items(word, 1, distinct=True), "source": text, "labels": items(text, 1)}
    ),
    "site": _SITE,
    "training": _TRAINING,
}


def check_header(header: Mapping[str, Any]) -> None:
    """Check the header of a model file, by itself and against itself.

    Raises
    ------
    ValueError
        If it is not that of a model of weights; the message names the key.
    """
    record(_HEADER)("", header)
    tasks, training = header["tasks"], header["training"]
    _same(
        "calibrated", header["calibrated"], [name for name in tasks if name in header["calibrated"]]
    )
    _same("training.calibration", training.get("calibration", {}), header["calibrated"])
    for name, entry in (
        *training["tasks"].items(),
        *training.get("calibration", {}).items(),
    ):
        if entry.get("n_positive", 0) > entry["n"]:
            refuse(
                f"n_positive of {name} in training", f"at most {entry['n']}", entry["n_positive"]
            )
    _same("training.tasks", training["tasks"], tasks)
    for name, entry in training["tasks"].items():
        if ("n_positive" in entry) != (header["kind"] == "classification"):
            raise ValueError(
                f"training.tasks.{name}.n_positive must be there for classification only"
            )
    if header["kernel"]["names"][: len(tasks)] != tasks:
        refuse("kernel.names", "the tasks, then their relatives", header["kernel"]["names"])
    _check_site(header)


def _check_site(header: Mapping[str, Any]) -> None:
    """Check that the site is inside the window, and has as many letters as it says."""
    site, length = header["site"], header["length"]
    if header["features"]["kind"] == "numeric":
        _same("shift", [header["shift"]], [0])
        return
    whole(1, _LONGEST)("length", length)
    if site["offset"] + site["length"] > length:
        refuse("site", f"inside the window of {length} bases", site)
    consensus = site["letters"].split(",") if site["letters"] else []
    if any(set(k) - set("ACGT") or len(k) != site["length"] for k in consensus):
        refuse("site.letters", f"words of {site['length']} bases", site["letters"])


def _same(name: str, got: Any, expected: Any) -> None:
    """Check that two collections of names are the same, in any order."""
    got, expected = list(got), list(expected)
    if len(got) != len(expected) or set(got) != set(expected):
        refuse(name, f"{', '.join(map(repr, expected)) or 'empty'}", got)


@contextmanager
def part(name: str) -> Iterator[None]:
    """Name the part of the header in errors about it."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{name}: {error}") from error
