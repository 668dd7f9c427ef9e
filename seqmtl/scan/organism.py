"""Scanners and finders for one organism of a model."""

from __future__ import annotations

from typing import Any

from seqmtl.models.model import MultiTaskModel
from seqmtl.models.placed_weights import window_scorer
from seqmtl.models.site import Site
from seqmtl.scan.finder import SiteFinder
from seqmtl.scan.scanner import Scanner, WindowScanner

TABLE_BYTES = 16  # of an entry in tables, with the weights that they are from
MOST_BYTES = 1 << 30  # of tables: those of 9-mers in windows of 141 bases, but not of 10-mers


def scanner_of(
    model: MultiTaskModel, organism: str, *, site: Site | None = None, from_relatives: bool = False
) -> Scanner:
    """Return a scanner with the weights of one organism, with tables unless they would be large.

    Parameters
    ----------
    model : MultiTaskModel
        Trained model.
    organism : str
        Task of the model, or a relative without data if `from_relatives` is set.
    site : Site, optional
        Position of the site in the window. Default: that of the model.
    from_relatives : bool, default=False
        See :meth:`MultiTaskModel.decision_function`.

    Raises
    ------
    UnknownTaskError
        If the model was not trained on the organism.
    """
    site = model.site if site is None else site
    place = {"site_offset": site.offset, "site_length": site.length}
    if TABLE_BYTES / 3 * 4.0 ** (model.features.span(model.length) + 1) * model.length > MOST_BYTES:
        score = window_scorer(model, organism, from_relatives=from_relatives)
        return WindowScanner(score, model.length, **place)
    weights = model.position_weights(organism, from_relatives=from_relatives)
    bias = model.weights([organism], from_relatives=from_relatives)[1]
    return Scanner(weights, float(bias[0]), **place)


def finder_of(
    model: MultiTaskModel,
    organism: str,
    *,
    site: Site | None = None,
    from_relatives: bool = False,
    **options: Any,
) -> SiteFinder:
    """Return what finds the sites of one organism, with their consensus and probabilities.

    Parameters
    ----------
    model, organism, site, from_relatives
        See :func:`scanner_of`; sites have the letters of `site`.
    **options
        Further arguments of :class:`~seqmtl.scan.finder.SiteFinder`.

    Raises
    ------
    UnknownTaskError
        If the model was not trained on the organism.
    """
    site = model.site if site is None else site
    scanner = scanner_of(model, organism, site=site, from_relatives=from_relatives)
    known: dict[str, Any] = {"signal": model.site.kind, "consensus": site.letters or None}
    if model.kind == "classification":
        known["log_odds"] = model.log_odds_of(organism)
    if "tasks" in model.training:
        known["prior"] = model.prevalence(organism)
    return SiteFinder(scanner, **{**known, **options})
