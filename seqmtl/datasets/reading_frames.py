"""Decide which transcripts of BED12 are coding, by their letters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from seqmtl.io.transcripts import Annotation, Transcript, UncertainRegion
from seqmtl.sequences.alphabet import encode
from seqmtl.sequences.genome import Genome

_START = encode("ATG")
_STOPS = np.array([encode(codon) for codon in ("TAA", "TAG", "TGA")])
_CODON = 3


def decide_coding(annotation: Annotation, genome: Genome) -> Annotation:
    """Return the annotation without coding sequences that are not reading frames.

    A thick part of BED12 that is the whole row is a coding sequence if it begins with ATG, ends
    with a stop codon and has no other one in its frame. Otherwise the row has none; its first and
    its last codon are uncertain.

    Parameters
    ----------
    annotation : Annotation
        Transcripts.
    genome : Genome
        The genome, with the names of its contigs in the annotation.
    """
    if all(transcript.is_cds_certain for transcript in annotation.transcripts):
        return annotation
    contig_indices = genome.indices([transcript.contig for transcript in annotation.transcripts])
    transcripts = []
    uncertain = list(annotation.uncertain)
    for transcript, number in zip(annotation.transcripts, contig_indices.tolist(), strict=True):
        if transcript.is_cds_certain:
            transcripts.append(transcript)
        elif number >= 0 and _is_frame(transcript, genome, number):
            transcripts.append(replace(transcript, is_cds_certain=True))
        else:
            transcripts.append(replace(transcript, cds=(), is_cds_certain=True))
            region = UncertainRegion(transcript.contig, transcript.is_reverse, cds=transcript.cds)
            uncertain.append(region)
    return replace(annotation, transcripts=transcripts, uncertain=uncertain)


def _is_frame(transcript: Transcript, genome: Genome, number: int) -> bool:
    """Return whether the coding sequence is one reading frame from start to stop."""
    if transcript.end > genome.lengths[number]:
        return False
    first = int(genome.starts[number])
    codes = np.concatenate([genome.codes[first + a : first + b] for a, b in transcript.cds])
    if codes.size % _CODON or codes.size < 2 * _CODON:
        return False
    if transcript.is_reverse:
        codes = np.where(codes < 4, 3 - codes.astype(np.int8), codes)[::-1]
    codons = codes.reshape(-1, _CODON)
    is_stop = (codons[:, np.newaxis] == _STOPS).all(axis=2).any(axis=1)
    return bool((codons[0] == _START).all() and is_stop[-1] and not is_stop[:-1].any())
