"""What contributes to a call: against chains on whole contigs with one thing changed."""

import csv
import json

import numpy as np
import pytest
from scipy.special import logit

from seqmtl.loading import load_model
from seqmtl.sequences import reverse_complement
from tests.invocation import run
from tests.oracles.pairs import open_contigs, whole_contig


def _explain(case, folder, bed, data="", genome=None, code=0):
    (folder / "x.bed").write_text(bed)
    genome = genome or case / "sim/genomes/a.fa"
    sources = f"--genome a={genome} --sites a={folder}/x.bed"
    run(f"explain {case}/splice {data} {sources} -o {folder}/out", code)


@pytest.fixture(scope="module")
def table(case, tmp_path_factory):
    """Rows of the sites of two introns on either strand, with the chains on the whole contig."""
    folder = tmp_path_factory.mktemp("explain")
    name, codes = open_contigs(case / "sim/genomes/a.fa")[0]
    model = load_model(case / "splice")
    sites, introns = whole_contig(model, "a", codes, 1e-4)
    chosen = []
    for strand in "+-":
        own = sorted(key for key, p in introns.items() if p > 0.95 and key[2] == strand)
        chosen += own[:: len(own) - 1][:2]
    bed = ""
    for start, end, strand in chosen:
        bed += f"{name}\t{start}\t{start + 2}\tx\t1\t{strand}\n"
        bed += f"{name}\t{end - 2}\t{end}\tx\t1\t{strand}\n"
    _explain(case, folder, bed)
    rows = list(csv.DictReader((folder / "out/sites.tsv").read_text().splitlines(), delimiter="\t"))
    assert json.loads((folder / "out/summary.json").read_text())["n_sites"] == len(rows) == 8
    return rows, codes, model, sites, introns


def test_numbers_of_the_sites_and_their_introns(table):
    rows, _, _, sites, introns = table
    for row in rows:
        start, strand, signal = int(row["start"]), row["strand"], row["signal"]
        assert float(row["paired"]) == pytest.approx(logit(sites[signal, start, strand]), abs=0.01)
        is_end = (signal == "donor") == (strand == "-")
        place = start + 2 if is_end else start
        here = {k: p for k, p in introns.items() if k[is_end] == place and k[2] == strand}
        best = max(here, key=here.get)
        first, *_ = row["introns"].split(",")
        bounds, p = first.split(":")
        assert tuple(map(int, bounds.split("-"))) == best[:2]
        assert float(p) == pytest.approx(here[best], abs=1e-3)
    for donor, acceptor in zip(rows[::2], rows[1::2], strict=True):
        assert {donor["signal"], acceptor["signal"]} == {"donor", "acceptor"}
        if donor["introns"].split(",")[0] == acceptor["introns"].split(",")[0]:
            assert donor["partner_alone"] == acceptor["alone"]
            assert acceptor["partner_alone"] == donor["alone"]


def test_contributions_are_the_change_of_the_chain_without_one_thing(table, monkeypatch):
    rows, codes, model, _, _ = table
    layer = model.layer_of("a")
    n = layer.introns.size
    level = -np.log(max(n, layer.span))
    even = layer._replace(introns=np.full(n, level), tails=np.array([[level, 1e-9]]))
    monkeypatch.setitem(model.layer, "a", even)
    sites, _ = whole_contig(model, "a", codes)
    monkeypatch.undo()
    no_content = layer._replace(coding=np.zeros_like(layer.coding))
    monkeypatch.setitem(model.layer, "a", no_content)
    uncoded, _ = whole_contig(model, "a", codes)
    n_coded = 0
    for row in rows:
        key = row["signal"], int(row["start"]), row["strand"]
        change = float(row["paired"]) - logit(sites[key])
        assert float(row["length"]) == pytest.approx(change, abs=0.01)
        # a site helps if its own model takes it for likelier than any candidate of its signal
        signals = (row["signal"], "donor" if row["signal"] == "acceptor" else "acceptor")
        for signal, alone, part in zip(
            signals, ("alone", "partner_alone"), ("site", "partner"), strict=True
        ):
            prior = logit(getattr(model, signal).prevalence("a"))
            assert (float(row[part]) > 0) == (float(row[alone]) > prior)
        assert float(row["rivals"]) < 0.01
        # on both sides together the content does what it does on either, more or less
        change = float(row["paired"]) - logit(uncoded[key])
        either = [float(row["upstream"]), float(row["downstream"])]
        n_coded += np.sign(change) == np.sign(sum(either))
    assert n_coded >= 6


def test_the_other_strand_is_explained_alike(case, table, tmp_path):
    """Reverse-complemented, upstream is still before the site in reading direction."""
    rows, codes, _, _, _ = table
    letters = np.frombuffer(b"ACGTN", np.uint8)[reverse_complement(codes)].tobytes().decode()
    (tmp_path / "turned.fa").write_text(f">turned\n{letters}\n")
    bed = ""
    for row in rows:
        start = codes.size - int(row["end"])
        bed += f"turned\t{start}\t{start + 2}\tx\t1\t{'+-'[row['strand'] == '+']}\n"
    _explain(case, tmp_path, bed, genome=tmp_path / "turned.fa")
    lines = (tmp_path / "out/sites.tsv").read_text().splitlines()
    names = ("alone", "paired", "site", "partner", "length", "upstream", "downstream", "rivals")
    differ = 0.0
    for row, turned in zip(rows, csv.DictReader(lines, delimiter="\t"), strict=True):
        assert [float(turned[name]) for name in names] == pytest.approx(
            [float(row[name]) for name in names], abs=0.05
        )
        differ = max(differ, abs(float(row["upstream"]) - float(row["downstream"])))
    assert differ > 0.5  # the sides are not alike


def test_what_cannot_be_explained(case, tmp_path, capsys):
    name, codes = open_contigs(case / "sim/genomes/a.fa")[0]
    letters = "".join("ACGTN"[code] for code in codes)
    at = letters.index("CC", 100)
    _explain(case, tmp_path, f"{name}\t{at}\t{at + 2}\tx\t1\t+\n", code=1)
    error = capsys.readouterr().err
    assert f"x.bed: {name}:{at}-{at + 2}(+) is no candidate of GT or AG" in error
    assert not (tmp_path / "out").exists()
    _explain(case, tmp_path, f"{name}\t1\t3\tx\t1\t+\n", case / "donors", code=2)
    for option in ("--top 5", "--max-order 2", "--background 0.1,0.4,0.4,0.1", "--reference a"):
        _explain(case, tmp_path, f"{name}\t1\t3\tx\t1\t+\n", option, code=2)
    assert "give --genome and --sites, and no DATA" in capsys.readouterr().err
    run(f"explain {case}/splice -o {tmp_path}/out", 2)
    assert "explains sites of a genome" in capsys.readouterr().err
