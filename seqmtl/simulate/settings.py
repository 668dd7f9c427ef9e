"""Validated parameters of a simulation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from seqmtl._checks import check_choice, check_integer, check_number

SIGNALS = ("acceptor", "donor", "tss")
MEAN_INTRONS = 5.0
WINDOWS_PER_ORGANISM = 1000
_BASES_PER_GENE = 5000
_LEAST = {"seed": 0, "n_chromosomes": 2, "chromosome_length": 1, "window": 2, "decoys_per_site": 1}


@dataclass(frozen=True)
class Settings:
    """Complete, validated parameters of :func:`seqmtl.simulate.simulate`.

    Attributes
    ----------
    organisms : tuple of str
        Names of the leaves of the tree.
    n_windows : dict of str to int
        Training windows of every organism.
    n_genes : int
        Genes of every organism, over all chromosomes.
    seed, n_chromosomes, chromosome_length, window, signal, decoys_per_site, drift
        As in :func:`seqmtl.simulate.simulate`.
    """

    organisms: tuple[str, ...]
    seed: int
    n_chromosomes: int
    chromosome_length: int
    n_genes: int
    n_windows: dict[str, int]
    window: int
    signal: str
    decoys_per_site: int
    drift: float

    @property
    def margin(self) -> int:
        """Bases without sites at either end of a chromosome, so that windows fit."""
        return self.window // 2 + 2

    def n_training(self, organism: str) -> tuple[int, int]:
        """Return the numbers of true sites and decoys for training of an organism."""
        n_windows = self.n_windows[organism]
        n_true = min(n_windows, max(1, round(n_windows / (1 + self.decoys_per_site))))
        return n_true, n_windows - n_true


def check_settings(
    organisms: tuple[str, ...],
    n_genes: int | None,
    n_windows: int | Mapping[str, int],
    **parameters: Any,
) -> Settings:
    """Check all parameters, and fill in defaults.

    Raises
    ------
    ValueError
        With the name of the parameter, the rule and the value.
    """
    check_choice("signal", parameters["signal"], SIGNALS)
    check_number("drift", parameters["drift"], least=0, remedy="0 means no drift")
    parameters["drift"] = float(parameters["drift"])
    for name, least in _LEAST.items():
        parameters[name] = _integer(name, parameters[name], least)
    if n_genes is not None:
        n_genes = _integer("n_genes", n_genes, 1)
    by_organism = _windows_by_organism(organisms, n_windows)
    settings = Settings(organisms, n_genes=n_genes or 0, n_windows=by_organism, **parameters)
    return settings if n_genes else replace(settings, n_genes=_enough_genes(settings))


def _integer(name: str, value: int, least: int) -> int:
    check_integer(name, value, least, remedy=f"give {least} or more")
    return int(value)  # numpy's have no JSON


def _windows_by_organism(
    organisms: tuple[str, ...], n_windows: int | Mapping[str, int]
) -> dict[str, int]:
    if not isinstance(n_windows, Mapping):
        return dict.fromkeys(organisms, _integer("n_windows", n_windows, 0))
    unknown = [name for name in n_windows if name not in organisms]
    if unknown:
        raise ValueError(
            f"n_windows must name leaves of the tree, got {unknown[0]!r}; "
            f"the leaves are {', '.join(organisms)}"
        )
    given = {name: _integer(f"n_windows of {name}", n, 0) for name, n in n_windows.items()}
    return dict.fromkeys(organisms, WINDOWS_PER_ORGANISM) | given


def _enough_genes(settings: Settings) -> int:
    """Return a number of genes that fills the chromosomes and yields enough true sites."""
    sites_per_gene = 1.0 if settings.signal == "tss" else MEAN_INTRONS
    largest = max(settings.n_training(organism)[0] for organism in settings.organisms)
    needed = math.ceil(1.1 * largest / sites_per_gene / (settings.n_chromosomes - 1)) + 3
    usual = settings.chromosome_length // _BASES_PER_GENE
    return max(needed, usual) * settings.n_chromosomes
