"""Feature maps by their names in model files."""

from __future__ import annotations

from typing import Any

from seqmtl.features.joint import JointFeatures
from seqmtl.features.numeric import Numeric
from seqmtl.features.positional_kmers import PositionalKmers

_KINDS: dict[str, Any] = {kind.kind: kind for kind in (PositionalKmers, Numeric)}


def features_from_dict(description: dict[str, Any]) -> Any:
    """Rebuild a feature map from the result of its ``to_dict``.

    Raises
    ------
    ValueError
        If the kind is unknown to this version.
    """
    kind = description.get("kind")
    if kind == JointFeatures.kind:
        return JointFeatures([features_from_dict(view) for view in description["views"]])
    if kind not in _KINDS:
        known = ", ".join([*_KINDS, JointFeatures.kind])
        raise ValueError(f"features must be one of {known}, got {kind!r}")
    return _KINDS[kind].from_dict(description)
