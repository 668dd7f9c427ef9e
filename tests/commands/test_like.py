"""Starter models by name, and organisms that a model lacks: ``starter:NAME`` and ``--like``."""

import json
import re

import numpy as np
import pytest

from seqmtl import MultiTaskModel, PositionalKmers, TaskKernel, load
from seqmtl.adaptation import adapt
from seqmtl.adaptation.relatives import name_organism
from seqmtl.linear_model.site import Site
from seqmtl.sequences import concatenate
from seqmtl.sequences.examples import Examples
from seqmtl.training.fit import fit
from tests.adaptation.test_adaptation import MOTIFS, windows_of
from tests.invocation import write_windows


@pytest.fixture(scope="module")
def genome(tmp_path_factory):
    rng = np.random.default_rng(1)
    path = tmp_path_factory.mktemp("genome") / "g.fa"
    path.write_text(f">c\n{''.join(rng.choice(list('ACGT'), 5000))}\n")
    return path


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A model of animals of the shipped tree, with several task kernels."""
    names = ("H. sapiens", "D. melanogaster", "A. mellifera")
    parts = zip(names, ("man", "fly", "bee"), strict=True)
    windows = concatenate([windows_of(n, 120, 1, motif=MOTIFS[m]) for n, m in parts])
    kernel = TaskKernel.hierarchical("metazoa", names)
    model, _ = fit(Examples.of(windows), features=PositionalKmers("wd:3"), task_kernel=kernel)
    model.site = Site(8, 2, "AG", "acceptor")
    path = tmp_path_factory.mktemp("model") / "m.seqmtl"
    model.save(path)
    return path


@pytest.fixture
def scan(genome, tmp_path, seqmtl):
    """Return a function that scans, and returns scores by site, and messages."""

    def run(options, model="starter:donor", code=0):
        out = tmp_path / "sites.bed"
        out.unlink(missing_ok=True)
        messages = seqmtl(f"scan {model} {genome} -o {out} {options}", code).err
        rows = out.read_text().splitlines() if code == 0 else []
        return {tuple(row.split("\t")[:3]): row for row in rows}, messages

    return run


def test_a_starter_model_scans_for_an_organism_it_lacks(scan):
    sites, messages = scan("--like 'D. simulans'")
    assert len(sites) > 400
    near = [line for line in messages.splitlines() if "nearest" in line]
    own = load("starter:donor").training["left_out"]["d_melanogaster"]
    assert near == [
        "seqmtl: note: D. simulans (Drosophila_simulans): nearest trained relative "
        f"d_melanogaster (diverged 5 million years ago); expected AUPRC at least about "
        f"{own['auprc']:.2f} on windows, lower genome-wide (d_melanogaster held out, 245 million "
        "years from the nearest relative)"
    ]
    assert "tree eukaryotes" not in messages  # which is no news


@pytest.mark.parametrize(
    ("like", "expected"),
    [
        ("Nasonia vitripennis", r"a_mellifera \(diverged 205 million years ago\); expected AUPRC"),
        ("lizards", r"coturnix_japonica \(diverged 280 million years ago\)\n"),  # no figure
        (
            "Toxoplasma gondii",
            r"c_muris \(.*\(c_muris, p_falciparum held out, 500 million years from the nearest",
        ),
        ("red algae", r".*; expect more errors; a few labels help \(seqmtl adapt\)"),
        # neither a time that is not known, nor certainty
        ("Apis cerana", r"a_mellifera \(of the same genus or clade\); expected AUPRC at least "),
        ("Tribolium madens", r".* at least about 0\.99 on windows"),
        # of another tree, for whose distances there are no figures
        ("Nasonia --tree insects", r"a_mellifera \(.*\)\n"),
    ],
)
def test_what_to_expect_of_the_nearest_relative_is_told(tmp_path, seqmtl, like, expected):
    like = like if "--" in like else f"'{like}'"
    command = f"adapt starter:donor --organism x -o {tmp_path}/x --like {like}"
    told = seqmtl(command).err
    assert re.search(f"nearest trained relative {expected}", told), told


def test_like_an_organism_of_the_model_is_a_new_organism_beside_it(path, scan, tmp_path):
    """Only --organism says that the sequences are those of the fly."""
    own = scan("--organism 'D. melanogaster' --threshold 0", path)[0]
    for name in ("d_melanogaster", "fly", "7227"):
        sites, messages = scan(f"--like {name} --threshold 0 --json {tmp_path}/s.json", path)
        assert "g: scored with the weights of D. melanogaster" in messages
        assert sites.keys() == own.keys() != set()
        summary = json.loads((tmp_path / "s.json").read_text())
        assert summary["scans"][0]["organism"] == "g"  # of g.fa


@pytest.mark.parametrize(
    ("like", "file", "name"),
    [
        ("Diptera", "fly.fa", "Diptera"),
        ("auto", "x/mosquito.fa.gz", "mosquito"),
        ("auto", "fly.fa", "fly_genome"),
        ("worm", "-", "new_organism"),
        ("auto", ".fa", "new_organism"),
        ("c_elegans", None, "new_organism"),
    ],
)
def test_a_new_organism_is_called_by_its_relative_or_its_file(like, file, name):
    tasks = ("d_melanogaster", "c_elegans")
    assert name_organism(tasks, None, like, file) == name
    assert name_organism(tasks, "mine", like, file) == "mine"
    assert name_organism(("fly",), None) == "fly"


def test_a_new_organism_is_placed_by_its_name_in_the_tree(tmp_path, seqmtl):
    command = f"adapt starter:donor -o {tmp_path}/x --organism"
    told = seqmtl(f"{command} 'Nasonia vitripennis'").err
    assert "nearest trained relative a_mellifera (diverged 205 million years ago)" in told
    assert "mean weights of all" in seqmtl(f"{command} 'no such name'").err
    assert "mean weights of all" in seqmtl(f"{command} Nasonia --like auto").err


def test_a_shipped_model_is_no_output(tmp_path, monkeypatch, seqmtl):
    monkeypatch.chdir(tmp_path)
    write_windows(tmp_path / "few.tsv", windows_of("man", 60, 5))
    for command in ("calibrate starter:donor few.tsv", "adapt starter:donor few.tsv --organism m"):
        shown = seqmtl(f"{command} -o starter:donor", 1).err
        assert "cannot write starter:donor: models of the package" in shown
        assert [path.name for path in tmp_path.iterdir()] == ["few.tsv"]


def test_info_shows_a_starter_model(seqmtl):
    shown = seqmtl("info starter:donor").out
    assert re.search(r"model +starter:donor \([345]\.\d MiB\)", shown)
    assert "site           offset 50, GT" in shown
    assert json.loads(seqmtl("info starter:donor --json -").out)["path"] == "starter:donor"


def test_windows_of_any_name_are_predicted_and_evaluated_as_the_organism(path, tmp_path, seqmtl):
    test = windows_of("ape", 90, 4)
    write_windows(tmp_path / "new.tsv", test)
    options = f"{path} {tmp_path}/new.tsv --split all --like chimp"
    shown = seqmtl(f"predict {options}")
    rows = [line.split("\t") for line in shown.out.splitlines()[1:]]
    model = adapt(MultiTaskModel.load(path), "chimp", like="chimp")
    expected = model.decision_function(test, "chimp")
    np.testing.assert_allclose([float(row[2]) for row in rows], expected, rtol=1e-4)
    assert {row[1] for row in rows} == {"chimp"}
    # without a table of figures only the distance is said
    assert "nearest trained relative H. sapiens (diverged 6 million years" in shown.err
    assert "expected AUPRC" not in shown.err
    seqmtl(f"evaluate {options} --json {tmp_path}/figures.json")
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["tasks"]["chimp"]["auroc"] > 0.8  # its motif is man's


def test_every_command_places_an_organism_as_adapt_does(path, genome, write, tmp_path, seqmtl):
    place, out, new = "--like 'Nasonia vitripennis'", tmp_path / "out", tmp_path / "wasp.seqmtl"
    seqmtl(f"adapt {path} --organism wasp {place} -o {new}")
    at = genome.read_text().split("\n")[1].index("AG", 1000) + 1
    header = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
    vcf = write(f"{header}c\t{at}\t.\tA\tC\t.\t.\t.\n", "in.vcf")
    windows = write_windows(tmp_path / "w.tsv", windows_of("ape", 30, 4), has_organisms=False)
    for command, suffix in (
        (f"scan {{}} {genome} -o {out}.bed", ".bed"),
        (f"variants {{}} --vcf {vcf} --fasta {genome} -o {out}.vcf", ".vcf"),
        (f"predict {{}} {windows}", None),
        (f"evaluate {{}} {windows} --split all", None),
    ):
        found = []
        for model, options in ((path, place), (new, "")):
            shown = seqmtl(f"{command.format(model)} --organism wasp {options}")
            text = out.with_suffix(suffix).read_text() if suffix else shown.out
            found.append([line for line in text.splitlines() if not line.startswith("##")])
            line = "wasp: no training data, scored from its relatives, of which "
            assert shown.err.count(line) == (model is new)
            line = "wasp (Nasonia_vitripennis): nearest trained relative A. mellifera"
            assert (line in shown.err) == (options is place)
        assert found[0] == found[1] != [], command
    shown = seqmtl(f"predict {new} {windows} --organism yeti", 2).err
    assert "task 'yeti' is not in the model's task kernel; it has" in shown
    assert "(or give it a place among them: --like, seqmtl adapt" in shown
