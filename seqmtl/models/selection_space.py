"""The search space of a selection: relations of the tasks, trust values, costs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from seqmtl.similarity import TaskKernel

COSTS = (1.0, 3.0, 10.0)
#: Trust values to choose from, with their prior weights.
TRUSTS = {0.0: 0.1, 0.1: 0.5, 0.25: 1.5, 0.5: 2.0, 1.0: 1.0}


@dataclass(frozen=True)
class Space:
    """The search space of a selection.

    Attributes
    ----------
    relations : dict of str to TaskKernel
        R by name; the tasks of the data come first in each.
    trusts : dict of float to float
        Prior weight of each trust value. If 1 is the only one, relations are used as they
        are; else they are scaled to a unit diagonal.
    costs : tuple of float
        In rising order.
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
        """Return the default space: a relation, if given, and all tasks alike."""
        every = names if relation is None else relation.names
        relations = {"all alike": TaskKernel.union(every)}
        if relation is not None:
            relations = {relation.source: _unit_diagonal(relation), **relations}
        return cls(relations, costs=costs) if len(names) > 1 else cls.of_cost(relations, costs)

    @classmethod
    def of_cost(cls, relations: Any, costs: tuple[float, ...] = COSTS) -> Space:
        """Return the space of one task kernel at several costs."""
        if isinstance(relations, TaskKernel):
            relations = {relations.source: relations}
        name, kernel = next(iter(relations.items()))
        return cls({name: kernel}, {1.0: 1.0}, costs)

    def to_dict(self) -> dict[str, Any]:
        """Return the search space as JSON values."""
        relations = {name: kernel.to_tsv() for name, kernel in self.relations.items()}
        return {"relations": relations, "trusts": [*self.trusts.items()], "costs": self.costs}


def _unit_diagonal(kernel: TaskKernel) -> TaskKernel:
    own = np.sqrt(np.diagonal(kernel.matrix))
    return TaskKernel(kernel.names, kernel.matrix / np.outer(own, own), kernel.source)
