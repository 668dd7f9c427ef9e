"""Compiled loops that write columns as lines of text into a byte buffer."""

import numpy as np

from seqmtl._jit import njit

_POINT, _ZERO, _MINUS = 46, 48, 45

NUMBER_BYTES = 28  # maximum, with sign and decimal point
NOTHING, LETTERS, WHOLE, DECIMAL, SHARE, WORD = range(6)  # kinds of fields


@njit
def put_integer(buffer, p, value, n_digits):
    """Write value >= 0 with at least n_digits digits at p; return the next position.

    Unsigned numbers spare numba the check for negative ones, here and below.
    """
    u = np.uint64
    size = 1
    bound = 10
    while size < n_digits or (size < 19 and value >= bound):
        bound *= 10
        size += 1
    left, end = u(value), u(p + size - 1)
    for k in range(u(size)):
        tenth = left // u(10)
        buffer[end - k] = u(_ZERO) + left - u(10) * tenth
        left = tenth
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
    smaller = min(value, 1.0 - value)
    while n_decimals < 12 and smaller * 10 ** (n_decimals - 2) < 1.0:
        n_decimals += 1
    return put_decimal(buffer, p, value, n_decimals)


@njit
def write_lines(fields, texts, ends, letters, whole, real, buffer):
    """Write a line for each row of the columns; return the number of bytes.

    Each row of `fields` is the position and the size of a piece of `texts`, the same in all
    lines, and the kind, the index and the size of what follows it: LETTERS are those of the row of
    `letters`, WHOLE is a column of `whole`. DECIMAL and SHARE, a probability, are columns of `real`
    with as many decimals. WORD is a column of `whole` with the numbers of further texts, which end
    at ends[1:] and begin where the one before ends.
    """
    u = np.uint64
    p = 0
    for i in range(u(letters.shape[0])):
        for f in range(u(fields.shape[0])):
            begin_of_text, n = u(fields[f, u(0)]), fields[f, u(1)]
            for k in range(u(n)):
                buffer[u(p) + k] = texts[begin_of_text + k]
            p += n
            kind, index, size = fields[f, u(2)], u(fields[f, u(3)]), fields[f, u(4)]
            if kind == LETTERS:
                for k in range(u(size)):
                    buffer[u(p) + k] = letters[i, index + k]
                p += size
            elif kind == WHOLE:
                value = whole[i, index]
                if value < 0:
                    buffer[p] = _MINUS
                    p += 1
                p = put_integer(buffer, p, abs(value), 1)
            elif kind == WORD:
                number = u(whole[i, index])
                begin = u(ends[number])
                n = ends[number + u(1)] - ends[number]
                for k in range(u(n)):
                    buffer[u(p) + k] = texts[begin + k]
                p += n
            elif kind == DECIMAL:
                p = put_decimal(buffer, p, real[i, index], size)
            elif kind == SHARE:
                p = put_probability(buffer, p, real[i, index], size)
    return p
