"""Kernels of inner products between the virtual weights of tasks, one position at a time."""

import numpy as np

from seqmtl._jit import njit


@njit
def scatter_tasks(codes, starts, is_reverse, length, l, rows, amount, tasks, last, levels, tables):
    """Add amount[i] to table[., tasks[i]] at the longest clean d-mer that starts at l.

    Walked from the last position to the first: last holds, for every window, the code of the
    degree letters from l + 1 on and how many of them come before the first N.
    """
    table, is_used = tables
    code, clean = last
    degree = levels.size
    top = 2 * (degree - 1)
    for r in range(rows.size):
        i = rows[r]
        letter = codes[starts[i] + length - 1 - l] if is_reverse[i] else codes[starts[i] + l]
        if letter > 3:
            clean[r] = 0
            continue
        letter = 3 - letter if is_reverse[i] else letter
        c = (code[r] >> 2) | (np.int64(letter) << top)
        depth = min(clean[r] + 1, degree)
        code[r] = c
        clean[r] = depth
        slot = levels[depth - 1] + (c >> (2 * (degree - depth)))
        table[slot, tasks[i]] += amount[i]
        is_used[slot] = True


@njit
def add_energies(tables, beta, levels, depth, S):
    """Add to S[s, t], s <= t, the inner products of the columns of the table, prefixes included.

    tables holds what scatter_tasks gathered at one position; it is left empty.
    """
    table, is_used = tables
    T = table.shape[1]
    for k in range(depth - 1, -1, -1):
        for code in range(np.int64(4) << (2 * k)):
            slot = levels[k] + code
            if not is_used[slot]:
                continue
            is_used[slot] = False
            if k > 0:
                above = levels[k - 1] + (code >> 2)
                is_used[above] = True
            for t in range(T):
                total = table[slot, t]
                if total == 0.0:
                    continue
                if k > 0:
                    table[above, t] += total
                for s in range(t + 1):
                    S[s, t] += beta[k] * table[slot, s] * total
            table[slot] = 0.0
