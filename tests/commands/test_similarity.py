"""The command ``seqmtl similarity``, and the options that other commands share with it."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

import seqmtl as package
from seqmtl import MultiTaskSVC, TaskKernel
from seqmtl.commands import similarity
from seqmtl.commands._options import Relations
from seqmtl.relations.kinds import KINDS

TREE = "((ape:1,man:1)primates:2,(fly:2,bee:2)insects:1)root;"


@pytest.fixture
def tree(write):
    return str(write(TREE, "tree.nwk"))


def test_prints_a_summary(tree, seqmtl):
    shown = seqmtl(f"similarity --tree {tree}")
    assert shown.out == f"{TaskKernel.from_tree(tree)}\n"
    assert shown.err == ""


def test_writes_a_table_that_training_reads(tree, tmp_path, seqmtl):
    out, again = tmp_path / "K.tsv", tmp_path / "again.tsv"
    options = f"--organisms 'bee, Ape,man' --similarity hierarchical -o {out}"
    shown = seqmtl(f"similarity --tree {tree} {options}")
    assert shown.out == ""
    assert shown.err == (
        "seqmtl: note: 'Ape' is 'ape' in the tree tree.nwk\n"
        f"seqmtl: note: {out}: 2 kernels of 3 organisms from hierarchical(tree.nwk)\n"
    )
    assert TaskKernel.from_tsv(out) == TaskKernel.hierarchical(tree, ["bee", "Ape", "man"])
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    seqmtl(f"similarity --similarity {out} -o {again} -q")
    assert again.read_bytes() == out.read_bytes()


def test_product_of_the_parts_of_names(write, tmp_path, seqmtl):
    species, factors = f"{tmp_path}/species.tsv", f"{tmp_path}/factors.tsv"
    seqmtl(f"similarity -q --tree '(man:1,ape:1):1;' --similarity tree:0.5 -o {species}")
    seqmtl(f"similarity -q --similarity easy:0.25 --organisms AP1,CTCF -o {factors}")
    seqmtl(f"similarity -q --source table={species} --source table={factors} -o {tmp_path}/K.tsv")
    K = TaskKernel.from_tsv(tmp_path / "K.tsv")
    assert K.names == ("man_AP1", "man_CTCF", "ape_AP1", "ape_CTCF")
    assert K.matrix[0].tolist() == [1, 0.25, K.matrix[0, 2], K.matrix[0, 2] / 4]
    error = seqmtl(f"similarity --source table={species} -o {species}", 1).err
    assert "would overwrite the input" in error
    error = seqmtl(f"similarity --source table={species} --similarity {factors}", 2).err
    assert "--source table=TSV names all tables; leave --similarity out" in error


def test_a_misspelt_kind_is_no_file(tree, seqmtl):
    error = seqmtl(f"similarity --tree {tree} --similarity smoth", 2).err
    assert "--similarity must be a kind or a table, got 'smoth'; did you mean 'smooth'?" in error
    error = seqmtl("similarity --similarity missing", 1).err
    assert error == "seqmtl: error: missing: cannot be read as a table: No such file or directory\n"


def test_draws(tree, tmp_path, seqmtl):
    for suffix, magic in (("png", b"\x89PNG"), ("svg", b"<?xm"), ("pdf", b"%PDF")):
        plot = tmp_path / f"K.{suffix}"
        shown = seqmtl(f"similarity --tree {tree} --similarity smooth --plot {plot}")
        assert plot.read_bytes().startswith(magic)
        assert shown.out.startswith("TaskKernel of 4 tasks, mean of 3 kernels")


def test_a_projected_matrix_is_told_once_as_a_message(write, tmp_path, seqmtl):
    table = write("\ta\tb\tc\na\t1\t-1\t-1\nb\t-1\t1\t-1\nc\t-1\t-1\t1\n")
    command = f"similarity --similarity {table} --plot {tmp_path}/K.png"
    for _ in range(2):  # once in every run
        assert seqmtl(f"{command} -q").err == (
            "seqmtl: warning: similarity is not positive semi-definite and was replaced by the "
            "nearest matrix that is: eigenvalue -1 clipped to 0\n"
        )


def test_what_a_model_has_learnt(write, tmp_path, seqmtl):
    """Widmer 2015, section 6.1: the similarity that is learnt beside the one that is given."""
    rng, out, plot = np.random.default_rng(0), tmp_path / "K.tsv", tmp_path / "K.svg"
    names, tree = ["ape", "man", "fly"], write("((ape:1,man:1)primates:2,fly:3)animals;", "t.nwk")
    X, tasks = rng.normal(size=(60, 4)), np.array(names * 20)
    y = X @ [1, 1, 0, 0] + np.where(tasks == "fly", X[:, 2], X[:, 3]) > 0
    svc = MultiTaskSVC(task_kernel="easy").fit(X, y, tasks)
    svc.model_.save(tmp_path / "m")
    command = f"similarity {tmp_path / 'm'} --organisms ape,man,fly --tree {tree}"
    shown = seqmtl(f"{command} -o {out} --plot {plot}").err
    W = {name: w / np.linalg.norm(w) for name, w in zip(svc.tasks_, svc.coef_, strict=True)}
    cosines = np.array([[W[s] @ W[t] for t in names] for s in names])
    found = TaskKernel.from_tsv(out)
    assert found.names == tuple(names)
    assert_allclose(found.matrix, cosines, atol=1e-7)
    pairs = np.triu_indices(3, 1)
    of_tree = TaskKernel.from_tree(tree, names).matrix
    r = np.corrcoef(cosines[pairs], of_tree[pairs])[0, 1]
    assert f"K of the model; tree(t.nwk), r = {r:.2f}" in shown  # easy: all pairs are alike
    assert f"tree(t.nwk), r = {r:.2f}" in plot.read_text()
    assert "3 tasks from weights of the model" in seqmtl(f"similarity {tmp_path / 'm'}").out


def test_every_kind_is_explained():
    for kind in KINDS:
        assert re.search(rf"^  ([a-z, ]*, )?{kind}\b", str(similarity.__doc__), re.M), kind


def test_the_relation_that_training_asks_for(tree, write):
    def relation(learnt=None, **options):
        return Relations(**options).relation(learnt)

    assert relation() is None
    names, primates = ["man", "bee", "ape"], ["ape", "man", "fly"]
    of_clades = TaskKernel.hierarchical(tree, names)
    assert relation(similarity="hierarchical", tree=tree).build(names) == of_clades
    assert relation("hierarchical", tree=tree).build(names) == of_clades
    assert relation(tree=tree).build() == TaskKernel.from_tree(tree)
    assert relation(similarity="union").build(["a", "b"]) == TaskKernel.union(["a", "b"])
    smooth = relation("smooth", tree=tree).build(primates)
    expected = TaskKernel.smooth([[0, 2, 6], [2, 0, 6], [6, 6, 0]], names=primates)
    assert_allclose(smooth.matrices, expected.matrices)
    kernel = TaskKernel.from_tree(TREE)
    table = str(write(kernel.to_tsv()))
    assert relation(similarity=table).build(["fly", "man"]) == kernel.restrict(["fly", "man"])


PRIMATES = ("ape", "man", "fly")
DISTANCES = np.array([[0, 1, 3], [1, 0, 3], [3, 3, 0]])
MISMATCHES = np.array([[0, 1, 4], [1, 0, 4], [4, 4, 0]]) / 10
GRAPHS = [[[0, 1, 0], [1, 0, 0], [0, 0, 0]], [[0, 0, 2], [0, 0, 0], [2, 0, 0]]]
GROUPS = {"primates": ["ape", "man"], "animals": ["ape", "man", "fly"]}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"source": {"taxonomy": "."}}, TaskKernel.from_tree("((ape,man),fly);", PRIMATES)),
        ({"source": ["alignment=rrna.fa"]}, TaskKernel.smooth(MISMATCHES, names=PRIMATES)),
        (
            {"source": {"distances": "D.tsv"}, "similarity": "smooth:3,0.1"},
            TaskKernel.smooth(DISTANCES, [3, 0.1], PRIMATES),
        ),
        (
            {"source": [("graph", "one.tsv"), ("graph", "two.tsv")]},
            TaskKernel.multigraph(GRAPHS, PRIMATES),
        ),
        ({"source": "groups=groups.tsv"}, TaskKernel.clustering(GROUPS, PRIMATES)),
    ],
)
def test_a_table_of_every_source_is_what_training_reads(
    write, tmp_path, monkeypatch, options, expected
):
    write("1\t|\t1\t|\tx\t|\n2\t|\t1\t|\tx\t|\n3\t|\t2\t|\tx\t|\n4\t|\t2\t|\tx\t|\n", "nodes.dmp")
    taxa = enumerate(["fly", "primates", "ape", "man"], 1)
    write("".join(f"{k}\t|\t{n}\t|\t\t|\tscientific name\t|\n" for k, n in taxa), "names.dmp")
    write(">ape\nACGTACGTAC\n>man\nACGTACGTAG\n>fly\nTCGAACGTTT\n", "rrna.fa")
    write("ape\tman\t1\nape\tfly\t3\nman\tfly\t3\n", "D.tsv")
    write("ape\tman\nfly\n", "one.tsv")
    write("ape\tfly\t2\n", "two.tsv")
    write("ape\tprimates\nman\tprimates\nprimates\tanimals\nfly\tanimals\n", "groups.tsv")
    monkeypatch.chdir(tmp_path)
    kernel = package.similarity(**options, organisms=PRIMATES, output="K.tsv")
    found = Relations(similarity="K.tsv").relation().build(PRIMATES[::-1])
    assert found == kernel.restrict(PRIMATES[::-1])
    assert_allclose(kernel.matrices, expected.matrices)


def test_the_tree_is_read_first(seqmtl):
    # with data that are not there, whose absence would be told of next
    message = seqmtl("train no.tsv -o never --tree animals", 1).err
    assert "; shipped are epdnew_complete, " in message
    # organisms of no shipped tree
    message = seqmtl("similarity --tree plants --organisms unicorn,human", 2).err
    assert "tasks 'unicorn', 'human' are not in the tree plants" in message
    assert "eukaryotes" not in message
