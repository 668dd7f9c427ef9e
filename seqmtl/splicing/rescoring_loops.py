"""Compiled loops over the candidates around each candidate of a splice site."""

from __future__ import annotations

import numpy as np

from seqmtl._jit import njit

_LOWEST = -30.0  # a logarithm if there is nothing
_NO_SITE = -20.0  # log-odds if there is no site
_TINY = 1e-13


@njit
def sum_partners(places, content, others, of_others, side, lengths, factor, numbers):
    """Describe the partners across the exon of each site.

    `places` rise in reading direction, and so do those of `others`, candidates of the other end on
    the strand; `of_others` has their log-odds and, as `content` has of the sites, the coding
    content up to each in three frames. A partner is before the site where `side` is -1, and after
    it where it is 1, and weighs its log-odds plus the log density of the exon's length. The rows
    of `numbers` become that of the best one, its log-odds, the length, the log of the sum of all
    weights, and the best weight with `factor` times the content of the exon in one frame.
    """
    first, longest = 0, lengths.size - 1
    for i in range(places.size):
        low, high = (-longest, 0) if side < 0 else (0, longest)
        while first < others.size and others[first] < places[i] + low:
            first += 1
        best, log_odds, length, total, with_content = _LOWEST, _NO_SITE, 0, 0.0, _LOWEST
        j = first
        while j < others.size and others[j] <= places[i] + high:
            bases = abs(places[i] - others[j])
            weight = of_others[j, 0] + lengths[bases]
            total += np.exp(weight)
            if weight > best:
                best, log_odds, length = weight, of_others[j, 0], bases
            for r in range(3):
                coded = side * (of_others[j, 1 + r] - content[i, r])
                with_content = max(with_content, weight + factor * coded)
            j += 1
        numbers[i, 0], numbers[i, 1], numbers[i, 2] = best, log_odds, length
        numbers[i, 3], numbers[i, 4] = np.log(total + _TINY), with_content


@njit
def sum_introns(places, others, log_odds, side, lengths, near, numbers):
    """Describe the partners across the intron of each site.

    As in :func:`sum_partners`. The rows of `numbers` become the log of the sum of all weights, that
    of the partners within `near` bases, and the best log-odds.
    """
    first, longest = 0, lengths.size - 1
    for i in range(places.size):
        low, high = (-longest, 0) if side < 0 else (0, longest)
        while first < others.size and others[first] < places[i] + low:
            first += 1
        total, within, best = 0.0, 0.0, _LOWEST
        j = first
        while j < others.size and others[j] <= places[i] + high:
            bases = abs(places[i] - others[j])
            weight = np.exp(log_odds[j] + lengths[bases])
            total += weight
            if bases < near:
                within += weight
            best = max(best, log_odds[j])
            j += 1
        numbers[i, 0], numbers[i, 1] = np.log(total + _TINY), np.log(within + _TINY)
        numbers[i, 2] = best


@njit
def find_strongest(places, others, log_odds, reach, is_same, numbers):
    """Write the highest log-odds of the others, by place, within `reach` bases of each site.

    With `is_same`, sites and others are the same, and a site is no other of its own.
    """
    first = 0
    for i in range(places.size):
        while first < others.size and others[first] < places[i] - reach:
            first += 1
        best, j = _NO_SITE, first
        while j < others.size and others[j] <= places[i] + reach:
            if not (is_same and j == i):
                best = max(best, log_odds[j])
            j += 1
        numbers[i] = best


@njit
def count_stronger(places, log_odds, reach, numbers):
    """Write the number of stronger sites within `reach` bases of each site."""
    first = 0
    for i in range(places.size):
        while places[first] < places[i] - reach:
            first += 1
        n, j = 0, first
        while j < places.size and places[j] <= places[i] + reach:
            n += log_odds[j] > log_odds[i]
            j += 1
        numbers[i] = n
