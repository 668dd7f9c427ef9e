"""Names as people write them, and the errors where they leave open who is meant."""

import logging
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqmtl import _names as names
from seqmtl._messages import forget_logged
from seqmtl._names import check_distinct, match_names
from seqmtl.exceptions import InputFormatError, UnknownTaskError
from seqmtl.files import catalogue
from seqmtl.relations import read_tree

ORGANISMS = (
    "taxid\tname\tsynonyms\n"
    "9606\tHomo sapiens\thuman|man\n"
    "6239\tCaenorhabditis elegans\tworm\n"
    "6238\tCaenorhabditis briggsae\n"
    "4932\tSaccharomyces cerevisiae\tbaker's yeast|yeast\n"
    "\n"
    "7227\tDrosophila melanogaster\n"
)


@pytest.fixture
def organisms(monkeypatch):
    """Another table of organisms than the shipped one."""
    tables = {"organisms.tsv": ORGANISMS}
    monkeypatch.setattr(catalogue, "table", lambda name: tables.get(name, ""))
    names._shipped.cache_clear()
    yield
    names._shipped.cache_clear()


def test_the_first_rule_decides(organisms):
    known = ["human", "Homo_sapiens", "homo sapiens", "h_sapiens"]
    assert match_names(["h_sapiens", "homo sapiens", "human"], known, "") == [3, 2, 0]
    assert match_names(["fly", "baker's Yeast"], ["yeast", "fly"], "") == [1, 0]


NEIGHBOURS = "Homo sapiens|Mus musculus|a|b|c|d"
ELEGANS = "Caenorhabditis elegans|Centruroides elegans"
MANY = "|".join(f"t{i}" for i in range(7))
NONE = r"^tasks 'xyz', 'uvw', 'rst' are not in K; it has 'Homo.*'c', \.\.\.$"


@pytest.mark.parametrize(
    ("wanted", "known", "message"),
    [
        ("a b", "a_b|A b", "ambiguous in K: it could be 'a_b', 'A b'; write"),
        ("c_elegans", ELEGANS, "'c_elegans' is ambiguous in K: it could be 'Caeno"),
        (
            "9606|worm|human",
            "Homo sapiens|c_elegans",
            "'human' is given twice: it and '9606' are bo",
        ),
        ("a|xyz|uvw|rst", NEIGHBOURS, NONE),
        (MANY, NEIGHBOURS, "'t3', 't4', and 2 more are not in K"),
    ],
)
def test_names_that_are_refused(organisms, wanted, known, message):
    with pytest.raises(UnknownTaskError, match=message):
        match_names(wanted.split("|"), known.split("|"), "K")


@settings(max_examples=30)
@given(st.lists(st.text(), unique=True, max_size=8), st.randoms())
def test_a_name_always_finds_itself(known, random):
    wanted = random.sample(known, len(known))
    assert [known[i] for i in match_names(wanted, known, "K")] == wanted


# ---- the verdicts, written by hand

PAIRS = [
    line.split("\t")
    for line in Path(__file__).with_name("name_pairs.tsv").read_text("utf-8").splitlines()[1:]
]


def verdict(wanted, known):
    """Return what the rule says: match, none or ambiguous."""
    try:
        (place,) = match_names([wanted], known, "K")
    except UnknownTaskError as error:
        return "ambiguous" if "is ambiguous in K" in str(error) else "none"
    assert place in range(len(known))
    return "match"


def test_verdicts():
    assert len({tuple(pair[:2]) for pair in PAIRS}) == len(PAIRS) >= 100
    for wanted, known, expected in PAIRS:
        options = known.split("|")
        assert verdict(wanted, options) == expected, (wanted, known)
        if len(options) == 1:
            assert verdict(known, [wanted]) == expected, (wanted, known)


def test_names_that_match_are_not_used_side_by_side():
    for one, other, expected in PAIRS:
        if "|" in other:
            continue
        if expected == "none":
            check_distinct([one, other])
        else:
            with pytest.raises(InputFormatError, match="every organism must have one name, got "):
                check_distinct([one, other])


spelt = st.builds(
    lambda genus, mark, word, change: change(f"{genus}{mark}{word}"),
    st.sampled_from("Caenorhabditis Cunninghamella C Mus Macropus M Drosophila Drosera D".split()),
    st.sampled_from([" ", "_", ". ", "-"]),
    st.sampled_from(["elegans", "musculus", "elegans N2"]),
    st.sampled_from([str, str.lower, str.upper]),
)


@given(spelt, spelt | st.text())
def test_a_genus_never_matches_another_genus(a, b):
    one, other = (names.simplify(name).split() for name in (a, b))
    assert verdict(a, [b]) == verdict(b, [a]) != "ambiguous"
    if verdict(a, [b]) == "match":
        assert one[1:] == other[1:]
        assert one[0] == other[0] or 1 in (len(one[0]), len(other[0]))
        assert one[0][0] == other[0][0]
    else:
        assert one != other


def test_names_of_one_organism_are_refused_with_their_line():
    message = "a.tsv:9: every organism must have one name, got 'c_elegans', 'C. elegans' for"
    with pytest.raises(InputFormatError, match=message):
        check_distinct(["fly", "c_elegans", "human", "C. elegans"], "a.tsv", [2, 5, 7, 9])
    check_distinct(["Cunninghamella elegans", "c_elegans", "Ctenus elegans", "t1", "t_1", "task"])


def test_a_tree_may_have_two_leaves_of_one_organism_until_one_is_used():
    tree = read_tree("((human:1,Homo_sapiens:1):1,(fly:2,bee:1):1);")
    assert tree.prune(["bee", "fly"]).leaf_names == ("fly", "bee")
    with pytest.raises(UnknownTaskError, match=r"'9606' is ambiguous .* 'human', 'Homo_sapiens'"):
        tree.prune(["9606", "fly"])
    with pytest.raises(InputFormatError, match="one leaf, got 'human' and 'Homo_sapiens' for the"):
        tree.prune(["human", "fly"])


# ---- what is said


@pytest.fixture
def said(caplog):
    """Messages about matches with their level; the command line renames the levels."""
    forget_logged()
    caplog.set_level(logging.INFO, logger="seqmtl")
    levels = {logging.INFO: "INFO", logging.WARNING: "WARNING"}
    return lambda: [f"{levels[record.levelno]}: {record.getMessage()}" for record in caplog.records]


def test_each_match_is_said_once_and_a_guess_by_the_initial_is_a_warning(said):
    known = ["Homo sapiens", "Caenorhabditis elegans", "fly"]
    with pytest.raises(UnknownTaskError, match="task 'nobody' is not in K"):
        match_names(["human", "nobody"], ["Homo sapiens"], "K")
    assert said() == []
    for _ in range(2):
        match_names(["human", "worm", "fly"], known, "the tree")
    match_names(["Homo sapiens"], ["human"], "the model")
    match_names(["9606"], known, "the model")
    match_names(["x_bocki", "worm"], ["Xenoturbella bocki", "c_elegans"], "K")
    assert said() == [
        "INFO: 'human' is 'Homo sapiens', 'worm' is 'Caenorhabditis elegans' in the tree",
        "INFO: '9606' is 'Homo sapiens' in the model",
        "WARNING: 'x_bocki' is 'Xenoturbella bocki' in K, by the initial of the genus; check that "
        "they are one organism",
        "INFO: 'worm' is 'c_elegans' in K",
    ]
