"""Messages on the relatives by which a new organism is scored."""

from __future__ import annotations

import logging
from typing import Any

from seqmtl._messages import is_first_time
from seqmtl._names import simplify
from seqmtl.adaptation.relatives import ALIKE, RelativeWeights, years
from seqmtl.linear_model.model import SCORED_FROM_RELATIVES
from seqmtl.relations.trees import LARGEST_TREE

logger = logging.getLogger(__name__)

_MAX_NAMES = 4  # of organisms in a message
_MAX_AUPRC = 0.99  # that a message promises
_FAR = 2 / 3  # share of an organism that its relatives explain, below which they are far


def log_relatives(name: str, relatives: RelativeWeights, left_out: dict[str, Any]) -> None:
    """Log the distance of an organism without labels to its relatives, and the expected accuracy.

    `left_out` has the accuracy of held-out organisms, and the length of the path from each to its
    nearest relative in the training, in the largest shipped tree.
    """
    is_first_time((SCORED_FROM_RELATIVES, name))  # so that it is not logged twice
    if not is_first_time((name, relatives.source)):
        return
    taxon, tree = relatives.place, relatives.tree
    if not tree:
        place = taxon.removeprefix("the place of ")
        weights = "the mean weights" if place == taxon else "the weights"
        logger.info("%s: scored with %s of %s", name, weights, place.removeprefix("the mean of "))
        return
    label = name if simplify(name) == simplify(taxon) else f"{name} ({taxon})"
    is_far = relatives.r2 < _FAR
    divergence = f"diverged {relatives.apart} ago" if relatives.is_dated else relatives.apart
    divergence = "of the same genus or clade" if relatives.is_same_place else divergence
    where = divergence if tree == LARGEST_TREE else f"{divergence} in the tree {tree}"
    hope = _expected(relatives, left_out) or "expect more errors" * is_far
    logger.log(
        logging.WARNING if is_far else logging.INFO,
        "%s: nearest trained relative %s (%s)%s%s",
        label,
        relatives.nearest,
        where,
        f"; {hope}" if hope else "",
        "; a few labels help (seqmtl adapt)" if is_far else "",
    )


def _expected(relatives: RelativeWeights, left_out: dict[str, Any]) -> str:
    """Describe the accuracy measured on the nearest organisms when held out, or "".

    A measurement made with a nearer relative than the organism has says nothing of it.
    """
    measured = {
        name: left_out[name]
        for name in relatives.alike
        if name in left_out and relatives.distance <= ALIKE * left_out[name]["distance"]
    }
    if not measured:
        return ""
    ends = [f(entry["auprc"] for entry in measured.values()) for f in (min, max)]
    precision = " to ".join(dict.fromkeys(f"{min(value, _MAX_AUPRC):.2f}" for value in ends))
    distances = [entry["distance"] for entry in measured.values()]
    apart = years(*distances)
    names = ", ".join(measured) if len(measured) <= _MAX_NAMES else f"{len(measured)} organisms"
    about = "at least about" if relatives.distance < min(distances) / 2 else "about"
    return (
        f"expected AUPRC {about} {precision} on windows, lower genome-wide "
        f"({names} held out, {apart} from the nearest relative)"
    )
