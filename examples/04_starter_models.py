"""Make the starter models that ship with the package: those of both signals, and of pairs.

    python examples/04_starter_models.py DATA starter

DATA holds the windows and genomes that seqmtl/starter/README.md names. The same data, versions and
kind of processor give the same bytes. Prints the tables of that page. `--signals splice` pairs the
donor.seqmtl and acceptor.seqmtl that are in the folder.
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from seqmtl import MultiTaskClassifierCV, MultiTaskModel, TaskKernel, Windows, dataset, read_windows
from seqmtl.adaptation import adapt
from seqmtl.adaptation.relatives import weights_of_relatives
from seqmtl.evaluation import evaluate
from seqmtl.files.catalogue import model_path
from seqmtl.files.model_file import write_arrays
from seqmtl.io.dataset import read_dataset
from seqmtl.linear_model.weights_io import round_weights
from seqmtl.sequences import encode
from seqmtl.sequences.windows import concatenate
from seqmtl.splicing import fit_layer
from seqmtl.splicing.layer import ENDS
from seqmtl.splicing.model import PairedModel

TREE = "eukaryotes"
WINDOWS = {
    "donor": "joint_splice6/joint_splice6_don.tsv.gz",
    "acceptor": "joint_splice6/joint_splice6_acc.tsv.gz",
}
#: Genome and folder of its sites, from which the share of true sites among candidates is counted.
GENOMES = {
    "a_thaliana": ("genomes_1pct/a_thaliana.1pct.fa.gz", "genomes_1pct/a_thaliana"),
    "c_elegans": ("genomes_1pct/c_elegans.1pct.fa.gz", "genomes_1pct/c_elegans"),
    "d_melanogaster": ("genomes_1pct/d_melanogaster.1pct.fa.gz", "genomes_1pct/d_melanogaster"),
    "p_falciparum": ("genome_pfalciparum/Pf3D7_chr01-12.fasta.gz", "genome_pfalciparum"),
    "s_cerevisiae": ("genome_scerevisiae/S_cerevisiae.fasta.gz", "genome_scerevisiae"),
}
#: Genome and annotation, from which the paired model learns introns and coding sequence.
ANNOTATED = {
    "a_thaliana": ("genomes_1pct/a_thaliana.1pct.fa.gz", "genomes_1pct/a_thaliana.1pct.gff3.gz"),
    "c_elegans": ("genomes_1pct/c_elegans.1pct.fa.gz", "genomes_1pct/c_elegans.1pct.gff3.gz"),
    "d_melanogaster": ("genomes_1pct/dm6.small.fa.gz", "genomes_1pct/dm6.small.gtf.gz"),
    "p_falciparum": (
        "genome_pfalciparum/Pf3D7_chr01-12.fasta.gz",
        "genome_pfalciparum/Pf3D7_chr01-12.gff3.gz",
    ),
    "s_cerevisiae": (
        "genome_scerevisiae/S_cerevisiae.fasta.gz",
        "genome_scerevisiae/S_cerevisiae.gff3.gz",
    ),
}
#: The site models learn these from the genome itself, with nearly every GT (AG) as a decoy.
VERTEBRATES = ("f_catus", "h_sapiens", "m_musculus")
ANNOTATED |= {
    name: (f"vertebrates/{file}.fa.gz", f"vertebrates/{file}.gff3.gz")
    for name, file in zip(VERTEBRATES, ("cat", "human6", "mouse17"), strict=True)
}
RULES = """\
[decoys]
ratio = 100
clearance = 1
[split]
valid = 0.2
test = 0
"""
BOTH_STRANDS = {"donor": ("GT", "AC"), "acceptor": ("AG", "CT")}


def main(arguments: list[str] | None = None) -> None:
    """Make the models of both signals, and the paired one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder of the data")
    parser.add_argument("output", type=Path, help="folder of the models")
    signals = [*WINDOWS, "splice"]
    parser.add_argument("--signals", nargs="+", default=signals, choices=signals)
    parser.add_argument("--without", choices=list(ANNOTATED), help="leave it out, to test on it")
    args = parser.parse_args(arguments)
    args.output.mkdir(parents=True, exist_ok=True)
    for signal in args.signals:
        if signal == "splice":
            save_paired(pair(args.data, args.output, args.without), args.output)
        else:
            make(args.data, signal, args.without).save(args.output / f"{signal}.seqmtl")


def make(data: Path, signal: str, without: str | None = None) -> MultiTaskModel:
    """Train on the train rows, calibrate and measure on the others."""
    names = [name for name in ANNOTATED if name != without]
    own, test, shares = rows_of(data, signal, names)
    model = fit(own)
    model.site = replace(model.site, signal=signal)
    # of windows around a site, such as those of `seqmtl dataset`, the model takes this part
    model.shift = (model.length - model.site.length) // 2 - model.site.offset
    model.W = round_weights(model.W)
    model.training["sources"] = [Path(WINDOWS[signal]).name, *VERTEBRATES]
    found = {}
    for name in model.tasks:
        rows = test[test.tasks == name]
        scores = model.decision_function(rows, name)
        model.calibrate(name, scores, rows.labels, prevalence=shares[name])
        rows = measured(rows)
        found[name] = metrics(rows, model.decision_function(rows, name))
        show(signal, name, found[name], f"prevalence {model.prevalence(name):.5f}")
    if without:
        return model
    model.training["left_out"] = {
        name: left_out(model, own, test, name, found[name]) for name in model.tasks
    }
    for name, entry in model.training["left_out"].items():
        print(f"{signal:9} {name:15} left out: {entry}")
    return model


def rows_of(data: Path, signal: str, names: list[str]) -> tuple[Windows, Windows, dict[str, float]]:
    """Return rows to train on, rows held out, and the share of true sites among candidates."""
    both = [read_windows(data / WINDOWS[signal], split=split) for split in ("train", "test")]
    both = [rows[np.isin(rows.tasks, [*GENOMES])] for rows in both]
    shares = {name: prevalence(data, signal, name) for name in names if name in GENOMES}
    letters = both[0].matrix()[both[0].labels > 0]
    pair = encode(BOTH_STRANDS[signal][0])
    at = ((letters[:, :-1] == pair[0]) & (letters[:, 1:] == pair[1])).all(axis=0).argmax()
    own = [name for name in names if name in VERTEBRATES]
    with tempfile.TemporaryDirectory() as folder:
        config = write_config(data, Path(folder), own)
        summary = dataset(config, signal=signal, output=Path(folder) / signal)
        cut = (summary["site"]["offset"] - int(at), both[0].length)
        more = [
            read_dataset(Path(folder) / signal, split=split, cut=cut).windows
            for split in ("train", "valid")
        ]
    for name in own:
        facts = summary["organisms"][name]
        shares[name] = facts["sites"] / (facts["sites"] + facts["candidates"])
    train, test = (concatenate(parts) for parts in zip(both, more, strict=True))
    return train[np.isin(train.tasks, names)], test, shares


def write_config(data: Path, folder: Path, names: list[str]) -> Path:
    """Write the description of datasets of annotated genomes."""
    lines = [RULES]
    for name in names:
        genome, annotation = (str((data / path).resolve()) for path in ANNOTATED[name])
        lines.append(f"[organisms.{name}]\n{genome = }\n{annotation = }\n")
    (folder / "genomes.toml").write_text("".join(lines))
    return folder / "genomes.toml"


def pair(data: Path, folder: Path, without: str | None = None) -> PairedModel:
    """Pair the models of a folder, with datasets of the annotated genomes."""
    donor, acceptor = (MultiTaskModel.load(folder / f"{end}.seqmtl") for end in ENDS)
    names = [name for name in ANNOTATED if name != without]
    # the vertebrates come first, with the regions that their site models were trained on
    names.sort(key=lambda name: name not in VERTEBRATES)
    with tempfile.TemporaryDirectory() as scratch:
        config = write_config(data, Path(scratch), names)
        datasets = [f"{scratch}/{end}" for end in ENDS]
        for end, output in zip(ENDS, datasets, strict=True):
            dataset(config, signal=end, output=output)
        layer = fit_layer(donor, acceptor, *datasets, split="valid")
    for name, own in layer.items():
        told = f"{own.n_introns} introns of {own.shortest} to {own.longest}, {own.n_sites} sites"
        print(f"splice    {name:15} {told}", flush=True)
    return PairedModel(donor, acceptor, layer, {"split": "valid"})


def save_paired(model: PairedModel, folder: Path) -> None:
    """Write the paired model; it names its parts instead where they are the shipped ones."""
    header, arrays = model.contents()
    shipped = [Path(model_path(f"starter:{end}")).read_bytes() for end in ENDS]
    if [(folder / f"{end}.seqmtl").read_bytes() for end in ENDS] == shipped:
        header |= {end: {"starter": end} for end in ENDS}
        arrays = {name: array for name, array in arrays.items() if "." not in name}
    write_arrays(folder / "splice.seqmtl", header, arrays)


def fit(windows: Windows) -> MultiTaskModel:
    """Train with the defaults of `seqmtl train`."""
    tree = TaskKernel.from_tree(TREE, sorted(set(windows.tasks)))
    svc = MultiTaskClassifierCV(task_kernel=tree)
    return svc.fit(windows, windows.labels, tasks=windows.tasks).model_


def left_out(
    model: MultiTaskModel, train: Windows, test: Windows, name: str, own: dict[str, Any]
) -> dict[str, Any]:
    """Return the accuracy of the other organisms on one, without a label of it."""
    model = fit(train[train.tasks != name])
    rows = measured(test[test.tasks == name])
    scores = adapt(model, name, like=name).decision_function(rows, name)
    placed = weights_of_relatives(model.kernel, model.tasks, name, like=name)
    found = {"nearest": placed.nearest, "distance": placed.distance}
    return found | {
        "auprc": round(metrics(rows, scores)["auprc"], 4),
        "own": round(own["auprc"], 4),
    }


def measured(rows: Windows) -> Windows:
    """Return the rows that count: of vertebrates, too, about 3 decoys a site."""
    decoys = np.flatnonzero(rows.labels < 0)
    step = decoys.size // (3 * int((rows.labels > 0).sum())) if rows.tasks[0] in VERTEBRATES else 1
    return rows[np.sort(np.concatenate([np.flatnonzero(rows.labels > 0), decoys[::step]]))]


def metrics(rows: Windows, scores: Any) -> dict[str, Any]:
    """Return AUROC and AUPRC with their intervals."""
    return evaluate(rows.labels, scores, rows.tasks, n_bootstrap=200)["tasks"][rows.tasks[0]]


def prevalence(data: Path, signal: str, organism: str) -> float:
    """Return the share of true sites among the GTs (or AGs) of both strands of a genome."""
    fasta, folder = (data / path for path in GENOMES[organism])
    with gzip.open(fasta, "rt") as stream:
        texts = "".join(">" if line[0] == ">" else line.strip() for line in stream).upper()
    with gzip.open(folder / f"{signal}_sites.bed.gz", "rt") as stream:
        rows = [line.rstrip().split("\t") for line in stream]
    sites = {(row[0], row[1], row[5]) for row in rows if row[4] == BOTH_STRANDS[signal][0]}
    return len(sites) / sum(map(texts.count, BOTH_STRANDS[signal]))


def show(signal: str, name: str, found: dict[str, Any], more: str) -> None:
    """Print one row of the table of accuracies."""
    low, high = found["auprc_interval"]
    value = f"auroc {found['auroc']:.4f}  auprc {found['auprc']:.4f} ({low:.4f} to {high:.4f})"
    print(f"{signal:9} {name:15} {value}  {more}", flush=True)


if __name__ == "__main__":
    main()
