"""The chain on a whole contig: every candidate of the letters, scored by its window."""

import numpy as np

from seqmtl import Windows
from seqmtl.io.genome import load_genome
from seqmtl.scanning.finder import scanner_of
from seqmtl.sequences import reverse_complement
from seqmtl.sequences.sites import Sites
from seqmtl.splicing import join_ends, run_chain
from seqmtl.splicing.layer import EDGES, ENDS
from seqmtl.splicing.start_codons import LOG_RATIOS, PLACES

WORDS = {
    "donor": ["GT"],
    "acceptor": ["AG"],
    "start": ["ATG"],
    "stop": ["TAA", "TAG", "TGA"],
}


def ends(starts, is_reverse, log_odds):
    """Return candidates of one signal, with the letters of its model."""
    columns = {"log_odds": np.asarray(log_odds), "letters": np.zeros(len(starts), dtype=int)}
    return Sites(np.asarray(starts), np.asarray(is_reverse, bool), columns)


def places_of(sites):
    """Return the starts and strands of sites, in their order."""
    strands = np.where(sites.is_reverse, "-", "+").tolist()
    return [*zip(sites.starts.tolist(), strands, strict=True)]


def start_log_odds(letters, at):
    """Return the sum of the log ratios of the letters around a start codon, up to N or an end."""
    ratios, total = dict(zip(PLACES, LOG_RATIOS, strict=True)), 0.0
    for outwards in (range(-1, -7, -1), range(3, 6)):
        for place in outwards:
            if not 0 <= at + place < len(letters) or letters[at + place] == "N":
                break
            total += ratios[place]["ACGT".index(letters[at + place])]
    return total


def codons(codes, signal):
    """Return the start codons of both strands by their letters, or stop codons, all alike."""
    letters = ["".join("ACGTN"[code] for code in own) for own in (codes, reverse_complement(codes))]
    plus, minus = (
        [at for at in range(len(own) - 2) if own[at : at + 3] in WORDS[signal]] for own in letters
    )
    starts = np.array([*plus, *(len(codes) - 3 - at for at in minus)], dtype=np.int64)
    log_odds = np.zeros(starts.size)
    if signal == "start":
        places = zip(letters, (plus, minus), strict=True)
        log_odds += [start_log_odds(own, at) for own, of_strand in places for at in of_strand]
    return ends(starts, [False] * len(plus) + [True] * len(minus), log_odds)


def open_contigs(path):
    """Return the name and the letters of each contig."""
    genome = load_genome(path, padding=1)
    return [(name, genome.contig(name)) for name in genome.names]


def posteriors_of(given, codes, layer):
    """Return the log posteriors of donors, then of acceptors, in the order given."""
    bounds = [0, len(given[0]), len(given[0]) + len(given[1])]
    numbered = [own.adding(number=np.arange(*bounds[k : k + 2])) for k, own in enumerate(given)]
    every = dict(zip(ENDS, numbered, strict=True))
    for edge in layer.edges:
        own = codons(codes, edge.signal)
        every[edge.signal] = own.adding(number=np.full(len(own), bounds[2]))
    joined = join_ends(every, codes, layer.coding)
    found = np.empty(bounds[2] + 1)
    found[joined["number"]] = run_chain(joined, layer).sites
    return found[:-1]


def whole_contig(model, organism, codes, least=0.05):
    """Return sites by (signal, start, strand), and those of introns by (start, end, strand)."""
    return _whole_contig(model, organism, codes, least)[:2]


def exons_of(model, organism, codes, least=1e-3):
    """Return the probabilities of exons of a contig by (start, end, strand)."""
    return _whole_contig(model, organism, codes, least)[2]


def read_as_own(model, organism, letters, word):
    """Return the sites with a word on one strand, and log-odds as if it were the model's first."""
    text, at, length = "".join("ACGTN"[code] for code in letters), model.site.offset, model.length
    starts = [k for k in range(at, len(text) - length + at + 1) if text[k : k + len(word)] == word]
    own, end = model.site.consensus[0], at + len(word)
    windows = [text[k - at : k] + own + text[k + len(word) : k - at + length] for k in starts]
    scores = np.zeros(0)
    if starts:
        scores = model.decision_function(Windows.from_strings(windows), organism)
    assert all(window[at:end] == own for window in windows)
    return np.array(starts, dtype=np.int64), model.log_odds_of(organism)(scores)


def _whole_contig(model, organism, codes, least):
    """Return the probabilities of sites, of introns and of exons."""
    found, layer = {}, model.layer_of(organism)
    for signal in model.signals_of(organism):
        own, columns = model.site_models[signal], []
        for strand in "+-":
            letters = codes if strand == "+" else reverse_complement(codes)
            scores = scanner_of(own, organism).scan_contig(letters)
            starts = np.arange(scores.size) + own.site.offset
            length = len(WORDS[signal][0])
            read = "".join("ACGTN"[code] for code in letters)
            is_word = np.array([read[at : at + length] in WORDS[signal] for at in starts], bool)
            starts = starts[is_word] if strand == "+" else codes.size - length - starts[is_word]
            log_odds = own.log_odds_of(organism)(scores[is_word].astype(float))
            numbers = np.zeros(starts.size, dtype=int)
            columns.append((starts, np.full(starts.size, strand == "-"), log_odds, numbers))
            for number, donors in enumerate(layer.donors if signal == "donor" else (), 1):
                starts, log_odds = read_as_own(own, organism, letters, donors.letters)
                starts = starts if strand == "+" else codes.size - length - starts
                is_reverse = np.full(starts.size, strand == "-")
                columns.append((starts, is_reverse, log_odds, np.full(starts.size, number)))
        *columns, numbers = map(np.concatenate, zip(*columns, strict=True))
        found[signal] = ends(*columns).adding(letters=numbers)
    alike = [edge.signal for edge in layer.edges if edge.signal not in found]
    found |= {signal: codons(codes, signal) for signal in alike}
    joined = join_ends(found, codes, layer.coding)
    posteriors = run_chain(joined, layer, least, least)
    columns = joined["signals"], joined.starts, joined.is_reverse, np.exp(posteriors.sites)
    sites = {
        ((*ENDS, *EDGES)[signal], start, "+-"[is_reverse]): p
        for signal, start, is_reverse, p in zip(*(c.tolist() for c in columns), strict=True)
        if (*ENDS, *EDGES)[signal] in model.site_models
    }
    listed = []
    for rows, values in (
        (posteriors.introns, posteriors.intron_values),
        (posteriors.exons, posteriors.exon_values),
    ):
        places, strands = joined["places"][rows].tolist(), joined.is_reverse[rows[:, 0]].tolist()
        keys = ((*pair, "+-"[strand]) for pair, strand in zip(places, strands, strict=True))
        listed.append(dict(zip(keys, np.exp(values), strict=True)))
    return sites, *listed
