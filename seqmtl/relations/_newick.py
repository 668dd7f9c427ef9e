"""Parse Newick and Nexus files with Bio.Phylo.

Bio.Phylo is lenient: it reads the unquoted name ``Homo sapiens`` as ``sapiens``, and the length
``nan`` as a name. Therefore the text is checked first, and names are replaced by numbered
marks. Its Nexus reader (Bio.Nexus) reads missing lengths as 0 and is recursive, so only the tree
statement is extracted from a Nexus file, and parsed as Newick.
"""

from __future__ import annotations

import io
import math
import re
from typing import Any, NamedTuple

from seqmtl.exceptions import InputFormatError

_QUOTED_OR_COMMENT = re.compile(r"""('(?:[^']|'')*'|(?<![^\s(),:;\]])"(?:[^"]|"")*")|\[[^\]]*\]""")
_LENGTH = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_SUPPORT = re.compile(r"[\d.]+(e-?\d+)?(/[\d.]+)*", re.IGNORECASE)
# encloses the number of a name; text files do not contain it
_MARK = "\0"
# stands for an apostrophe within an unquoted name, such as that of Burton's_mouthbreeder
_APOSTROPHE = "\1"
_NAME = re.compile(rf"{_MARK}(\d+){_MARK}")
_SUPPORT_OF_NAMED = re.compile(
    rf"(\)\s*{_NAME.pattern})\s*{_SUPPORT.pattern}(?=\s*[(),:;])", re.IGNORECASE
)
_LETTERS = r"[^\s'(),:;\[\]]+"
_APOSTROPHES = re.compile(
    rf"{_QUOTED_OR_COMMENT.pattern}|(?<![^\s(),:;\]])({_LETTERS}(?:'{_LETTERS})+)"
    r"(?=[\s(),:;\[]|$)"
    # 95'a b' is not the names 95'a and b', but two names in a row
    r"(?!(?:[^'(),:;\[\]]|(?<=\S)'(?=[^\s(),:;\[])){0,100}(?<=\S)'(?:[\s(),:;\[]|$))"
)
_UNQUOTED = re.compile(rf"(?:^|(?<=[(,)]))[^(),:;{_MARK}]+")


class Nodes(NamedTuple):
    """Nodes of a tree, parents before children, leaves in the order of the file."""

    parents: list[int]
    lengths: list[float]
    labels: list[str]


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
        path. Numbers at inner nodes are support values, not labels. An apostrophe between two
        letters of an unquoted name is a letter. Names may be in double quotes, too.

    Raises
    ------
    InputFormatError
        If there is no tree, more than one, or a malformed one.
    """
    names: dict[str, str] = {}
    if _MARK in text or _APOSTROPHE in text:
        raise InputFormatError(
            "is not a Newick tree: it contains zero bytes or other control characters", path=where
        )
    text = _APOSTROPHES.sub(
        lambda match: match[0].replace("'", _APOSTROPHE) if match[2] else match[0], text
    )
    if text.lstrip()[:6].upper() == "#NEXUS":
        text, names = _nexus_tree(text, where)
    text, labels = _take_out_quoted(text, where)
    text = _SUPPORT_OF_NAMED.sub(r"\1", text)
    _check_newick(text, labels, where)
    n_quoted = len(labels)
    text = re.sub(r"\s+", "", text)
    # Bio.Phylo reads 2. as 2 and a name
    text = re.sub(r":[^(),:;]*", lambda match: re.sub(r"\.(?!\d)", "", match[0]), text)
    text = _UNQUOTED.sub(lambda match: _take_out(match[0], labels), text)
    nodes = nodes_of(_bio_phylo(text, where))
    is_inner = set(nodes.parents)
    for i, mark in enumerate(nodes.labels):
        number = int(mark[1:-1]) if mark else -1
        label = labels[number] if mark else ""
        if i in is_inner and number >= n_quoted and _SUPPORT.fullmatch(label):
            label = ""
        nodes.labels[i] = _restored(names.get(label, label)).strip()
    n_leaves = len(nodes.parents) - len(is_inner - {-1})
    if n_leaves != text.count(",") + 1:
        raise InputFormatError("is not a Newick tree; check its brackets and commas", path=where)
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
        length = math.nan if clade.branch_length is None or parent < 0 else clade.branch_length
        stack.extend((child, len(nodes.parents)) for child in reversed(clade.clades))
        nodes.parents.append(parent)
        nodes.lengths.append(float(length))
        nodes.labels.append(clade.name or "")
    return nodes


def quote(label: str) -> str:
    """Quote a label as Newick requires."""
    if re.fullmatch(r"[^\s()\[\]':;,\"]*", label) and not _SUPPORT.fullmatch(label):
        return label
    return "'" + label.replace("'", "''") + "'"


def _take_out_quoted(text: str, where: str) -> tuple[str, list[str]]:
    """Replace quoted names by marks, and remove comments."""
    quoted: list[str] = []

    def replace(match: re.Match[str]) -> str:
        if not match[1]:
            return ""
        mark = match[1][0]
        return _take_out(" ".join(match[1][1:-1].replace(2 * mark, mark).split()), quoted)

    bare = _QUOTED_OR_COMMENT.sub(replace, text)
    stray = re.search(r"['\[\]]", bare)
    if stray:
        raise InputFormatError(
            f"is not a Newick tree: {stray[0]} without its partner; check quotes and comments, and "
            "put names that begin or end with an apostrophe between single quotes",
            path=where,
        )
    return bare, quoted


def _restored(text: str) -> str:
    """Return a text with the apostrophes that it had in the file."""
    return text.replace(_APOSTROPHE, "'")


def _take_out(label: str, labels: list[str]) -> str:
    """Append a label to the list, and return its mark."""
    labels.append(label)
    return f"{_MARK}{len(labels) - 1}{_MARK}"


def _check_newick(text: str, quoted: list[str], where: str) -> None:
    """Reject text that Bio.Phylo would silently misread."""
    trees = [part for part in text.split(";") if part.strip()]
    if len(trees) != 1 or not re.search("[(;]", text):
        n_trees = len([part for part in trees if "(" in part])
        if len(trees) > 1 and n_trees == 1:
            raise InputFormatError(
                "is not a Newick tree: it goes on after a semicolon; put names with semicolons "
                "between single quotes",
                path=where,
            )
        raise InputFormatError(
            f"must hold one Newick tree, got {n_trees}; give a file with one tree", path=where
        )
    if text.count("(") != text.count(")"):
        swallowed = next((repr(name) for name in quoted if re.search("[()]", name)), "")
        raise InputFormatError(
            f"is not a Newick tree: {text.count('(')} opening and {text.count(')')} closing "
            f"brackets; check that the file is whole{', and the quotes of ' * bool(swallowed)}"
            f"{swallowed}",
            path=where,
        )
    for match in re.finditer(r":([^(),:;]*)(:?)", text):
        if not _LENGTH.fullmatch(match[1].strip()) or match[2]:
            raise InputFormatError(
                f"branch lengths must be numbers, got {_restored(match[1].strip() + match[2])!r}; "
                "correct it or leave out its colon",
                path=where,
            )
    beside = re.findall(r"(?<![^\s(),:;])[^\s(),:;]+\s+[^\s(),:;]+|[^\s(,]\s*\(", text)
    tokens = re.findall(r"[^\s(),:;]+", text)
    stray = beside + [token for token in tokens if _MARK in token and not _NAME.fullmatch(token)]
    if stray:
        example = _NAME.sub(lambda name: quote(quoted[int(name[1])]), stray[0])
        raise InputFormatError(
            f"is not a Newick tree: {_restored(example)!r}; put names with blanks or brackets "
            "between single quotes, and write an apostrophe there twice",
            path=where,
        )


def _bio_phylo(text: str, where: str) -> Any:
    from Bio.Phylo.NewickIO import NewickError, Parser

    try:
        (tree,) = Parser(io.StringIO(text)).parse()
    except (AttributeError, NewickError, ValueError) as error:
        raise InputFormatError(f"is not a Newick tree: {error}", path=where) from error
    return tree


def _nexus_tree(text: str, where: str) -> tuple[str, dict[str, str]]:
    """Return the Newick text of the single tree of a Nexus file, and its translation table."""
    newick: list[str] = []
    names: dict[str, str] = {}
    block = ""
    for command in re.findall(r"(?:'[^']*'|\[[^\]]*\]|[^;'\[])+", text.lstrip()[6:]):
        bare = re.sub(r"^(\s*\[[^\]]*\])*\s*", "", command)
        word, *others = re.split(r"\s+", bare, maxsplit=1)
        arguments = "".join(others)
        match word.lower():
            case "begin":
                block = arguments.strip().lower()
            case "end" | "endblock":
                block = ""
            case "translate" if block == "trees":
                names.update(_translation(arguments, where))
            case "tree" | "utree" if block == "trees":
                newick.append(re.sub(r"^(?:'[^']*'|\[[^\]]*\]|[^='\[])*=", "", arguments))
    if len(newick) != 1:
        raise InputFormatError(
            f"must hold one tree in its trees block, got {len(newick)}; give a file with one tree",
            path=where,
        )
    return newick[0], names


def _translation(text: str, where: str) -> dict[str, str]:
    """Parse the pairs of a translate command."""
    text, quoted = _take_out_quoted(text, where)
    names = {}
    for pair in text.split(","):
        tokens = pair.split()
        if len(tokens) != 2:
            raise InputFormatError(
                f"translate must give pairs of key and name, got {_restored(pair.strip())!r}; "
                "put names with blanks between single quotes",
                path=where,
            )
        key, name = (quoted[int(t[1:-1])] if t.startswith(_MARK) else t for t in tokens)
        names[key] = name
    return names
