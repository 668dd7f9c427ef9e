"""Trees from the NCBI taxonomy dump."""

import numpy as np
import pytest

from seqmtl.exceptions import InputFormatError, UnknownTaskError
from seqmtl.relations.ncbi_taxonomy import read_ncbi_taxonomy

#: taxid, parent, names by class
NODES = [
    (1, 1, {"scientific name": "root", "synonym": "all"}),
    (10, 1, {"scientific name": "Animals"}),
    (11, 10, {"scientific name": "Flies"}),
    (12, 11, {"scientific name": "Flies"}),
    (21, 12, {"scientific name": "Musca nova", "common name": "new fly", "synonym": "Musca sp. 1"}),
    (22, 12, {"scientific name": "Musca vetus", "genbank common name": "old fly"}),
    (23, 11, {"scientific name": "Culex nova", "common name": "biter"}),
    (24, 22, {"scientific name": "Musca vetus minor", "common name": "biter"}),
    (30, 10, {"scientific name": "Vermes"}),
    (6239, 30, {"scientific name": "Caenorhabditis elegans", "synonym": "Rhabditis elegans"}),
    (31, 30, {"scientific name": "Crassus elegans"}),
    (32, 30, {"scientific name": "Caldus vermis", "synonym": "Musca nova"}),
]
NO_NAME = r"taxid \| name \| unique name \| class"


@pytest.fixture
def dump(tmp_path):
    """Return a function that writes the dump, with changes, and returns its folder."""

    def write(nodes=NODES, merged=((99, 23), (98, 97)), newline="\n", mark=""):
        folder = tmp_path / "taxdump"
        folder.mkdir(exist_ok=True)
        files = {
            "nodes": [(i, parent, "no rank", "", 0) for i, parent, _ in nodes],
            "names": [(i, name, "", kind) for i, _, own in nodes for kind, name in own.items()],
            "merged": merged,
        }
        for name, rows in files.items():
            lines = ("\t|\t".join(map(str, row)) + "\t|" + newline for row in rows)
            (folder / f"{name}.dmp").write_bytes((mark + "".join(lines)).encode())
        return folder

    return write


def test_an_initial_stands_for_one_genus(dump):
    nodes = [node for node in NODES if node[0] != 6239]
    for name in ("c_elegans", "C. elegans N2"):
        with pytest.raises(UnknownTaskError, match=f"{name!r} is not in the taxonomy taxdump"):
            read_ncbi_taxonomy(dump(nodes), [name, "Culex nova"])
    nodes.append((40, 30, {"scientific name": "Caenorhabditis elegans N2"}))
    tree = read_ncbi_taxonomy(dump(nodes), ["C. elegans N2", 31])
    assert tree.leaf_names == ("C. elegans N2", "Crassus elegans")
    assert read_ncbi_taxonomy(dump(nodes), ["c_vermis", 31]).leaf_names[:1] == ("c_vermis",)


def clades(tree):
    """Return the leaves of every inner node by its label."""
    names = np.array(tree.leaf_names)
    inner = set(range(len(tree))) - set(tree.leaves.tolist())
    return {tree.labels[i]: set(names[tree.membership()[i]].tolist()) for i in inner}


def test_by_hand(dump):
    tree = read_ncbi_taxonomy(dump(), ["musca_nova", 22, "23", "rhabditis elegans", 31])
    assert clades(tree) == {
        "Animals": {"musca_nova", "Musca vetus", "23", "rhabditis elegans", "Crassus elegans"},
        "Flies": {"musca_nova", "Musca vetus", "23"},
        "Flies (12)": {"musca_nova", "Musca vetus"},
        "Vermes": {"rhabditis elegans", "Crassus elegans"},
    }
    assert tree.source == "taxdump"
    assert np.isnan(tree.lengths).all()


@pytest.mark.parametrize("changes", [{"newline": "\r\n"}, {"mark": "\ufeff"}, {"merged": ()}])
def test_other_files_of_the_same_dump(dump, changes):
    wanted = [21, 22, "Culex nova", 6239]
    plain = read_ncbi_taxonomy(dump(), wanted).to_newick()
    assert read_ncbi_taxonomy(dump(**changes), wanted).to_newick() == plain


@pytest.mark.parametrize(
    ("name", "taxid"),
    [
        ("Musca nova", 21),  # a scientific name goes before a synonym of another
        ("New_Fly", 21),
        (" 21 ", 21),
        ("m. vetus", 22),  # by the dump's own names
        ("C_nova", 23),
        ("99", 23),  # merged
        (99, 23),
        (np.int64(99), 23),
        ("c. elegans", 6239),  # the shipped table goes before abbreviations
        ("6239", 6239),
    ],
)
def test_every_way_to_name_an_organism(dump, name, taxid):
    tree = read_ncbi_taxonomy(dump(), [name, 32])
    expected = read_ncbi_taxonomy(dump(), [taxid, 32])
    np.testing.assert_array_equal(tree.parents, expected.parents)
    first = tree.labels[min(tree.leaves)] if isinstance(name, str) else ""
    assert first in (name, "")
    with pytest.raises(UnknownTaskError, match=f"is given twice: .* taxid {taxid}; leave one"):
        read_ncbi_taxonomy(dump(), [name, taxid])


def test_an_organism_above_another_is_a_leaf_too(dump):
    tree = read_ncbi_taxonomy(dump(), ["Musca vetus", 24, "new fly"])
    assert clades(tree) == {
        "Flies": {"Musca vetus", "Musca vetus minor", "new fly"},
        "Musca vetus (22)": {"Musca vetus", "Musca vetus minor"},
    }
    above = read_ncbi_taxonomy(dump(), [1, 21])
    assert clades(above) == {"root (1)": {"root", "Musca nova"}}
    assert read_ncbi_taxonomy(dump(), [21]).leaf_names == ("Musca nova",)


@pytest.mark.parametrize(
    ("organisms", "message"),
    [
        (["Musca nava"], "'Musca nava' is not in the taxonomy taxdump; did you mean 'Musca nova'"),
        (["xyzzy"], "'xyzzy' is not in the taxonomy taxdump; give its taxid"),
        (["flies"], "'flies' is ambiguous .* could be taxid 11, 12; give the taxid"),
        (["biter"], "'biter' is ambiguous .* could be taxid 23, 24; give the taxid"),
        ([5], "'5' is not in the taxonomy taxdump; look up its taxid"),
        ([98], "'98' is not in the taxonomy"),  # merged into nothing
        (["musca nova", "musca nova"], "is given twice"),
    ],
)
def test_names_that_are_not_clear(dump, organisms, message):
    with pytest.raises(UnknownTaskError, match=message):
        read_ncbi_taxonomy(dump(), organisms)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([(1, 1, {}), (2, 3, {}), (3, 4, {}), (4, 3, {})], "got a cycle through taxid 3"),
        ([(1, 1, {}), (2, 3, {})], "got the missing parent 3 of 2"),
        ([], "must have at least one node"),
    ],
)
def test_nodes_that_are_no_tree(dump, nodes, message):
    folder = dump(nodes)
    with pytest.raises(ValueError, match="organisms must be at least one name or taxid, got none"):
        read_ncbi_taxonomy(folder, [])
    with pytest.raises(InputFormatError, match=message) as info:
        read_ncbi_taxonomy(folder, [2])
    assert info.value.path == str(folder / "nodes.dmp")


@pytest.mark.parametrize(
    ("taxid", "message"),
    [
        ("77777", "must be a node, got 77777; download a fresh dump"),
        *((taxid, NO_NAME) for taxid in ("9" * 30, "9" * 5000, "x", "-3", "")),
    ],
)
def test_a_name_without_a_node(dump, taxid, message):
    folder = dump()
    with open(folder / "names.dmp", "a") as stream:
        stream.write(f"{taxid}\t|\tlost one\t|\t\t|\tscientific name\t|\n")
    with pytest.raises(InputFormatError, match=message):
        read_ncbi_taxonomy(folder, ["lost one"])


@pytest.mark.parametrize(
    ("name", "content", "line", "message"),
    [
        ("nodes.dmp", b"1\t|\t1\t|\tno rank\t|\n2\t1\n", 2, "a line must be taxid | parent | rank"),
        ("nodes.dmp", b"1\t|\t99999999999999999999\t|\tno rank\t|\n", 1, "a line must be"),
        ("nodes.dmp", b"1\t|\t1\t|\t\t|\n2\t|\t1\t|\t\t|\n2\t|\t1\t|\t\t|\n", 3, "got 2 twice"),
        ("names.dmp", b"1\t|\troot\t|\tscientific name\t|\n", 1, "taxid | name | unique name"),
        ("names.dmp", b"1\t|\tr\xff\t|\t\t|\tscientific name\t|\n", None, "cannot be read"),
        ("merged.dmp", b"7\t|\t21\t|\n9\n", 2, "a line must be old taxid | new taxid"),
    ],
)
def test_malformed_files(dump, tmp_path, name, content, line, message):
    with pytest.raises(InputFormatError, match="cannot be read as a file of the NCBI taxonomy"):
        read_ncbi_taxonomy(tmp_path, [1])
    folder = dump()
    (folder / name).write_bytes(content)
    with pytest.raises(InputFormatError, match=message.replace("|", r"\|")) as info:
        read_ncbi_taxonomy(folder, ["new fly", 8])
    assert (info.value.path, info.value.line) == (str(folder / name), line)
