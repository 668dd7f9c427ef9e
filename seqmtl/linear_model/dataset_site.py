"""The site of a dataset, where windows that are cut from it have it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from seqmtl.exceptions import InputFormatError, UsageError
from seqmtl.io.dataset import is_dataset, read_summary
from seqmtl.linear_model.site import Site


def _site_of(summary: Mapping[str, Any]) -> Site:
    """Return the site of a dataset, without what later versions may add."""
    keys = ("offset", "length", "letters", "signal")
    return Site(**{key: value for key, value in summary["site"].items() if key in keys})


def site_in_dataset(data: str | None, length: int, shift: int) -> Site | None:
    """Return the site in windows cut from a dataset, or None for other inputs.

    Parameters
    ----------
    data : str, optional
        A dataset, or a path or None for other inputs.
    length : int
        Length of the cut windows in bases.
    shift : int
        Their offset from the centre in bases.
    """
    if data is None or not is_dataset(data):
        return None
    summary = read_summary(data)
    site = _site_of(summary)
    wide = length + 2 * abs(shift)
    before = (summary["window"] - wide) // 2 + abs(shift) + shift
    if not 0 <= site.offset - before <= length - site.length:
        raise UsageError(
            f"--window {length} --shift {shift} cuts off the {site.kind} site at offset "
            f"{site.offset} of the dataset's {summary['window']} bases; take a longer window or "
            "another shift"
        )
    return Site(site.offset - before, site.length, site.letters, site.signal)


def site_of_model(model: Site, data: str | os.PathLike[str], length: int, shift: int) -> Site:
    """Return the site of a dataset where a model has it in its windows.

    Parameters
    ----------
    model : Site
        Site of the model. If its signal and its letters are unknown, and it is in the middle, its
        windows are taken to be cut from the centre of the dataset's.
    data : path-like
        Dataset.
    length, shift : int
        Length of the model's windows, and their offset from the centre.

    Raises
    ------
    SeqmtlError
        If the dataset has another signal or other letters.
    """
    data = os.fspath(data)
    if not is_dataset(data):
        raise InputFormatError("must be a dataset; name a folder of seqmtl dataset", data)
    site = _site_of(read_summary(data))
    if not model.signal and not model.consensus:
        if model.offset != length // 2:
            return replace(site, offset=model.offset)
        return site_in_dataset(data, length, shift) or site
    is_shared = bool({*model.consensus} & {*site.consensus}) or not site.consensus
    if site.signal != model.signal if model.signal else not is_shared:
        ours, theirs = (f"{s.signal or s.letters} sites" for s in (model, site))
        raise InputFormatError(
            f"the model has {ours} at base {model.offset} of its {length}, the dataset {theirs}; "
            "build a dataset with the model's signal",
            data,
        )
    return replace(site, offset=model.offset)
