"""Base kernels by their names in model files, and by the short names that users write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from seqmtl._checks import check_choice
from seqmtl.kernels._base import KINDS, BaseKernel
from seqmtl.kernels._sequences import ALPHABETS
from seqmtl.kernels.derived import Normalized
from seqmtl.kernels.numeric import RBF, SCALE, Linear, Polynomial
from seqmtl.kernels.strings import (
    GappedKmerKernel,
    MismatchKernel,
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
    "mismatch": (MismatchKernel, {"k": int, "mismatches": int}, {}),
    "gapped": (GappedKmerKernel, {"length": int, "k": int}, {}),
}

_SHORT_NAMES: dict[type[BaseKernel], tuple[str, tuple[str, ...]]] = {
    kind: (name, tuple(parameters)) for name, (kind, parameters, _) in _NAMES.items()
}


def kernel_from_dict(description: dict[str, Any]) -> BaseKernel:
    """Rebuild a kernel from the result of its ``to_dict``.

    Parameters
    ----------
    description : dict
        ``kind`` and parameters of the kernel.

    Raises
    ------
    ValueError
        If the kind is unknown, or parameters are missing, unknown or out of range.

    Examples
    --------
    >>> kernel_from_dict({"kind": "rbf", "gamma": 0.5})
    RBF(gamma=0.5)
    """
    kind: Any = description.get("kind")
    check_choice("kernel", kind, KINDS)
    parameters = {name: value for name, value in description.items() if name != "kind"}
    expected = {field.name for field in fields(KINDS[kind])}
    if set(parameters) != expected:
        raise ValueError(
            f"parameters of the kernel {kind!r} must be {sorted(expected)}, "
            f"got {sorted(parameters)}"
        )
    if isinstance(parameters.get("kernel"), dict):
        parameters["kernel"] = kernel_from_dict(parameters["kernel"])
    kernel: BaseKernel = KINDS[kind](**parameters)
    return kernel


def make_kernel(spec: BaseKernel | str) -> BaseKernel:
    """Return the kernel that a specification stands for.

    Parameters
    ----------
    spec : BaseKernel or str
        A kernel, which is returned unchanged; or a name, with parameters after colons
        (``"linear"``, ``"poly:3"``, ``"rbf:0.5"``, ``"wd:8"``, ``"wd:8:2"`` with shifts of up to 2,
        ``"spectrum:4"``, ``"mismatch:5:1"``, ``"gapped:8:5"``). The default gamma of ``"rbf"`` and
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


def short_name(kernel: BaseKernel) -> str:
    """Format a kernel as users write it for :func:`make_kernel`, with six digits.

    What the name does not express follows it.

    Examples
    --------
    >>> short_name(SpectrumKernel(4)), short_name(Polynomial(2, 0.5, 0.0))
    ('spectrum:4', 'poly:2, gamma 0.5, coef0 0')
    """
    if isinstance(kernel, Normalized):
        return f"{short_name(kernel.kernel)}, normalized"
    values = kernel.to_dict() if type(kernel) in _SHORT_NAMES else {}
    if not values:
        return str(kernel)
    name, parameters = _SHORT_NAMES[type(kernel)]
    parts = [name, *(_brief(values[parameter]) for parameter in parameters)]
    if values.get("shift") == 0:
        parts.pop()
    if values.get("alphabet", "dna") != "dna":
        parts.append(values["alphabet"])
    text = ":".join(parts)
    if isinstance(kernel, Polynomial):
        text += f", gamma {_brief(kernel.gamma)}"
        text += f", coef0 {_brief(kernel.coef0)}" if kernel.coef0 != 1.0 else ""
    return text if values.get("normalize", True) else f"{text}, not normalized"


def _brief(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


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
