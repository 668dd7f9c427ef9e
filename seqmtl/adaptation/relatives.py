"""Weights of the organisms of a model for a new one, before there are labels.

    a = r2 [R_SS^+ R_Sn]  +  (1 - r2) [R_SS^+ 1],     r2 = R_nS R_SS^+ R_Sn / R_nn

=====  ==================================================================================
[x]    the positive entries of x, divided by their sum; the others become 0
S      the T tasks of the model
n      the new organism, or the mean of the leaves of a clade
R      similarity by a tree, with unit diagonal, or by the task kernel of the model
r2     share of the variance of w_n that the other w_s explain, by the tree: 1 if n is at a
       task, near 0 far from all
a_s    weight of task s; without labels, w_n = sum_s a_s w_s
=====  ==================================================================================

The first term is the mean of w_n given the other w_s under the multi-task regulariser. What it
leaves open is filled by the mean of all tasks as generalized least squares estimates it, 1 a vector
of ones: for a distant organism proximity is uninformative. Close relatives are
redundant, so a clade counts little more than one species. Tasks that the tree lacks have 1 / T
of the second term each, and the others share what remains of it as above.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._messages import messages_from
from seqmtl._names import NameIndex, is_typo, simplify
from seqmtl.exceptions import UnknownTaskError, UsageError
from seqmtl.files import catalogue
from seqmtl.linear_model.base import is_known
from seqmtl.relations import TaskKernel
from seqmtl.relations.clades import TaxonLeaves, readings, shipped_clades
from seqmtl.relations.ncbi_taxonomy import read_ncbi_taxonomy
from seqmtl.relations.trees import LARGEST_TREE, Tree, prune_to, read_tree

Array = NDArray[np.float64]
logger = logging.getLogger(__name__)

#: The name of a relative for which all organisms of the model count the same.
AUTO = "auto"
#: Ratio up to which distances are taken for the same.
ALIKE = 1.01


class RelativeWeights(NamedTuple):
    """Weights of the tasks of a model for a new organism.

    Attributes
    ----------
    weights : ndarray of float64, shape (T,)
        a, not negative, with sum 1.
    place : str
        The task, or the taxon in a tree, that stands for it, for messages.
    r2 : float
        r2, from 0 to 1.
    nearest : str
        The nearest task in the tree, or "" if no tree was used.
    distance : float
        Length of the path to it.
    alike : tuple of str
        The tasks to which it is as long: those of the nearest clade that has any.
    tree : str
        The tree, or "" if none was used.
    """

    weights: Array
    place: str
    r2: float
    nearest: str = ""
    distance: float = 0.0
    alike: tuple[str, ...] = ()
    tree: str = ""

    @property
    def is_dated(self) -> bool:
        """Whether lengths are million years: the time since two diverged is half their distance."""
        return self.tree in catalogue.names()

    @property
    def apart(self) -> str:
        """Distance of the nearest task: time since they diverged, or length of the path."""
        return years(self.distance) if self.is_dated else f"a path of {self.distance:.3g}"

    @property
    def is_same_place(self) -> bool:
        """Whether the tree has no nearer place for it than that of the nearest task."""
        return bool(self.nearest) and self.distance < 1.0 * self.is_dated + 1e-9

    @property
    def source(self) -> str:
        """Where the weights come from, with the nearest task."""
        if not self.tree:
            return self.place
        apart = f"the place of {self.nearest}"
        if not self.is_same_place:
            apart = f"{self.apart} from {self.nearest}, the nearest"
        return f"{self.place} in the tree {self.tree}, {apart}"


def years(*distances: float) -> str:
    """Return the time since organisms diverged, or its range, from the path between them."""
    ends = (f"{distance / 2.0:,.0f}" for distance in (min(distances), max(distances)))
    return f"{' to '.join(dict.fromkeys(ends))} million years"


def name_organism(
    tasks: Sequence[str], organism: str | None, like: str | None = None, file: str | None = None
) -> str:
    """Return the organism to score: one of a model, or a new one with a relative.

    Parameters
    ----------
    tasks : sequence of str
        Organisms of the model.
    organism : str, optional
        Its name. Default: without `like` the only task; else `like`, unless that is auto or a task:
        then the name of the file, with an ending if a task has it.
    like : str, optional
        The relative of a new organism.
    file : str, optional
        Genome of a new organism.

    Raises
    ------
    UsageError
        If the model has several organisms, and none is named.
    """
    if organism is not None:
        return organism
    if like is None:
        if len(tasks) > 1:
            names = ", ".join(tasks)
            raise UsageError(f"must be one of {names}, the organisms of the model", "organism")
        return tasks[0]
    if like != AUTO and not is_known(like, tasks):
        return like
    name = os.path.basename(file or "").partition(".")[0]
    name = "new_organism" if name in ("", "-") else name
    return f"{name}_genome" if is_known(name, tasks) else name


def weights_of_relatives(
    kernel: TaskKernel,
    tasks: Sequence[str],
    name: str,
    *,
    like: str | None = None,
    tree: Any = None,
    trusts: Mapping[str, float] | None = None,
) -> RelativeWeights:
    """Return how much each task of a model counts for a new organism before there are labels.

    At a task, that task alone counts; without a known relative all tasks count the same, 1 / T;
    otherwise by the equation at the top of this module.

    Parameters
    ----------
    kernel : TaskKernel
        Task kernel of the model; its tasks come first.
    tasks : sequence of str
        Tasks of the model, T of them.
    name : str
        The new organism.
    like : str, optional
        A task, an organism or clade of the tree, or a taxon or common name of the shipped table of
        clades, whose weights it takes. Default, or auto: its name.
    tree : Tree, str or path-like, optional
        See :func:`seqmtl.relations.trees.read_tree`; or the folder of an NCBI taxonomy dump,
        which must have all tasks. Default: the task kernel; for a `like` that
        it lacks, the largest shipped tree; without any, all tasks count the same.
    trusts : mapping of str to float, optional
        Trust of tasks whose similarity in the kernel is that of the tree times the smaller trust.

    Raises
    ------
    InputFormatError
        If the tree cannot be read.
    UnknownTaskError
        If it lacks the organism, or all tasks; the message lists near matches.
    UsageError
        If there is a tree with auto.
    """
    if like == AUTO:
        if tree is not None:
            raise UsageError(f"--like {AUTO} uses no tree; leave --tree out, or name a relative")
        like = None
    target, T = like or name, len(tasks)
    matches = _find(NameIndex(tasks), target) if like else []
    if len(matches) == 1:
        return RelativeWeights(np.eye(T)[matches[0]], f"the place of {tasks[matches[0]]}", 1.0)
    if tree is not None:
        is_dump = isinstance(tree, (str, os.PathLike)) and os.path.isdir(tree)
        read = read_ncbi_taxonomy(tree, [*tasks, target]) if is_dump else read_tree(tree)
        return _in_tree(read, tasks, target)
    matches = _find(NameIndex(kernel.names), target)
    if len(matches) == 1:
        R = _untuned(kernel, T, trusts or {})
        weights, r2 = _conditional_mean(R[:T, :T], R[:T, matches[0]], 1.0)
        where = f"{kernel.names[matches[0]]} in the task kernel of the model"
        mean = _mean(R[:T, :T])
        return RelativeWeights(r2 * weights + (1.0 - r2) * mean, where, r2)
    if like is None:
        return RelativeWeights(np.full(T, 1.0 / T), "the mean of all", 0.0)
    return _in_tree(read_tree(LARGEST_TREE), tasks, target)


def _conditional_mean(R: Array, column: Array, size: float) -> tuple[Array, float]:
    """Return the weights of the tasks, with sum 1, and r2, from R_SS, R_Sn and R_nn."""
    weights = np.linalg.pinv(R, hermitian=True) @ column
    r2 = float(np.clip(column @ weights / size, 0.0, 1.0))
    weights = np.maximum(weights, 0.0)
    return (weights / weights.sum(), r2) if weights.any() else (weights, 0.0)


def _mean(R: Array) -> Array:
    """Return the weights of the tasks in the estimate of the root by generalized least squares.

    Close relatives count little more than a single one.
    """
    weights = np.maximum(np.linalg.pinv(R, hermitian=True).sum(axis=1), 0.0)
    return weights / weights.sum()


def _untuned(kernel: TaskKernel, T: int, trusts: Mapping[str, float]) -> Array:
    """Return R from K_st = sqrt(K_ss K_tt) min(x_s, x_t) R_st."""
    x = np.array([trusts.get(name, 1.0) for name in kernel.names[:T]] + [1.0] * (len(kernel) - T))
    R = similarity(kernel.matrix) / np.maximum(np.minimum.outer(x, x), 1e-3)
    np.fill_diagonal(R, 1.0)
    return np.asarray(R)


def similarity(K: Array) -> Array:
    """Return a task kernel with unit diagonal."""
    size = np.sqrt(np.maximum(np.diagonal(K), 1e-300))
    return np.asarray(K / np.outer(size, size))


def spread(R: Array, weights: Array, error: float) -> Array:
    """Return weights of tasks for a new one if the weight vectors of the tasks have errors.

    With a variance e of these, beside 1 of each vector, they are [(R + e I)^-1 R a]: the more,
    the more similar tasks count, since their mean has a smaller error.

    Parameters
    ----------
    R : ndarray of float64, shape (T, T)
        Similarity of the tasks.
    weights : ndarray of float64, shape (T,)
        a, without errors.
    error : float
        e.
    """
    spread_out = np.maximum(np.linalg.solve(R + error * np.eye(len(R)), R @ weights), 0.0)
    return np.asarray(spread_out / spread_out.sum())


def _in_tree(tree: Tree, tasks: Sequence[str], target: str) -> RelativeWeights:
    """Return the weights for an organism, or the mean of the leaves of a clade, in a tree."""
    where = f"the tree {tree.source}"
    taxon, tree, below = _find_leaves(tree, target)
    if not below:
        raise UnknownTaskError(
            f"{target!r} is neither an organism of the model nor one organism, clade or genus of "
            f"{where} or the table of clades; {_hint(tree, tasks, target)}; give its family, order "
            "or class, auto, or the folder of an NCBI taxonomy dump as --tree of seqmtl adapt",
            target,
        )
    leaves = NameIndex(tree.leaf_names)
    leaf_of = {name: hits[0] for name in tasks if len(hits := leaves.find(name)) == 1}
    if not leaf_of:
        raise UnknownTaskError(
            f"{where} has none of the organisms of the model ({', '.join(tasks[:5])}); give another"
        )
    absent = [name for name in tasks if name not in leaf_of]
    if absent:
        text = "%s lacks %s: treated as equally distant from all organisms"
        logger.warning(text, where, ", ".join(absent))
    spelling = {leaf: name for name, leaf in leaf_of.items()}
    members = [spelling.get(leaf, tree.leaf_names[leaf]) for leaf in below]
    names = list(dict.fromkeys([*leaf_of, *members]))
    columns = [names.index(name) for name in members]
    # how the shipped tree spells the organisms of a model is no news
    with messages_from(logging.WARNING if tree.source == LARGEST_TREE else logging.NOTSET):
        R = TaskKernel.from_tree(tree, names).matrix
    n = len(leaf_of)
    size = float(R[np.ix_(columns, columns)].mean())
    some, r2 = _conditional_mean(R[:n, :n], R[:n, columns].mean(axis=1), size)
    weights = np.full(len(tasks), (1.0 - r2) / len(tasks))
    mean = (1.0 - r2) * n / len(tasks) * _mean(R[:n, :n])
    weights[[tasks.index(name) for name in leaf_of]] = r2 * some + mean
    pruned, _, order = prune_to(tree, names)
    distances = pruned.distances()[np.ix_(order, order)][:n, columns].mean(axis=1)
    nearest = int(distances.argmin())
    distance = float(distances[nearest])
    alike = tuple(names[i] for i in np.flatnonzero(distances <= ALIKE * distance))
    return RelativeWeights(weights, taxon, r2, names[nearest], distance, alike, tree.source)


def _find_leaves(tree: Tree, target: str) -> TaxonLeaves:
    """Return what a name means in a tree, and its leaves, none if it is unknown.

    This is an organism or clade of the tree; of several nodes of the name the organism, else the
    one that all others are below, such as the genus of a subgenus of its name. Where the tree lacks
    a species, and has no similarly spelt one, it is the genus: the clade of that name, else the
    leaves of that genus. A name that the tree lacks altogether is located by the shipped table of
    clades, or its genus is.
    """
    nodes = np.array([i for i, label in enumerate(tree.labels) if label])
    index = NameIndex([tree.labels[i] for i in nodes])
    matches, unknown = _find(index, target), TaxonLeaves("", tree, [])
    genus, species = [*readings(target)[0].split(" "), ""][:2]
    # more than an initial, and the genus that trees have
    if not matches and len(genus) > 1 and not shipped_clades().is_of_namesake(target):
        names = [simplify(label).partition(" ") for label in index.names]
        species_of = [i for i, (first, _, _) in enumerate(names) if first == genus]
        matches = [i for i in species_of if not names[i][2]] or species_of
        if any(is_typo(species, names[i][2]) for i in species_of):
            return unknown
        if matches:
            here = ", ".join(index.names[i] for i in matches)
            logger.info("the tree %s lacks %r, but of its genus has %s", tree.source, target, here)
            below = np.flatnonzero(tree.membership()[nodes[matches]].any(axis=0)).tolist()
            return TaxonLeaves(here, tree, below)
    if not matches:
        placed = shipped_clades().locate(tree, target) or unknown
        if placed.tree is not tree:
            text = (
                "the tree %s lacks %r: placed as %s, the smallest clade around it that has a leaf"
            )
            logger.info(text, tree.source, target, placed.name)
        return placed
    if len({index.names[i] for i in matches}) > 1:
        return unknown
    below = tree.membership()[nodes[matches]]
    at = int(below.sum(axis=1).argmax())
    is_leaf = np.isin(nodes[matches], tree.leaves)
    if is_leaf.sum() == 1:
        at = int(is_leaf.argmax())
    elif (below & ~below[at]).any():
        return unknown
    return TaxonLeaves(index.names[matches[at]], tree, np.flatnonzero(below[at]).tolist())


def _find(index: NameIndex, name: str) -> list[int]:
    """Return the indices of a name, else of it without brackets, else of its first two words."""
    texts = [text for text in readings(name) if " " in text]
    return next(filter(None, map(index.find, [name, *texts])), [])


def _hint(tree: Tree, tasks: Sequence[str], target: str) -> str:
    """Return that the largest shipped tree has a name, or list names that are similar."""
    if tree.source != LARGEST_TREE:
        with messages_from(logging.WARNING):
            is_there = bool(_find_leaves(read_tree(LARGEST_TREE), target).leaves)
        if is_there:
            return f"the tree {LARGEST_TREE} has it, and is searched if no tree is given"
    spellings = {simplify(name): repr(name) for name in (*filter(None, tree.labels), *tasks)}
    names = [text for key, text in spellings.items() if is_typo(simplify(target), key)]
    names = names or shipped_clades().near(target)
    if names:
        return f"did you mean {' or '.join(names)}?"
    return f"the model has {', '.join(map(repr, tasks[:5]))}" + ", ..." * (len(tasks) > 5)


def extend(
    kernel: TaskKernel, n_tasks: int, name: str, weights: Array, at: int | None = None
) -> TaskKernel:
    """Return the task kernel with an organism whose conditional mean has these weights.

    K_Pn = K_PS a for all names P, so that K_SS^+ K_Sn = a. A name that is there is replaced.

    Parameters
    ----------
    kernel : TaskKernel
        Task kernel, with the tasks first.
    n_tasks : int
        Number of tasks, T.
    name : str
        The organism.
    weights : ndarray of float64, shape (T,)
        a.
    at : int, optional
        Row of the organism in the result. Default: the last.
    """
    replaced = NameIndex(kernel.names).find(name)
    others = [i for i in range(len(kernel)) if i not in replaced]
    at = len(others) if at is None else at
    K = kernel.matrices[:, :, :n_tasks] @ weights
    size = kernel.matrices[:, :n_tasks, :n_tasks].diagonal(axis1=1, axis2=2).mean(axis=1)
    diagonal = np.maximum(size, (1.0 + 1e-9) * (K[:, :n_tasks] @ weights))
    matrices = kernel.matrices[:, others][:, :, others]
    matrices = np.insert(matrices, at, K[:, others], axis=1)
    column = np.insert(K[:, others], at, diagonal, axis=1)
    names = [kernel.names[i] for i in others]
    names.insert(at, name)
    return TaskKernel(
        names, np.insert(matrices, at, column, axis=2), kernel.source, labels=kernel.labels
    )
