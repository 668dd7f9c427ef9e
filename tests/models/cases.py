"""Windows and small trained models that several tests of this room share."""

import numpy as np

from seqmtl.files.model_file import read_arrays, write_arrays
from seqmtl.sequences import Windows


def motif_windows(n, names, length=12, at=4, seed=0):
    """Windows of organisms in turn; true ones have most letters of AGCC at a place."""
    rng = np.random.default_rng(seed)
    letters = rng.integers(0, 4, (n, length)).astype(np.uint8)
    labels = np.where(rng.random(n) < 0.4, 1, -1)
    hit = (labels > 0)[:, None] & (rng.random((n, 4)) < 0.6)
    letters[:, at : at + 4] = np.where(hit, [0, 2, 1, 1], letters[:, at : at + 4])
    return Windows(
        letters.ravel(),
        np.arange(n) * length,
        length,
        labels=labels,
        task_ids=np.arange(n) % len(names),
        task_names=names,
    )


def rewritten(path, to, without=(), **arrays):
    """Write a file again with arrays replaced, and without some keys; its checksum is right."""
    description, found = read_arrays(path)
    found = {name: np.array(array) for name, array in found.items()}
    kept = {key: value for key, value in description.items() if key not in without}
    write_arrays(to, kept, found | arrays)
    return to
