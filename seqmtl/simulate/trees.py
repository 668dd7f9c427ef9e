"""The tree that relates the organisms, and the drift of their traits along its branches."""

from __future__ import annotations

import copy
import io
import logging
import math
import os
import re
from typing import Any, TypeAlias

import numpy as np
from Bio.Phylo import NewickIO
from Bio.Phylo.BaseTree import Clade, Tree

from seqmtl.exceptions import InputFormatError
from seqmtl.files.whole import read_bytes

logger = logging.getLogger(__name__)

TreeSource: TypeAlias = "str | os.PathLike[str] | Tree | None"

_DEFAULT_TREE = (
    "(((velia_alba:0.06,velia_nigra:0.06):0.30,(brunia_parva:0.08,brunia_magna:0.09):0.26):0.25,"
    "coris_longa:0.70,dorma_prima:1.20);"
)


def default_tree() -> str:
    """Return the Newick text of six made-up organisms.

    Two close pairs that are cousins of each other, one distant relative and an outgroup. Branch
    lengths are in the unit of the `drift` of :func:`seqmtl.simulate.simulate`.

    Returns
    -------
    str
        A Newick tree with named leaves and a length on every branch but the root's.

    Examples
    --------
    >>> default_tree().count(":")
    9
    """
    return _DEFAULT_TREE


def parse_tree(source: TreeSource) -> tuple[Any, tuple[str, ...]]:
    """Read a tree and check that its leaves can name organisms.

    Parameters
    ----------
    source : str, path, Bio.Phylo tree or None
        Newick text (it holds a parenthesis or a semicolon), the path of a Newick file, a tree that
        was already parsed (it is copied), or None for :func:`default_tree`.

    Returns
    -------
    tree : Bio.Phylo tree
        Every branch below the root has a length; missing ones are 1 (with a logged warning).
    organisms : tuple of str
        Names of the leaves, in the order of the tree.

    Raises
    ------
    InputFormatError
        If the text is not one Newick tree, a leaf has no name or the name of another leaf, or a
        branch length is negative or not finite.
    OSError
        If the file cannot be read.
    """
    path: str | None = None
    if isinstance(source, Tree):
        tree: Any = copy.deepcopy(source)
    else:
        text = _DEFAULT_TREE if source is None else os.fspath(source)
        if not re.search(r"[();]", text):
            path = text
            text = read_bytes(path).decode()
        tree = _parse_newick(text, path)
    _complete_lengths(tree, path)
    return tree, _leaf_names(tree, path)


def _parse_newick(text: str, path: str | None) -> Any:
    """Parse one tree; refuse what Bio.Phylo would read as something else without a word."""
    bare = re.sub(r"'(?:[^']|'')*'|\[[^]]*\]", "", text)
    for length in re.findall(r":([^(),:;]*)", bare):
        if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", length.strip()):
            raise InputFormatError(
                f"branch length must be a finite number, got {length.strip()!r}; "
                "correct it or leave out its colon",
                path=path,
            )
    blank = re.search(r"[^\s(),:;]+[^\S\n]+[^\s(),:;]+", bare)
    if blank:
        raise InputFormatError(
            f"leaf names with blanks must be quoted, got {blank.group()!r}; "
            "write it between single quotes",
            path=path,
        )
    try:
        trees = list(NewickIO.parse(io.StringIO(text)))
        problem = f"{len(trees)} trees"
    except NewickIO.NewickError as error:
        trees, problem = [], str(error)
    if len(trees) != 1:
        shown = text.strip() if len(text) <= 60 else text.strip()[:60] + "..."
        raise InputFormatError(
            f"tree must be one Newick tree, got {shown!r} ({problem}); "
            "check its parentheses and the final semicolon",
            path=path,
        )
    return trees[0]


def _complete_lengths(tree: Any, path: str | None) -> None:
    """Check the branch lengths below the root in place, and set the missing ones to 1."""
    missing = 0
    for clade in tree.find_clades():
        if clade is tree.root:
            continue
        if clade.branch_length is None:
            clade.branch_length = 1.0
            missing += 1
        elif not 0.0 <= clade.branch_length < math.inf:
            raise InputFormatError(
                f"branch length must be a number of at least 0, got {clade.branch_length} "
                f"above {clade.name or 'an inner node'}; correct the tree",
                path=path,
            )
    if missing:
        logger.warning("branches of the tree without a length, taken as 1: %d", missing)


def _leaf_names(tree: Any, path: str | None) -> tuple[str, ...]:
    """Return the names of the leaves, checked: present, printable and different."""
    names: list[str] = []
    for leaf in tree.get_terminals():
        name = leaf.name
        if not name or not name.strip() or not name.isprintable():
            raise InputFormatError(
                f"every leaf of the tree must have a printable name, got {name!r}; name the leaf",
                path=path,
            )
        if name in names:
            raise InputFormatError(
                f"leaf names must be different, got {name!r} twice; rename one of them", path=path
            )
        names.append(name)
    return tuple(names)


def newick_text(tree: Any) -> str:
    """Write a tree as one line of Newick; lengths keep all their digits."""
    buffer = io.StringIO()
    NewickIO.write([tree], buffer, format_branch_length="%r")
    return buffer.getvalue().strip() + "\n"


def drift_traits(tree: Any, n_traits: int, drift: float, rng: np.random.Generator) -> np.ndarray:
    """Let independent traits evolve from the root to every leaf.

    Every trait is a stationary Ornstein-Uhlenbeck process with mean 0 and variance 1: over a
    branch of length b a trait z becomes ``r z + sqrt(1 - r^2) e`` with ``r = exp(-drift b)`` and e
    standard normal, a random walk whose variance grows as ``2 drift b`` while it is small. Two
    leaves correlate as ``exp(-drift d)``, d the length of the path between them.

    Parameters
    ----------
    tree : Bio.Phylo tree
        With a length on every branch below the root; the root's own branch is ignored.
    n_traits : int
        Number of traits.
    drift : float
        Rate per unit of branch length; 0 makes all leaves equal.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    numpy.ndarray
        Shape (leaves, n_traits), float64, leaves in the order of the tree.
    """
    leaves: list[np.ndarray] = []
    stack: list[tuple[Clade, np.ndarray]] = [(tree.root, rng.standard_normal(n_traits))]
    while stack:
        clade, traits = stack.pop()
        if not clade.clades:
            leaves.append(traits)
        for child in reversed(clade.clades):
            kept = math.exp(-drift * child.branch_length)
            noise = math.sqrt(max(0.0, 1.0 - kept * kept)) * rng.standard_normal(n_traits)
            stack.append((child, kept * traits + noise))
    return np.stack(leaves)


def file_stems(organisms: tuple[str, ...]) -> dict[str, str]:
    """Map the names of organisms to file names without an ending.

    Characters other than letters, digits, ``.``, ``_`` and ``-`` become ``_``, and so does a
    leading ``.`` or ``-``.

    Raises
    ------
    InputFormatError
        If two organisms would share a file (also where only the case differs).
    """
    stems: dict[str, str] = {}
    owners: dict[str, str] = {}
    for organism in organisms:
        stem = re.sub(r"[^A-Za-z0-9._-]|^[.-]", "_", organism)
        owner = owners.setdefault(stem.lower(), organism)
        if owner != organism:
            raise InputFormatError(
                f"organism names must differ as file names, got {owner!r} and {organism!r}; "
                "rename one of them in the tree"
            )
        stems[organism] = stem
    return stems
