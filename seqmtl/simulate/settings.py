"""Validated parameters of a simulation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from seqmtl._checks import check_choice, check_integer, check_number

SIGNALS = ("acceptor", "donor", "tss")
MEAN_INTRONS = 5.0
WINDOWS_PER_ORGANISM = 1000
_BASES_PER_GENE = 5000


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


def check_settings(  # noqa: PLR0913
    organisms: tuple[str, ...],
    *,
    seed: int,
    n_chromosomes: int,
    chromosome_length: int,
    n_genes: int | None,
    n_windows: int | Mapping[str, int],
    window: int,
    signal: str,
    decoys_per_site: int,
    drift: float,
) -> Settings:
    """Check all parameters, and fill in defaults.

    Raises
    ------
    ValueError
        With the name of the parameter, the rule and the value.
    """
    check_choice("signal", signal, SIGNALS)
    check_number("drift", drift, least=0, remedy="0 means no drift")
    settings = Settings(
        organisms=organisms,
        seed=_integer("seed", seed, 0),
        n_chromosomes=_integer("n_chromosomes", n_chromosomes, 2),
        chromosome_length=_integer("chromosome_length", chromosome_length, 1),
        n_genes=0 if n_genes is None else _integer("n_genes", n_genes, 1),
        n_windows=_windows_by_organism(organisms, n_windows),
        window=_integer("window", window, 2),
        signal=signal,
        decoys_per_site=_integer("decoys_per_site", decoys_per_site, 1),
        drift=float(drift),
    )
    if n_genes is not None:
        return settings
    return replace(settings, n_genes=_enough_genes(settings))


def _integer(name: str, value: int, minimum: int) -> int:
    check_integer(name, value, minimum, remedy=f"give {minimum} or more")
    return int(value)


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
    return {
        organism: _integer(
            f"n_windows of {organism}", n_windows.get(organism, WINDOWS_PER_ORGANISM), 0
        )
        for organism in organisms
    }


def _enough_genes(settings: Settings) -> int:
    """Return a number of genes that fills the chromosomes and yields enough true sites."""
    sites_per_gene = 1.0 if settings.signal == "tss" else MEAN_INTRONS
    largest = max(settings.n_training(organism)[0] for organism in settings.organisms)
    needed = math.ceil(1.1 * largest / sites_per_gene / (settings.n_chromosomes - 1)) + 3
    usual = settings.chromosome_length // _BASES_PER_GENE
    return max(needed, usual) * settings.n_chromosomes
