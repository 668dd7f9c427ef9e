"""Parse Newick and Nexus text.

Names with blanks or brackets must be quoted. An unquoted number at an inner node is a support
value and not a name, also behind a quoted name.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

from seqmtl.exceptions import InputFormatError

_QUOTED = r"'(?:[^']|'')*'"
_COMMENT = re.compile(rf"({_QUOTED})|\[[^\]]*\]")
_PIECE = re.compile(rf"((?:{_QUOTED}|[^'(),;])*)([(),;]|$)")
_LENGTH = r"[+-]?\d*\.?\d+(?:[eE][+-]?\d+)?"
_SUPPORT = re.compile(r"[\d.]+(?:e-?\d+)?(?:/[\d.]+)*", re.IGNORECASE)
_NODE = re.compile(
    rf"(?:(?P<quoted>{_QUOTED})\s*(?P<support>{_SUPPORT.pattern})?|(?P<word>[^\s:']+))?"
    rf"\s*(?::\s*(?P<length>{_LENGTH}))?",
    re.IGNORECASE,
)
_COMMAND = re.compile(r"(?:'[^']*'|\[[^\]]*\]|[^;'\[])+")


class Nodes(NamedTuple):
    """Nodes of a tree, parents before children, leaves in the order of the file."""

    parents: list[int]
    lengths: list[float]
    labels: list[str]

    def add(self, parent: int) -> int:
        """Add a node without length and label; return its number."""
        self.parents.append(parent)
        self.lengths.append(math.nan)
        self.labels.append("")
        return len(self.parents) - 1


def parse_tree(text: str, where: str) -> Nodes:
    """Parse a Newick or Nexus text with a single tree.

    Parameters
    ----------
    text : str
        Content of a file.
    where : str
        Name of the file, for messages.

    Returns
    -------
    Nodes
        Missing lengths are NaN, and so is that of the branch above the root, which is in no
        path. Numbers at inner nodes are support values, not labels.

    Raises
    ------
    InputFormatError
        If there is no tree, more than one, or a malformed one.
    """
    names: dict[str, str] = {}
    if text.lstrip()[:6].upper() == "#NEXUS":
        text, names = _nexus_tree(text, where)
    nodes = Nodes([], [], [])
    i, is_leaf = nodes.add(-1), True
    for piece, mark in _pieces(text, where):
        if mark == "(" and is_leaf and not piece:
            i = nodes.add(i)
            continue
        if mark == "(" or (mark and mark in ",)" and nodes.parents[i] < 0):
            raise _misplaced(piece + mark, where)
        label, nodes.lengths[i] = _read_node(piece, is_leaf, where)
        nodes.labels[i] = names.get(label, label)
        if mark == ")":
            i = nodes.parents[i]
        elif mark == ",":
            i = nodes.add(nodes.parents[i])
        is_leaf = mark == ","
        if mark in {"", ";"}:
            break
    nodes.lengths[0] = math.nan
    return nodes


def nodes_of(tree: Any) -> Nodes:
    """Return the nodes of a Bio.Phylo tree, without the branch above the root."""
    from Bio.Phylo.BaseTree import Tree

    if not isinstance(tree, Tree):
        raise TypeError(
            "tree must be a file, Newick text, a Tree or one of Bio.Phylo, got "
            f"{type(tree).__name__}; read it first"
        )
    nodes = Nodes([], [], [])
    stack: list[tuple[Any, int]] = [(tree.root, -1)]
    while stack:
        clade, parent = stack.pop()
        i = nodes.add(parent)
        nodes.labels[i] = clade.name or ""
        if clade.branch_length is not None and parent >= 0:
            nodes.lengths[i] = float(clade.branch_length)
        stack.extend((child, i) for child in reversed(clade.clades))
    return nodes


def quote(label: str) -> str:
    """Quote a label as Newick requires."""
    if re.fullmatch(r"[^\s()\[\]':;,]*", label) and not _SUPPORT.fullmatch(label):
        return label
    return "'" + label.replace("'", "''") + "'"


def _bare(text: str, where: str) -> str:
    """Return the text without comments."""
    stray = re.search(r"['\[\]\0]", _COMMENT.sub("", text))
    if stray or "\0" in text:
        fault = f"{stray[0]} without its partner" if stray else ""
        fault = "it contains zero bytes" if "\0" in text else fault
        raise InputFormatError(
            f"is not a Newick tree: {fault}; check quotes and comments", path=where
        )
    return _COMMENT.sub(r"\1", text)


def _pieces(text: str, where: str) -> list[tuple[str, str]]:
    """Split a text into pieces that end with a bracket, comma or semicolon, or the text."""
    pieces = [(found[1].strip(), found[2]) for found in _PIECE.finditer(_bare(text, where))]
    shape = "".join("x" * bool(piece) + mark for piece, mark in pieces)
    trees = [part for part in shape.split(";") if part]
    if len(trees) != 1 or not set("(;") & set(shape):
        n_trees = sum("(" in part for part in trees)
        raise InputFormatError(
            f"must hold one Newick tree, got {n_trees}; give a file with one tree", path=where
        )
    if shape.count("(") != shape.count(")"):
        raise InputFormatError(
            f"is not a Newick tree: {shape.count('(')} opening and {shape.count(')')} closing "
            "brackets; check that the file is whole",
            path=where,
        )
    return pieces


def _read_node(piece: str, is_leaf: bool, where: str) -> tuple[str, float]:
    """Return the label and the length of a node."""
    found = _NODE.fullmatch(piece)
    if found is None or (is_leaf and found["support"]):
        _, colon, length = re.sub(_QUOTED, "", piece).partition(":")
        if colon and not re.fullmatch(_LENGTH, length.strip()):
            raise InputFormatError(
                f"branch lengths must be numbers, got {length.strip()!r}; correct it or leave out "
                "its colon",
                path=where,
            )
        raise _misplaced(piece, where)
    label = found["word"] or ""
    if not is_leaf and _SUPPORT.fullmatch(label):
        label = ""
    length = found["length"]
    return label or _unquote(found["quoted"] or "''"), float(length) if length else math.nan


def _unquote(label: str) -> str:
    return " ".join(label[1:-1].replace("''", "'").split())


def _misplaced(text: str, where: str) -> InputFormatError:
    return InputFormatError(
        f"is not a Newick tree: {text!r}; put names with blanks or brackets between single quotes",
        path=where,
    )


def _nexus_tree(text: str, where: str) -> tuple[str, dict[str, str]]:
    """Return the Newick text of the single tree of a Nexus file, and its translation table."""
    newick: list[str] = []
    names: dict[str, str] = {}
    block = ""
    for command in _COMMAND.findall(text.lstrip()[6:]):
        bare = re.sub(r"^(\s*\[[^\]]*\])*\s*", "", command)
        word, *others = re.split(r"\s+", bare, maxsplit=1)
        rest = "".join(others)
        match word.lower():
            case "begin":
                block = rest.strip().lower()
            case "end" | "endblock":
                block = ""
            case "translate" if block == "trees":
                names.update(_translation(rest, where))
            case "tree" | "utree" if block == "trees":
                newick.append(re.sub(r"^(?:'[^']*'|\[[^\]]*\]|[^='\[])*=", "", rest) + ";")
    if len(newick) != 1:
        raise InputFormatError(
            f"must hold one tree in its trees block, got {len(newick)}; give a file with one tree",
            path=where,
        )
    return newick[0], names


def _translation(text: str, where: str) -> dict[str, str]:
    """Parse the pairs of a translate command."""
    names = {}
    for piece, mark in _PIECE.findall(_bare(text, where)):
        if not piece.strip() and not mark:
            continue
        words = re.findall(rf"{_QUOTED}|[^\s']+", piece)
        if len(words) != 2:
            raise InputFormatError(
                f"translate must give pairs of key and name, got {piece.strip()!r}; "
                "put names with blanks between single quotes",
                path=where,
            )
        key, name = (_unquote(word) if word.startswith("'") else word for word in words)
        names[key] = name
    return names
