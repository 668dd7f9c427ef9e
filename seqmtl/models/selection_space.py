"""What a selection chooses from: relations of the tasks, degrees of trust, costs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from seqmtl.similarity import TaskKernel

COSTS = (1.0, 3.0, 10.0)
#: Degrees of trust to choose from, and how likely each is before anything is seen.
TRUSTS = {0.0: 0.1, 0.1: 0.5, 0.25: 1.5, 0.5: 2.0, 1.0: 1.0}


@dataclass(frozen=True)
class Space:
    """What there is to choose from.

    Attributes
    ----------
    relations : dict of str to TaskKernel
        R by its name; the tasks of the data come first in each.
    trusts : dict of float to float
        Trust, and its prior. Where there is one only, 1, relations are taken as they are; else
        they are brought to a unit diagonal.
    costs : tuple of float
        Rising.
    """

    relations: dict[str, TaskKernel]
    trusts: dict[float, float] = field(default_factory=lambda: TRUSTS)
    costs: tuple[float, ...] = COSTS

    @classmethod
    def of_sharing(
        cls,
        names: tuple[str, ...],
        relation: TaskKernel | None = None,
        costs: tuple[float, ...] = COSTS,
    ) -> Space:
        """Return the space of the default: a relation, if there is one, and all tasks alike."""
        every = names if relation is None else relation.names
        relations = {"all alike": TaskKernel.union(every)}
        if relation is not None:
            relations = {relation.source: _unit_diagonal(relation), **relations}
        return cls(relations, costs=costs) if len(names) > 1 else cls.of_cost(relations, costs)

    @classmethod
    def of_cost(cls, relations: Any, costs: tuple[float, ...] = COSTS) -> Space:
        """Return the space of one kernel at several costs."""
        if isinstance(relations, TaskKernel):
            relations = {relations.source: relations}
        name, kernel = next(iter(relations.items()))
        return cls({name: kernel}, {1.0: 1.0}, costs)

    def to_dict(self) -> dict[str, Any]:
        """Return what there is to choose from, as JSON values."""
        relations = {name: kernel.to_tsv() for name, kernel in self.relations.items()}
        return {"relations": relations, "trusts": [*self.trusts.items()], "costs": self.costs}


def _unit_diagonal(kernel: TaskKernel) -> TaskKernel:
    own = np.sqrt(np.diagonal(kernel.matrix))
    return TaskKernel(kernel.names, kernel.matrix / np.outer(own, own), kernel.source)
