"""Compiled loops that write columns as lines of text into a byte buffer."""

import numpy as np

from seqmtl._jit import njit

_POINT, _ZERO, _MINUS = 46, 48, 45

NUMBER_BYTES = 28  # maximum, with sign and decimal point
END, LETTERS, INTEGER, DECIMAL, PROBABILITY, TEXT = range(6)  # kinds of fields


@njit
def write_integer(buffer, p, value, n_digits):
    """Write value >= 0 with at least n_digits digits at p; return the next position.

    Unsigned numbers spare numba the check for negative ones, here and below.
    """
    u = np.uint64
    size = 1
    bound = 10
    while size < n_digits or (size < 19 and value >= bound):
        bound *= 10
        size += 1
    remaining, end = u(value), u(p + size - 1)
    for k in range(u(size)):
        tenth = remaining // u(10)
        buffer[end - k] = u(_ZERO) + remaining - u(10) * tenth
        remaining = tenth
    return p + size


@njit
def write_decimal(buffer, p, value, n_decimals):
    """Write a number with n_decimals >= 1 decimals; zero has no minus sign."""
    power = 10**n_decimals
    scaled = np.int64(np.rint(abs(value) * power))
    if value < 0 and scaled > 0:
        buffer[p] = _MINUS
        p += 1
    integer_part = scaled // power
    p = write_integer(buffer, p, integer_part, 1)
    buffer[p] = _POINT
    return write_integer(buffer, p + 1, scaled - integer_part * power, n_decimals)


@njit
def write_probability(buffer, p, value, n_decimals):
    """Write a probability, with more decimals if it or its complement is small (3 digits of it)."""
    smaller = min(value, 1.0 - value)
    while n_decimals < 12 and smaller * 10 ** (n_decimals - 2) < 1.0:
        n_decimals += 1
    return write_decimal(buffer, p, value, n_decimals)


@njit
def write_lines(fields, texts, ends, letters, integers, real, buffer):
    """Write a line for each row of the columns; return the number of bytes.

    Each row of `fields` is the position and the size of a piece of `texts`, the same in all
    lines, and the kind, the index and the size of the field after it. LETTERS are `size` columns of
    `letters` from the index on; INTEGER is a column of `integers`; DECIMAL and PROBABILITY are
    columns of `real`, written with `size` decimals. TEXT is a column of `integers`, the numbers of
    further pieces of `texts`: piece n begins at ends[n] and ends at ends[n + 1].
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
            elif kind == INTEGER:
                value = integers[i, index]
                if value < 0:
                    buffer[p] = _MINUS
                    p += 1
                p = write_integer(buffer, p, abs(value), 1)
            elif kind == TEXT:
                number = u(integers[i, index])
                begin = u(ends[number])
                n = ends[number + u(1)] - ends[number]
                for k in range(u(n)):
                    buffer[u(p) + k] = texts[begin + k]
                p += n
            elif kind == DECIMAL:
                p = write_decimal(buffer, p, real[i, index], size)
            elif kind == PROBABILITY:
                p = write_probability(buffer, p, real[i, index], size)
    return p
