"""What is told of the place of a new organism among the organisms of a model."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from seqmtl.models.relatives import Placement

logger = logging.getLogger(__name__)

_ALIKE = 0.1  # relative difference of distances
_FAR = 2 / 3  # share of an organism that its relatives explain, below which they are far


def tell_place(name: str, placed: Placement, left_out: dict[str, Any]) -> None:
    """Log how near the relatives are of an organism without labels, and what to expect of them."""
    measured = _measured(placed, left_out) if placed.nearest and left_out else ""
    logger.info("%s: scored as %s%s", name, placed.source, measured)
    if placed.explained < _FAR:
        logger.warning(
            "%s is far from all organisms of the model: by the tree, they explain %.0f %% of it; "
            "expect more errors, and give labels to seqmtl adapt if there are any", name,
            100 * placed.explained,
        )  # fmt: skip


def _measured(placed: Placement, left_out: dict[str, Any]) -> str:
    """Describe the accuracy of organisms left out of the training.

    They are those at about the same distance, or all if the organism is far from the model's.
    """
    every = [found["distance"] for found in left_out.values()]
    nearest = min(every, key=lambda d: abs(d - placed.distance))
    like = {
        name: found
        for name, found in left_out.items()
        if placed.explained < _FAR or abs(found["distance"] - nearest) <= _ALIKE * nearest
    }
    distances, own = [f["distance"] for f in like.values()], [f.get("own") for f in like.values()]
    none = ""
    if abs(placed.distance - nearest) > _ALIKE * nearest:
        none = {min(every): ", none nearer", max(every): ", none farther"}.get(nearest, "")
    return (
        f". Organisms without labels, {_span(distances)} million years from their nearest{none}, "
        f"had AUPRC {_span([f['auprc'] for f in like.values()], '.2f', list(like))} on windows"
        + (f", with labels {_span([x for x in own if x], '.2f')}" if any(own) else "")
        + "; over a genome, where sites are rare, expect less"
    )


def _span(values: list[float], form: str = "g", names: Sequence[str] = ()) -> str:
    """Return the smallest and the largest value as text, with the names of both."""
    ends = dict.fromkeys([int(np.argmin(values)), int(np.argmax(values))])
    texts = [f"{values[i]:{form}}" + (f" ({names[i]})" if names else "") for i in ends]
    return " to ".join(dict.fromkeys(texts))
