"""Output shared by several commands: metrics, summaries, version numbers."""

from __future__ import annotations

import argparse
import os
from typing import Any

from seqmtl._version import __version__
from seqmtl.cli._console import show
from seqmtl.files.inputs import FilesOfACommand
from seqmtl.files.outputs import (
    check_outputs as check_outputs,
)
from seqmtl.files.outputs import (
    open_output as open_output,
)
from seqmtl.files.outputs import (
    replacing as replacing,
)
from seqmtl.files.outputs import (
    write_json as write_json,
)

#: Exit code if training stopped before reaching its tolerance.
NOT_CONVERGED = 3


def with_input(text: str, args: argparse.Namespace, files: FilesOfACommand) -> str:
    """Put the name of DATA before an error message that names no file of the command."""
    data = getattr(args, "data", None)
    if not data or not os.path.exists(data):
        return text
    paths = [data, *files.inputs.values(), *files.outputs.values()]
    names = [os.path.basename(os.path.normpath(path)) for path in paths]
    return text if any(name in text for name in names) else f"{data}: {text}"


def software_versions() -> dict[str, str]:
    """Return the versions of the package, Python and the main dependencies."""
    import platform
    from importlib.metadata import version

    packages = ("numpy", "scipy", "numba", "scikit-learn", "biopython")
    return {
        "seqmtl": __version__,
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
    }


def write_summary(path: str, training: dict[str, Any]) -> None:
    """Write a training summary as JSON."""
    write_json(path, {"schema_version": 1, **training})


def write_metrics(metrics: dict[str, Any], text: str, path: str | None) -> None:
    """Write metrics as a table to standard output and as JSON to `path`; ``-``: JSON only."""
    if path:
        write_json(path, metrics)
    if path != "-":
        show(text)


def write_multiqc(metrics: dict[str, Any], model: str, path: str) -> None:
    """Write metrics as MultiQC custom content: a table with a row per organism.

    MultiQC finds the file only if its name ends in ``_mqc.json``.
    """
    from seqmtl.evaluation.metrics import AUPRC_TITLES

    name = os.path.basename(model).removesuffix(".seqmtl")
    rows = {}
    for organism, task in metrics["tasks"].items():
        genome = task.get("genome", {})
        precision = genome.get("precision_at_recall", {})
        row = {key: task.get(key) for key in ("n", "n_positive", "auroc", *AUPRC_TITLES)}
        row |= {f"precision_{float(r) * 100:.0f}": value for r, value in precision.items()}
        rows[f"{name} {organism}"] = {k: v for k, v in row.items() if v is not None}
    share = {"min": 0, "max": 1, "format": "{:,.3f}", "scale": "Blues"}
    content = {
        "id": f"seqmtl_{name}",
        "section_name": f"seqmtl: {name}",
        "description": "Held-out accuracy by organism; precision over the genome.",
        "plot_type": "table",
        "pconfig": {"id": f"seqmtl_{name}_table", "title": f"seqmtl: {name}"},
        "headers": {
            "n": {"title": "Windows", "format": "{:,.0f}"},
            "n_positive": {"title": "True sites", "format": "{:,.0f}"},
            "auroc": {"title": "AUROC", **share},
            **{key: {"title": title, **share} for key, title in AUPRC_TITLES.items()},
            **{f"precision_{r}": {"title": f"Precision at {r} %", **share} for r in (50, 80, 95)},
        },
        "data": rows,
    }
    write_json(path, content)


def table(metrics: dict[str, Any], task_column: str = "organism") -> str:
    """Format metrics as a tab-separated table; include accuracy if available."""
    from seqmtl.evaluation.metrics import AUPRC_TITLES

    if "classes" in metrics:
        return _table_of_classes(metrics)
    mean = metrics["mean"]
    auprc = next(key for key in AUPRC_TITLES if key in mean)
    lines = [f"{task_column}\tn\tpositive\tauroc\tauroc_95\t{auprc}\t{auprc}_95"]
    for name, task in metrics["tasks"].items():
        fields = [name, str(task["n"]), str(task["n_positive"])]
        for key in ("auroc", auprc):
            fields += [_number(task[key]), _interval(task[f"{key}_interval"])]
        lines.append("\t".join(fields))
    lines.append(f"mean\t\t\t{_number(mean['auroc'])}\t\t{_number(mean[auprc])}\t")
    if any("genome" in task for task in metrics["tasks"].values()):
        lines = _with_genome(lines, list(metrics["tasks"].values()))
    if any("expected" in task for task in metrics["tasks"].values()):
        lines = _with_expected(lines, list(metrics["tasks"].values()))
    if "accuracy" in mean:
        shown = [_number(task["accuracy"]) for task in (*metrics["tasks"].values(), mean)]
        lines = [f"{line}\t{end}" for line, end in zip(lines, ["accuracy", *shown], strict=True)]
    return "\n".join(lines) + "\n"


def _table_of_classes(metrics: dict[str, Any]) -> str:
    rows = [*metrics["classes"].items(), ("all", metrics)]
    lines = [f"{name}\t{entry['n']}\t{_number(entry['accuracy'])}" for name, entry in rows]
    return "\n".join(["class\tn\taccuracy", *lines]) + "\n"


def _with_genome(lines: list[str], tasks: list[dict[str, Any]]) -> list[str]:
    """Append the columns of metrics at genome prevalence."""
    names = ["prevalence", "precision_50", "precision_80", "precision_95"]
    columns = ["\t".join(names)]
    for genome in (task.get("genome", {}) for task in tasks):
        precision = genome.get("precision_at_recall", {})
        share = genome.get("prevalence")
        fields = ["NA" if share is None else f"{share:.2g}"]
        fields += [_number(precision.get(recall)) for recall in ("0.5", "0.8", "0.95")]
        columns.append("\t".join(fields))
    columns.append("\t" * (len(names) - 1))
    return [f"{line}\t{end}" for line, end in zip(lines, columns, strict=True)]


def _with_expected(lines: list[str], tasks: list[dict[str, Any]]) -> list[str]:
    """Append the columns of expected numbers of sites."""
    columns = ["expected\terror_0.1\tholds"]
    for task in tasks:
        holds = task["reliability"][0]["holds"]
        columns.append(f"{task['expected']:.1f}\t{_number(task['error_likely'])}\t{holds}")
    return [f"{line}\t{end}" for line, end in zip(lines, [*columns, "\t\t"], strict=True)]


def _number(value: float | None) -> str:
    return "NA" if value is None else f"{value:.4f}"


def _interval(bounds: list[float] | None) -> str:
    return "NA" if bounds is None else f"{bounds[0]:.4f}-{bounds[1]:.4f}"
