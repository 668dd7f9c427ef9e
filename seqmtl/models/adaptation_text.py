"""What is told of the place of a new organism among the organisms of a model."""

from __future__ import annotations

import logging
from typing import Any

from seqmtl._messages import is_news
from seqmtl._names import simplify
from seqmtl.models.relatives import Placement

logger = logging.getLogger(__name__)

_ALIKE = 0.1  # relative difference of distances
_FAR = 2 / 3  # share of an organism that its relatives explain, below which they are far
_CLOSE = 0.9  # and from which they are close


def tell_place(name: str, placed: Placement, left_out: dict[str, Any]) -> None:
    """Log, in a line, how near the relatives are of an organism without labels.

    `left_out` has the accuracy of organisms left out of the training, whose distances are those of
    the shipped tree, in million years.
    """
    if not is_news((name, placed.source)):
        return
    if not placed.nearest:
        logger.info("%s: scored as %s", name, placed.source)
        return
    found, _, tree = placed.source.removesuffix(placed.distance_text).partition(" in the tree ")
    label = name if simplify(name) == simplify(found) else f"{name}, scored as {found}"
    is_far = placed.explained < _FAR
    words = "far" if is_far else "close" if placed.explained >= _CLOSE else "distant"
    where, hope = f"{placed.distance:.3g} in the tree {tree}", "expect more errors" * is_far
    if left_out:
        where, hope = f"{placed.distance:,.0f} million years", _expected(placed, left_out)
    logger.log(
        logging.WARNING if is_far else logging.INFO,
        "%s: nearest relative %s, %s (%s)%s%s", label, placed.nearest, words, where,
        f"; {hope}" if hope else "", "; a few labels help (seqmtl adapt)" if is_far else "",
    )  # fmt: skip


def _expected(placed: Placement, left_out: dict[str, Any]) -> str:
    """Describe the precision of organisms left out of the training.

    They are those at about the same distance, or all if the organism is far from the model's.
    """
    nearest = min(
        (own["distance"] for own in left_out.values()), key=lambda d: abs(d - placed.distance)
    )
    alike = [
        own
        for own in left_out.values()
        if placed.explained < _FAR or abs(own["distance"] - nearest) <= _ALIKE * nearest
    ]
    precision = _span([own["auprc"] for own in alike], ".2f")
    distances = _span([own["distance"] for own in alike], ",.0f")
    return (
        f"organisms at {distances} had a mean precision of {precision} on windows, less over a "
        "genome"
    )


def _span(values: list[float], form: str) -> str:
    """Return the smallest and the largest value as text."""
    return " to ".join(dict.fromkeys(f"{value:{form}}" for value in (min(values), max(values))))
