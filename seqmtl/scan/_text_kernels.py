"""Compiled loops that write numbers as text, one line per site, into a byte buffer."""

import numpy as np

from seqmtl._jit import njit

_TAB, _NEWLINE, _POINT, _ZERO, _COLON, _PLUS, _MINUS = 9, 10, 46, 48, 58, 43, 45
_LETTERS = np.frombuffer(b"ACGTN", dtype=np.uint8)

NUMBER_BYTES = 28  # maximum, with sign, decimal point and the separator that follows


@njit
def put_integer(buffer, p, value, n_digits):
    """Write value >= 0 with at least n_digits digits at p; return the next position."""
    size = 1
    bound = 10
    while size < n_digits or (size < 19 and value >= bound):
        bound *= 10
        size += 1
    for k in range(p + size - 1, p - 1, -1):
        tenth = value // 10
        buffer[k] = _ZERO + value - 10 * tenth
        value = tenth
    return p + size


@njit
def put_decimal(buffer, p, value, n_decimals):
    """Write a number with n_decimals >= 1 decimals; zero has no minus sign."""
    power = 10**n_decimals
    scaled = np.int64(np.rint(abs(value) * power))
    if value < 0 and scaled > 0:
        buffer[p] = _MINUS
        p += 1
    whole = scaled // power
    p = put_integer(buffer, p, whole, 1)
    buffer[p] = _POINT
    return put_integer(buffer, p + 1, scaled - whole * power, n_decimals)


@njit
def put_probability(buffer, p, value, n_decimals):
    """Write a probability, with more decimals if it or its complement is small (3 digits of it)."""
    rest = min(value, 1.0 - value)
    while n_decimals < 12 and rest * 10 ** (n_decimals - 2) < 1.0:
        n_decimals += 1
    return put_decimal(buffer, p, value, n_decimals)


@njit
def put_start(buffer, p, contig, start, end):
    """Write contig, start and end, a tab after each."""
    for k in range(contig.size):
        buffer[p + k] = contig[k]
    p += contig.size
    buffer[p] = _TAB
    p = put_integer(buffer, p + 1, start, 1)
    buffer[p] = _TAB
    p = put_integer(buffer, p + 1, end, 1)
    buffer[p] = _TAB
    return p + 1


@njit
def bedgraph_lines(contig, starts, ends, values, n_decimals, is_probability, buffer):
    """Write ``contig start end value`` lines; return the number of bytes."""
    p = 0
    for i in range(starts.size):
        p = put_start(buffer, p, contig, starts[i], ends[i])
        if is_probability:
            p = put_probability(buffer, p, np.float64(values[i]), n_decimals + 1)
        else:
            p = put_decimal(buffer, p, np.float64(values[i]), n_decimals)
        buffer[p] = _NEWLINE
        p += 1
    return p


@njit
def put_text(buffer, p, text):
    """Write bytes; return the next position."""
    for k in range(text.size):
        buffer[p + k] = text[k]
    return p + text.size


@njit
def put_letters(buffer, p, codes, start, length, is_reverse):
    """Write the letters at start of codes in reading direction."""
    for k in range(length):
        if is_reverse:
            code = codes[start + length - 1 - k]
            buffer[p + k] = _LETTERS[3 - code if code < 4 else 4]
        else:
            buffer[p + k] = _LETTERS[codes[start + k]]
    return p + length


@njit
def bed_lines(piece, site_length, sites, heights, probabilities, n_decimals, buffer):
    """Write BED6 lines with the score, and the probability if there is one; return the bytes.

    `piece` is (contig, start, codes), `sites` is (starts, scores, is_reverse); the name is the
    site's letters in reading direction.
    """
    contig, origin, codes = piece
    starts, scores, is_reverse = sites
    p = 0
    for i in range(starts.size):
        start = starts[i]
        p = put_start(buffer, p, contig, start, start + site_length)
        p = put_letters(buffer, p, codes, start - origin, site_length, is_reverse[i])
        buffer[p] = _TAB
        p = put_integer(buffer, p + 1, heights[i], 1)
        buffer[p] = _TAB
        buffer[p + 1] = _MINUS if is_reverse[i] else _PLUS
        buffer[p + 2] = _TAB
        p = put_decimal(buffer, p + 3, np.float64(scores[i]), n_decimals)
        if probabilities.size > 0:
            buffer[p] = _TAB
            p = put_probability(buffer, p + 1, probabilities[i], n_decimals + 1)
        buffer[p] = _NEWLINE
        p += 1
    return p


@njit
def gff_lines(piece, site_length, sites, probabilities, n_decimals, words, buffer):
    """Write GFF3 lines; the score is the probability if there is one; return the bytes.

    `piece` and `sites` are as in bed_lines. `words` holds the constant text between contig and
    start, between strand and ID, and before score, probability and letters.
    """
    contig, origin, codes = piece
    starts, scores, is_reverse = sites
    kind, word_id, word_score, word_probability, word_letters = words
    p = 0
    for i in range(starts.size):
        start = starts[i]
        strand = _MINUS if is_reverse[i] else _PLUS
        p = put_text(buffer, p, contig)
        p = put_text(buffer, p, kind)
        p = put_integer(buffer, p, start + 1, 1)
        buffer[p] = _TAB
        p = put_integer(buffer, p + 1, start + site_length, 1)
        buffer[p] = _TAB
        p += 1
        if probabilities.size > 0:
            p = put_probability(buffer, p, probabilities[i], n_decimals + 1)
        else:
            buffer[p] = _POINT
            p += 1
        buffer[p] = _TAB
        buffer[p + 1] = strand
        p = put_text(buffer, p + 2, word_id)
        p = put_text(buffer, p, contig)
        buffer[p] = _COLON
        p = put_integer(buffer, p + 1, start + 1, 1)
        buffer[p] = _COLON
        buffer[p + 1] = strand
        p = put_text(buffer, p + 2, word_score)
        p = put_decimal(buffer, p, np.float64(scores[i]), n_decimals)
        if probabilities.size > 0:
            p = put_text(buffer, p, word_probability)
            p = put_probability(buffer, p, probabilities[i], n_decimals + 1)
        p = put_text(buffer, p, word_letters)
        p = put_letters(buffer, p, codes, start - origin, site_length, is_reverse[i])
        buffer[p] = _NEWLINE
        p += 1
    return p


@njit
def junction_lines(contig, places, scores, is_reverse, letter, buffer):
    """Write ``contig offset strand letter score`` lines; return the bytes."""
    p = 0
    for i in range(places.size):
        p = put_text(buffer, p, contig)
        buffer[p] = _TAB
        p = put_integer(buffer, p + 1, places[i], 1)
        buffer[p] = _TAB
        buffer[p + 1] = _MINUS if is_reverse[i] else _PLUS
        buffer[p + 2] = _TAB
        buffer[p + 3] = letter
        buffer[p + 4] = _TAB
        p += 5
        if scores[i] < 0:
            buffer[p] = _MINUS
            p += 1
        p = put_integer(buffer, p, abs(scores[i]), 1)
        buffer[p] = _NEWLINE
        p += 1
    return p
