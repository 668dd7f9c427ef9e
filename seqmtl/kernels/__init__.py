"""Base kernels of numbers, and of sequences without explicit features."""

from seqmtl.kernels._base import BaseKernel, check_psd, check_symmetric
from seqmtl.kernels.definitions import make_kernel
from seqmtl.kernels.numeric import RBF, Linear, Polynomial, Precomputed
from seqmtl.kernels.strings import (
    GappedKmerKernel,
    SpectrumKernel,
    StringKernel,
    WeightedDegreeKernel,
)

__all__ = [
    "RBF",
    "BaseKernel",
    "GappedKmerKernel",
    "Linear",
    "Polynomial",
    "Precomputed",
    "SpectrumKernel",
    "StringKernel",
    "WeightedDegreeKernel",
    "check_psd",
    "check_symmetric",
    "make_kernel",
]
