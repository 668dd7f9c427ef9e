"""``seqmtl demo``: the whole journey on simulated genomes, ending in a report."""

from __future__ import annotations

import argparse
import logging
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from seqmtl.cli import _options
from seqmtl.cli._output import software_versions
from seqmtl.exceptions import SeqmtlError

if TYPE_CHECKING:
    from collections.abc import Iterator

logger = logging.getLogger("seqmtl")

_FEW, _MANY = 200, 1000
_WINDOW = 141
_METHODS = {"individual": "independent", "union": "union", "multi-task": None}

_EXAMPLES = """\
  seqmtl demo                   # writes seqmtl-demo/report.html
  seqmtl demo -o demo --seed 2"""


def add_parser(subparsers: _options.Subparsers) -> None:
    """Add the command."""
    parser = _options.new_command(
        subparsers, "demo", run,
        "simulate related genomes, train jointly, evaluate, scan, and write a report", _EXAMPLES,
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", default="seqmtl-demo", metavar="DIR",
        help="folder to write (default: seqmtl-demo)",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=1, help="of the simulation (default: 1)")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from importlib.util import find_spec

    from seqmtl.report import write_report

    if find_spec("matplotlib") is None:
        raise SeqmtlError("the report draws figures with matplotlib; pip install 'seqmtl[plots]'")
    demo = _Demo(args.output, args.seed)
    demo.simulate()
    demo.train()
    demo.scan()
    path = os.path.join(args.output, "report.html")
    with demo.timed("report figures"):
        report = demo.report()
    write_report(path, report)
    logger.info("%s: open it in a browser (%.0f s in all)", path, sum(demo.timings.values()))
    return 0


class _Demo:
    """The steps of the demo; each leaves its files in the folder."""

    def __init__(self, folder: str, seed: int) -> None:
        self.folder, self.seed = folder, seed
        self.timings: dict[str, float] = {}
        self.models: dict[str, Any] = {}
        self.metrics: dict[str, Any] = {}

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Note how long a step takes."""
        started = time.perf_counter()
        yield
        self.timings[step] = time.perf_counter() - started
        logger.info("%s: %.1f s", step, self.timings[step])

    def path(self, *parts: str) -> str:
        """Return a path in the folder."""
        return os.path.join(self.folder, *parts)

    def simulate(self) -> None:
        """Simulate genomes; two of the organisms have few labelled windows."""
        from seqmtl.similarity import read_tree
        from seqmtl.simulate import default_tree, simulate, write_simulation

        with self.timed("simulate genomes"):
            tree = default_tree()
            names = read_tree(tree).leaf_names
            few = set(names[1::3])
            counts = {name: _FEW if name in few else _MANY for name in names}
            self.simulation = simulate(tree, seed=self.seed, n_windows=counts)
            write_simulation(self.simulation, self.folder)

    def train(self) -> None:
        """Train the three ways and evaluate on the last chromosome of every organism."""
        from seqmtl.evaluation import evaluate
        from seqmtl.io import read_windows
        from seqmtl.models.fit import train_windows
        from seqmtl.similarity import TaskKernel

        windows = read_windows(self.path("windows.tsv.gz"), window=_WINDOW)
        train, self.test = windows.select_split("train"), windows.select_split("test")
        self.kernel = TaskKernel.from_newick(self.path("tree.nwk"))
        for name, kernel in _METHODS.items():
            with self.timed(f"train {name}"):
                self.models[name], _ = train_windows(train, task_kernel=kernel or self.kernel)
                self.models[name].save(self.path(f"{name}.seqmtl"))
        with self.timed("evaluate"):
            for name, model in self.models.items():
                scores = model.decision_function(self.test)
                self.metrics[name] = evaluate(self.test.labels, scores, self.test.tasks)
        self.train_windows = train

    def scan(self) -> None:
        """Scan the held-out chromosome of an organism with few windows."""
        import numpy as np

        from seqmtl.io import open_contigs
        from seqmtl.scan.organism import scanner_of

        model = self.models["multi-task"]
        counts = model.training["tasks"]
        self.organism = min(model.tasks, key=lambda name: counts[name]["n"])
        with self.timed("scan a chromosome"):
            contigs = dict(open_contigs(self.path("genomes", f"{self.organism}.fa")))
            self.contig = list(contigs)[-1]
            codes = contigs[self.contig]
            scanner = scanner_of(model, self.organism)
            letters = ["ACGT".index(letter) for letter in model.site.letters]
            found = []
            for strand in "+-":
                scores = scanner.scan_contig(codes, strand)
                starts = np.arange(scores.size) + _site_start(model, strand)
                wanted = letters if strand == "+" else [3 - code for code in letters[::-1]]
                here = np.ones(scores.size, dtype=bool)
                for k, code in enumerate(wanted):
                    here &= codes[starts + k] == code
                found.append((starts[here], np.full(here.sum(), 1 if strand == "+" else -1),
                              scores[here]))  # fmt: skip
            self.hits = tuple(np.concatenate(column) for column in zip(*found, strict=True))
            self.n_bases, self.n_scored = codes.size, int(self.hits[0].size)

    def report(self) -> Any:
        """Gather everything the report shows."""
        from seqmtl.report import Convergence, DemoReport, OrganismData
        from seqmtl.similarity import read_tree

        model = self.models["multi-task"]
        counts = model.training["tasks"]
        tested = self.metrics["multi-task"]["tasks"]
        organisms = [
            OrganismData(
                genome.organism, int(genome.letters.size), counts[genome.organism]["n"],
                counts[genome.organism]["n_positive"], tested[genome.organism]["n"],
            )
            for genome in self.simulation.genomes
        ]  # fmt: skip
        settings = model.training["settings"]
        return DemoReport(
            title="seqmtl demo: acceptor splice sites of six simulated organisms",
            command=f"seqmtl demo -o {self.folder} --seed {self.seed}",
            seed=self.seed,
            organisms=organisms,
            methods=self.metrics,
            main_method="multi-task",
            test_labels=self.test.labels,
            test_scores=model.decision_function(self.test),
            test_tasks=self.test.tasks,
            similarity=self.kernel,
            tree=read_tree(self.path("tree.nwk")),
            convergence=[
                Convergence(
                    name, [h["work"] for h in m.training["history"]],
                    [h["gap"] for h in m.training["history"]],
                )
                for name, m in self.models.items()
            ],
            tolerance=settings["tol"],
            scan=self._scan_result(),
            settings={"window": _WINDOW, "features": str(model.features), "C": settings["C"],
                      "loss": settings["loss"]},
            timings=dict(self.timings),
            versions=software_versions(),
        )  # fmt: skip

    def _scan_result(self) -> Any:
        import numpy as np

        from seqmtl.report import GenomeScan, ThresholdRow

        starts, strands, scores = self.hits
        genome = next(g for g in self.simulation.genomes if g.organism == self.organism)
        true = _true_sites(self.path("sites", f"{self.organism}.bed"), self.contig)
        is_true = np.array([(s, d) in true for s, d in zip(starts, strands, strict=True)])
        sites = sorted(true)
        rows = [
            ThresholdRow(
                float(x), int((scores >= x).sum()), int(is_true[scores >= x].sum()), len(sites)
            )
            for x in (-1.0, -0.5, 0.0, 0.5, 1.0)
        ]
        return GenomeScan(
            genome.organism, self.contig, self.n_bases, starts, strands, scores,
            np.array([s for s, _ in sites]), np.array([d for _, d in sites]), 0.0, rows,
            self.n_scored, self.timings["scan a chromosome"],
        )  # fmt: skip


def _site_start(model: Any, strand: str) -> int:
    """Distance from a window's first base to its site's, on the forward strand."""
    site = model.site
    return int(site.offset if strand == "+" else model.length - site.offset - site.length)


def _true_sites(path: str, contig: str) -> set[tuple[int, int]]:
    """Read starts and strands of the true sites of one contig from BED."""
    from seqmtl.files.streams import numbered_lines, readable

    sites = set()
    for _, line in numbered_lines(path):
        name, start, _, _, score, strand = readable(line).split("\t")[:6]
        if name == contig and float(score) > 0:
            sites.add((int(start), 1 if strand == "+" else -1))
    return sites
