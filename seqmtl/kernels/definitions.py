"""Base kernels by the short names that users write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from seqmtl.kernels._base import BaseKernel
from seqmtl.kernels._sequences import ALPHABETS
from seqmtl.kernels.numeric import RBF, SCALE, Linear, Polynomial
from seqmtl.kernels.strings import (
    GappedKmerKernel,
    SpectrumKernel,
    WeightedDegreeKernel,
)

# short name: class, parameters that may follow the name, and preset parameters
_NAMES: dict[str, tuple[type[BaseKernel], dict[str, Callable[[str], Any]], dict[str, Any]]] = {
    "linear": (Linear, {}, {}),
    "poly": (Polynomial, {"degree": int}, {"gamma": SCALE}),
    "rbf": (RBF, {"gamma": float}, {"gamma": SCALE}),
    "wd": (WeightedDegreeKernel, {"degree": int, "shift": int}, {}),
    "spectrum": (SpectrumKernel, {"k": int}, {}),
    "gapped": (GappedKmerKernel, {"length": int, "k": int}, {}),
}


def make_kernel(spec: BaseKernel | str) -> BaseKernel:
    """Return the kernel that a specification stands for.

    Parameters
    ----------
    spec : BaseKernel or str
        A kernel, which is returned unchanged; or a name, with parameters after colons
        (``"linear"``, ``"poly:3"``, ``"rbf:0.5"``, ``"wd:8"``, ``"wd:8:2"`` with shifts of up to 2,
        ``"spectrum:4"``, ``"gapped:8:5"``). The default gamma of ``"rbf"`` and
        ``"poly"`` is ``"scale"``. Names of string kernels may end in an alphabet:
        ``"spectrum:3:protein"``.

    Raises
    ------
    ValueError
        If a name is unknown, or a parameter is not a number or out of range.
    TypeError
        If it is none of these.

    Examples
    --------
    >>> make_kernel("wd:8:2")
    WeightedDegreeKernel(normalize=True, alphabet='dna', degree=8, shift=2)
    """
    if isinstance(spec, BaseKernel):
        return spec
    if isinstance(spec, str):
        return _named(spec)
    raise TypeError(
        f"kernel must be a name ({', '.join(_NAMES)}) or one of seqmtl.kernels, got {spec!r}; of "
        "another kernel give Precomputed(matrix), and the row numbers as examples"
    )


def _named(spec: str) -> BaseKernel:
    """Parse a name with parameters."""
    name, *texts = spec.lower().split(":")
    if name not in _NAMES:
        raise ValueError(f"kernel must be one of {', '.join(_NAMES)}, got {spec!r}")
    kind, parameters, preset = _NAMES[name]
    chosen = dict(preset)
    if kind.inputs == "sequences" and texts and texts[-1] in ALPHABETS:
        chosen["alphabet"] = texts.pop()
    usage = ":".join([name, *(parameter.upper() for parameter in parameters)])
    if len(texts) > len(parameters):
        raise ValueError(f"kernel must be {usage}, got {spec!r}")
    for (parameter, convert), text in zip(parameters.items(), texts, strict=False):
        try:
            chosen[parameter] = convert(text)
        except ValueError:
            raise ValueError(f"kernel must be {usage} with numbers, got {spec!r}") from None
    return kind(**chosen)
