"""What is told of the place of a new organism among the organisms of a model."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._messages import is_news
from seqmtl._names import simplify
from seqmtl.models.relatives import ALIKE, LARGEST_TREE, Placement, years

logger = logging.getLogger(__name__)

_SCORED = "scored from relatives"
_FAR = 2 / 3  # share of an organism that its relatives explain, below which they are far
_CLOSE = 0.9  # and from which they are close


def tell_place(name: str, placed: Placement, left_out: dict[str, Any]) -> None:
    """Log, in a line, how near the relatives are of an organism without labels.

    `left_out` has the accuracy of organisms left out of the training, and the length of the path to
    the nearest that was not, in the largest shipped tree.
    """
    is_news((_SCORED, name))  # so that it is not told twice
    if not is_news((name, placed.source)):
        return
    if not placed.nearest:
        logger.info("%s: scored as %s", name, placed.source)
        return
    found, _, tree = placed.source.removesuffix(placed.distance_text).partition(" in the tree ")
    label = name if simplify(name) == simplify(found) else f"{name}, scored as {found}"
    is_far = placed.explained < _FAR
    words = "far" if is_far else "close" if placed.explained >= _CLOSE else "distant"
    where = placed.apart if tree == LARGEST_TREE else f"{placed.apart} in the tree {tree}"
    hope = _expected(placed, left_out) or "expect more errors" * is_far
    logger.log(
        logging.WARNING if is_far else logging.INFO,
        "%s: nearest relative %s, %s (%s)%s%s",
        label,
        placed.nearest,
        words,
        where,
        f"; {hope}" if hope else "",
        "; a few labels help (seqmtl adapt)" if is_far else "",
    )


def tell_relatives(tasks: Sequence[str], weights: Mapping[str, NDArray[np.float64]]) -> None:
    """Log, in a line for each organism without training data, that its relatives score it.

    `weights` has the weights of the tasks in its scores, shape (T,). Nothing is said of an
    organism whose place was told.
    """
    for name, own in weights.items():
        if is_news((_SCORED, name)):
            logger.info(
                "%s: no training data, scored from its relatives, of which %s counts most",
                name,
                tasks[int(own.argmax())],
            )


def _expected(placed: Placement, left_out: dict[str, Any]) -> str:
    """Describe the precision of the nearest organisms, left out; "" if they were too near others.

    What was measured with a relative at hand says nothing of an organism without one so near.
    """
    measured = {
        name: left_out[name]
        for name in placed.alike
        if name in left_out and placed.distance <= ALIKE * left_out[name]["distance"]
    }
    if not measured:
        return ""
    ends = [f(own["auprc"] for own in measured.values()) for f in (min, max)]
    precision = " to ".join(dict.fromkeys(f"{value:.2f}" for value in ends))
    apart = years(*(own["distance"] for own in measured.values()))
    return (
        f"{', '.join(measured)}, left out of the training, {apart} from the nearest other, had "
        f"a mean precision of {precision} on windows, less over a genome"
    )
