"""Deflate (RFC 1951) of numbers, in a zlib stream (RFC 1950), several times as fast as zlib.

Numbers that are all different have nothing that repeats, so looking for matches only costs time.
What can be known to repeat is the upper bytes of rising integers at a fixed distance.
"""

import numpy as np

from seqmtl._jit import njit

END, REPEAT = 256, 257  # the symbols behind the last byte, and of three bytes that repeat
PERIOD = 8  # bytes between what repeats
LONGEST = 14  # bits of a code, so that two fit into 32 even with the distance of a repeat
_HEAD_BYTES = 160  # at most, of both headers


@njit
def find_lengths(counts, lengths):
    """Find the lengths of a Huffman code, of at most LONGEST bits; two symbols at least count."""
    counts = counts.copy()
    longest = LONGEST + 1
    while longest > LONGEST:
        keys = np.sort(counts * counts.size + np.arange(counts.size))
        keys = keys[keys >= counts.size]
        n = keys.size
        weight = np.empty(2 * n - 1, np.int64)
        parent = np.zeros(2 * n - 1, np.int64)
        weight[:n] = keys // counts.size
        leaf, node = 0, n
        for k in range(n, 2 * n - 1):  # join the two lightest that have no parent
            weight[k] = 0
            for _ in range(2):
                if leaf < n and (node >= k or weight[leaf] <= weight[node]):
                    lightest = leaf
                    leaf += 1
                else:
                    lightest = node
                    node += 1
                weight[k] += weight[lightest]
                parent[lightest] = k
        depth = np.zeros(2 * n - 1, np.int64)
        for k in range(2 * n - 3, -1, -1):
            depth[k] = depth[parent[k]] + 1
        longest = depth.max()
        lengths[:] = 0
        for k in range(n):
            lengths[keys[k] % counts.size] = depth[k]
        counts = (counts + 1) // 2  # if that was too deep, let them be more alike


@njit
def assign_codes(lengths, codes):
    """Write each symbol's canonical code, first bit lowest, and its length from bit 20 on."""
    code = 0
    for length in range(1, LONGEST + 1):
        for symbol in range(lengths.size):
            if lengths[symbol] == length:
                turned = 0
                for bit in range(length):
                    turned |= ((code >> bit) & 1) << (length - 1 - bit)
                codes[symbol] = turned | (length << 20)
                code += 1
        code <<= 1


@njit
def put_bits(words, state, bits, n_bits):
    """Append up to 32 bits; state is (word, bits held, how many)."""
    word, held, n_held = state
    held |= np.uint64(bits) << np.uint64(n_held)
    n_held += n_bits
    words[word] = np.uint32(held & np.uint64(0xFFFFFFFF))
    n_full = n_held >> 5
    return word + n_full, held >> np.uint64(32 * n_full), n_held - 32 * n_full


@njit
def find_symbols(data, has_repeats, symbols, counts):
    """Turn bytes into symbols, count them, and return how many there are."""
    if not has_repeats:
        for i in range(data.size):
            symbols[i] = data[i]
            counts[data[i]] += 1
        return data.size
    n = i = 0
    while i < data.size:
        symbol = np.int64(data[i])
        i += 1
        if (
            PERIOD < i < data.size - 1
            and data[i] == data[i - PERIOD]
            and data[i + 1] == data[i + 1 - PERIOD]
            and symbol == data[i - 1 - PERIOD]
        ):
            symbol = REPEAT
            i += 2
        symbols[n] = symbol
        counts[symbol] += 1
        n += 1
    return n


@njit
def pack_bytes(data, has_repeats, words):
    """Write the zlib stream of bytes (one at least) but its checksum; return its size in bytes.

    `words` holds as many little-endian uint32 as :func:`most_words` says. With `has_repeats`, three
    bytes that equal those PERIOD bytes before are written as one symbol.
    """
    counts = np.zeros(REPEAT + 1, np.int64)
    symbols = np.empty(data.size, np.int16)
    n = find_symbols(data, has_repeats, symbols, counts)
    counts[END] = 1
    lengths = np.zeros(REPEAT + 1, np.int64)
    codes = np.zeros(REPEAT + 1, np.int64)
    find_lengths(counts, lengths)
    assign_codes(lengths, codes)
    codes[REPEAT] += (2 << (codes[REPEAT] >> 20)) + (2 << 20)  # the distance: code 5, upper half
    state = put_bits(words, (0, np.uint64(0), 0), 0x0178, 16)  # zlib, fastest
    state = put_bits(words, state, 5 | 1 << 3 | 5 << 8 | 15 << 13, 17)  # 258 + 6 lengths, by 19
    for k in range(19):  # lengths stand in four bits each, 16 to 18 (repeats) are not used
        state = put_bits(words, state, 4 if k > 2 else 0, 3)
    for k in range(REPEAT + 7):  # codes 0 to 4 of distances are not used, 5 has one bit
        length = lengths[k] if k <= REPEAT else np.int64(k == REPEAT + 6)
        turned = (length & 1) << 3 | (length & 2) << 1 | (length & 4) >> 1 | (length & 8) >> 3
        state = put_bits(words, state, turned, 4)
    for i in range(0, n - 1, 2):
        first, second = codes[symbols[i]], codes[symbols[i + 1]]
        n_first = first >> 20
        bits = (first & 0xFFFFF) | (second & 0xFFFFF) << n_first
        state = put_bits(words, state, bits, n_first + (second >> 20))
    if n % 2:
        state = put_bits(words, state, codes[symbols[n - 1]] & 0xFFFFF, codes[symbols[n - 1]] >> 20)
    state = put_bits(words, state, codes[END] & 0xFFFFF, codes[END] >> 20)
    state = put_bits(words, state, 0, -state[2] & 7)
    return 4 * state[0] + (state[2] >> 3)


@njit
def most_words(n_bytes):
    """Return how many uint32 the stream of so many bytes may take."""
    return (_HEAD_BYTES + 2 * n_bytes) // 4 + 2
