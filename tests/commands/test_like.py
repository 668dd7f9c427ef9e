"""Starter models by name, and organisms that a model lacks: ``starter:NAME`` and ``--like``."""

import json
import re

import numpy as np
import pytest

from seqmtl import MultiTaskModel, PositionalKmers, TaskKernel, load
from seqmtl.adaptation import adapt
from seqmtl.adaptation.relatives import name_organism
from seqmtl.files import catalogue
from seqmtl.sequences import concatenate
from seqmtl.sequences.examples import Examples
from seqmtl.training.fit import fit
from tests.adaptation.test_adaptation import MOTIFS, windows_of
from tests.commands.test_adapt import write_table


@pytest.fixture(scope="module")
def genome(tmp_path_factory):
    rng = np.random.default_rng(1)
    path = tmp_path_factory.mktemp("genome") / "g.fa"
    path.write_text(f">c\n{''.join(rng.choice(list('ACGT'), 5000))}\n")
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
    sites, messages = scan("--like 'Nasonia vitripennis'")
    assert len(sites) > 400
    assert "nearest trained relative a_mellifera (diverged 205 million years ago); exp" in messages
    assert "tree eukaryotes" not in messages  # which is no news
    near = [line for line in scan("--like 'D. simulans'")[1].splitlines() if "nearest" in line]
    own = load("starter:donor").training["left_out"]["d_melanogaster"]
    assert near == [
        "seqmtl: note: D. simulans (Drosophila_simulans): nearest trained relative "
        f"d_melanogaster (diverged 5 million years ago); expected AUPRC at least about "
        f"{own['auprc']:.2f} on windows, lower genome-wide (d_melanogaster held out, 245 million "
        "years from the nearest relative)"
    ]
    # birds were measured with other birds at hand
    assert "coturnix_japonica (diverged 280 million years ago)\n" in scan("--like lizards")[1]
    far = scan("--like 'Toxoplasma gondii'")[1]
    assert "Toxoplasma gondii: nearest trained relative c_muris (" in far
    assert "(c_muris, p_falciparum held out, 500 million years from the nearest relative)" in far
    far = scan("--like 'red algae'")[1]
    assert "; expect more errors; a few labels help (seqmtl adapt)" in far


def test_the_scores_are_those_of_the_model_adapted_without_labels(scan, genome):
    adapted = adapt(load("starter:acceptor"), "wasp", like="Nasonia vitripennis")
    adapted.save(genome.parent / "wasp.seqmtl")
    like = scan("--organism wasp --like 'Nasonia vitripennis'", "starter:acceptor")[0]
    again = scan("--organism wasp", genome.parent / "wasp.seqmtl")[0]
    assert like == again != {}


def test_like_an_organism_of_the_model_is_a_new_organism_beside_it(scan, genome):
    """Only --organism says that the sequences are those of the fly."""
    own = scan("--organism d_melanogaster --threshold 0")[0]
    for name in ("d_melanogaster", "fly", "7227"):
        sites, messages = scan(f"--like {name} --threshold 0 --json {genome.parent}/s.json")
        assert "g: scored with the weights of d_melanogaster" in messages
        assert sites.keys() == own.keys()
        summary = json.loads((genome.parent / "s.json").read_text())
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


def test_auto_is_no_name(scan, genome):
    messages = scan(f"--like auto --json {genome.parent}/s.json")[1]
    assert "g: scored with the mean weights of all" in messages
    summary = json.loads((genome.parent / "s.json").read_text())
    assert summary["scans"][0]["organism"] == "g"


@pytest.mark.parametrize(
    ("like", "message"),
    [
        (
            "Apis cerana",
            "a_mellifera (of the same genus or clade); expected AUPRC at least about 0.9",
        ),
        ("Tribolium madens", "at least about 0.99 on windows"),
    ],
)
def test_no_time_is_told_that_is_not_known_and_no_certainty(scan, like, message):
    told = scan(f"--like '{like}'")[1]
    assert message in told
    assert "diverged 0 million years" not in told
    assert " 1.00 " not in told


def test_a_new_organism_is_placed_by_its_name_in_the_tree(tmp_path, seqmtl):
    command = f"adapt starter:donor -o {tmp_path}/x --organism"
    told = seqmtl(f"{command} 'Nasonia vitripennis'").err
    assert "nearest trained relative a_mellifera (diverged 205 million years ago)" in told
    assert "mean weights of all" in seqmtl(f"{command} 'no such name'").err
    assert "mean weights of all" in seqmtl(f"{command} Nasonia --like auto").err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--like 'Apis melifera'", "did you mean 'Apis_mellifera'"),
        ("--like bee --organism fly", "in the model already"),
    ],
)
def test_bad_input(scan, options, message):
    assert message in scan(options, code=2)[1]


def test_the_names_of_shipped_models_are_known_and_no_output(scan, tmp_path, monkeypatch, seqmtl):
    message = "starter:tss is not a shipped model .starter:acceptor, starter:donor, starter:splice"
    assert re.search(message, scan("", "starter:tss", code=2)[1])
    told = seqmtl("info starter:dnor", 2).err
    assert "did you mean starter:donor?" in told
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "few.tsv", windows_of("man", 60, 5))
    for command in ("calibrate starter:donor few.tsv", "adapt starter:donor few.tsv --organism m"):
        shown = seqmtl(f"{command} -o starter:donor", 1).err
        assert "cannot write starter:donor: models of the package" in shown
        assert [path.name for path in tmp_path.iterdir()] == ["few.tsv"]


def test_info_shows_a_starter_model(seqmtl):
    shown = seqmtl("info starter:donor").out
    assert re.search(r"model +starter:donor \([345]\.\d MiB\)", shown)
    assert "site           offset 50, GT" in shown
    assert json.loads(seqmtl("info starter:donor --json -").out)["path"] == "starter:donor"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A model of animals of the shipped tree, with several task kernels."""
    names = ("H. sapiens", "D. melanogaster", "A. mellifera")
    parts = zip(names, ("man", "fly", "bee"), strict=True)
    windows = concatenate([windows_of(n, 120, 1, motif=MOTIFS[m]) for n, m in parts])
    kernel = TaskKernel.hierarchical("metazoa", names)
    model, _ = fit(Examples.of(windows), features=PositionalKmers("wd:3"), task_kernel=kernel)
    path = tmp_path_factory.mktemp("model") / "m.seqmtl"
    model.save(path)
    return path


def test_windows_of_any_name_are_predicted_and_evaluated_as_the_organism(path, tmp_path, seqmtl):
    test = windows_of("ape", 90, 4)
    write_table(tmp_path / "new.tsv", test)
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


def test_figures_are_for_distances_of_the_shipped_tree(tmp_path, seqmtl):
    command = f"adapt starter:donor --organism wasp --like Nasonia -o {tmp_path}/wasp"
    assert "expected AUPRC" in seqmtl(command).err
    shown = seqmtl(f"{command} --tree insects").err
    assert "nearest trained relative a_mellifera" in shown
    assert "expected AUPRC" not in shown


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    """The folder of an NCBI taxonomy dump that has more than the shipped trees."""
    folder = tmp_path_factory.mktemp("dump")
    rows = [
        (1, 1, "root"),
        (2759, 1, "Eukaryota"),
        (33208, 2759, "Metazoa"),
        (50557, 33208, "Insecta"),
        (7227, 50557, "Drosophila melanogaster"),
        (6239, 33208, "Caenorhabditis elegans"),
        (33090, 2759, "Viridiplantae"),
        (3702, 33090, "Arabidopsis thaliana"),
        (13469, 33090, "Cupressus sempervirens"),
        (5833, 2759, "Plasmodium falciparum"),
        (4932, 2759, "Saccharomyces cerevisiae"),
        (40674, 33208, "Mammalia"),
        (9606, 40674, "Homo sapiens"),
        (10090, 40674, "Mus musculus"),
        (9685, 40674, "Felis catus"),
    ]
    table = (catalogue.table("organisms.tsv") or "").splitlines()[1:]
    others = [(int(taxid), 2759, name) for taxid, name, _ in (row.split("\t") for row in table)]
    rows += [row for row in others if row[0] not in {taxid for taxid, _, _ in rows}]
    for file, form in (
        ("nodes", "{0}\t|\t{1}\t|\tno rank\t|\n"),
        ("names", "{0}\t|\t{2}\t|\t\t|\tscientific name\t|\n"),
    ):
        (folder / f"{file}.dmp").write_text("".join(form.format(*row) for row in rows))
    return str(folder)


@pytest.fixture
def vcf(genome, write):
    text = genome.read_text().split("\n")[1]
    at = text.index("GT", 1000) + 1
    header = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
    return write(f"{header}c\t{at}\t.\tG\tA\t.\t.\t.\n", "in.vcf"), at


def test_a_taxonomy_dump_places_an_organism(dump, tmp_path, seqmtl):
    command = f"adapt starter:donor --organism cypress -o {tmp_path}/cypress"
    shown = seqmtl(f"{command} --like 'Cupressus sempervirens' --tree {dump}").err
    assert "cypress (Cupressus sempervirens): nearest trained relative" in shown
    assert "nearest trained relative a_thaliana (a path of 2 in the tree " in shown
    assert "AUPRC" not in shown  # figures are for distances of the shipped tree
    assert "nowhere.nwk" in seqmtl(f"{command} --like Nasonia --tree nowhere.nwk", 1).err


def test_every_command_places_an_organism_as_adapt_does(genome, vcf, write, seqmtl):
    place, out = "--like 'Nasonia vitripennis'", genome.parent / "out"
    new = genome.parent / "wasp.seqmtl"
    seqmtl(f"adapt starter:donor --organism wasp {place} -o {new}")
    rng = np.random.default_rng(3)
    rows = ["".join(rng.choice(list("ACGT"), 401)) for _ in range(30)]
    table = "sequence\tlabel\n" + "".join(f"{row}\t{i % 2}\n" for i, row in enumerate(rows))
    windows = write(table, "windows.tsv")
    for command, suffix in (
        (f"scan {{}} {genome} -o {out}.bed", ".bed"),
        (f"variants {{}} --vcf {vcf[0]} --fasta {genome} -o {out}.vcf", ".vcf"),
        (f"predict {{}} {windows}", None),
        (f"evaluate {{}} {windows} --split all", None),
    ):
        found = []
        for model, options in (("starter:donor", place), (new, "")):
            shown = seqmtl(f"{command.format(model)} --organism wasp {options}")
            text = out.with_suffix(suffix).read_text() if suffix else shown.out
            found.append([line for line in text.splitlines() if not line.startswith("##")])
            line = "wasp: no training data, scored from its relatives, of which "
            assert shown.err.count(line) == (model is new)
            line = "wasp (Nasonia_vitripennis): nearest trained relative a_mellifera"
            assert (line in shown.err) == (options is place)
        assert found[0] == found[1] != [], command
        shown = seqmtl(f"{command.format(new)} --organism yeti", 2).err
        assert "task 'yeti' is not in the model's task kernel; it has" in shown
        assert "(or give it a place among them: --like, seqmtl adapt" in shown
