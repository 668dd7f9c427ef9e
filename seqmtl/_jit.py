"""The only interface to numba: a cached, GIL-free ``njit`` and a cache-line prefetch.

Modules of compiled loops import only numpy and this file. Numba's on-disk cache watches only the
module's own file, so it cannot become outdated through another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

try:
    import numba
except ValueError as error:  # numba reads its environment variables
    raise ImportError(
        f"numba cannot start: {error} Correct or unset its variables, such as NUMBA_NUM_THREADS"
    ) from error
from llvmlite import ir
from numba import types
from numba.core import config
from numba.core.caching import FunctionCache
from numba.core.runtime import rtsys
from numba.extending import intrinsic


class _KernelCache(FunctionCache):
    """Numba's cache, which loads machine code without what numba needs for compilation.

    Numba prepares for compilation before it looks into the cache, which takes longer than
    importing numba (it imports SciPy for its BLAS). If a function is not in the cache, the compiler
    prepares itself. Cached functions need only the runtime that counts references.

    What cannot be read is compiled again: files cut by a killed job or a full disk, those of
    another user, and those of a version with other modules and classes.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        rtsys.initialize(target_context)
        with _without_damage():
            return self._load_overload(sig, target_context)
        with _without_damage():
            self.flush()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with _without_damage():  # also of a full disk
            super().save_overload(sig, data)


@contextmanager
def _without_damage() -> Iterator[None]:
    """Leave the block at any error that a damaged file may cause: pickles have no list of them."""
    try:
        yield
    except MemoryError:
        raise
    except Exception:
        return


def njit(function: Callable[..., Any]) -> Any:
    """Compile a loop without the GIL, and cache the machine code on disk.

    If no cache folder is writable (a read-only install without a home folder), the function is
    compiled in memory instead of failing at import.
    """
    kernel = numba.njit(nogil=True, error_model="numpy")(function)
    if not config.DISABLE_JIT:
        with suppress(RuntimeError):  # "cannot cache function: no locator available"
            kernel._cache = _KernelCache(function)
    return kernel


@intrinsic
def _prefetch_compiled(typingctx, array, index):  # type: ignore[no-untyped-def]
    signature = types.void(array, index)

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        byte_pointer = ir.IntType(8).as_pointer()
        address = builder.bitcast(builder.gep(data, [args[1]]), byte_pointer)
        word = ir.IntType(32)
        function = builder.module.declare_intrinsic(
            "llvm.prefetch",
            [byte_pointer],
            ir.FunctionType(ir.VoidType(), [byte_pointer] + [word] * 3),
        )
        builder.call(function, [address, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def _popcount_compiled(typingctx, word):  # type: ignore[no-untyped-def]
    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen


def _make_add_scaled(width: int) -> Any:
    """Compile ``target[i:i+width] += factor * pattern[j:j+width]`` to vector instructions.

    LLVM does not vectorise short loops over arrays that may overlap.
    """

    @intrinsic
    def add_scaled(typingctx, target, i, pattern, j, factor):  # type: ignore[no-untyped-def]
        signature = types.void(target, i, pattern, j, target.dtype)

        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            element = context.get_value_type(signature.args[0].dtype)
            vector = ir.VectorType(element, width)
            align = context.get_abi_sizeof(element)

            def address(array_type, array, index):  # type: ignore[no-untyped-def]
                data = context.make_array(array_type)(context, builder, array).data
                return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())

            where = address(signature.args[0], args[0], args[1])
            values = builder.load(address(signature.args[2], args[2], args[3]), align=align)
            factors = ir.Constant(vector, ir.Undefined)
            for k in range(width):
                factors = builder.insert_element(factors, args[4], ir.IntType(32)(k))
            total = builder.fadd(builder.load(where, align=align), builder.fmul(values, factors))
            builder.store(total, where, align=align)
            return context.get_dummy_value()

        return signature, codegen

    def interpreted(target: Any, i: int, pattern: Any, j: int, factor: Any) -> None:
        target[i : i + width] += factor * pattern[j : j + width]

    return interpreted if config.DISABLE_JIT else add_scaled


#: ``add_scaled_4(target, i, pattern, j, factor)``: ``target[i:i+4] += factor * pattern[j:j+4]``.
add_scaled_4 = _make_add_scaled(4)
#: The same for 16 numbers.
add_scaled_16 = _make_add_scaled(16)


@intrinsic
def _add_rows_compiled(typingctx, target, i, table, j0, j1, j2, j3):  # type: ignore[no-untyped-def]
    signature = types.void(target, i, table, j0, j1, j2, j3)

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        vector = ir.VectorType(ir.IntType(32), 16)

        def address(k, index):  # type: ignore[no-untyped-def]
            data = context.make_array(signature.args[k])(context, builder, args[k]).data
            return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())

        total = builder.load(address(0, args[1]), align=4)
        for index in args[3:]:
            total = builder.add(total, builder.load(address(2, index), align=4))
        builder.store(total, address(0, args[1]), align=4)
        return context.get_dummy_value()

    return signature, codegen


def _add_rows_interpreted(target: Any, i: int, table: Any, *begins: int) -> None:
    """Add the rows one by one."""
    for j in begins:
        target[i : i + 16] += table[j : j + 16]


#: ``add_rows_16(target, i, table, j0, j1, j2, j3)``: add 16 int32 of a flat table from each of four
#: positions to those of ``target`` from i on.
add_rows_16 = _add_rows_interpreted if config.DISABLE_JIT else _add_rows_compiled


def _prefetch_interpreted(array: Any, index: int) -> None:
    """Replace the prefetch when loops run as plain Python (NUMBA_DISABLE_JIT=1)."""


def _popcount_interpreted(word: Any) -> int:
    """Count the set bits of one word."""
    return int(word).bit_count()


#: ``popcount(uint64)``: number of set bits.
popcount = _popcount_interpreted if config.DISABLE_JIT else _popcount_compiled

#: ``prefetch(flat_array, index)``: request the cache line of ``flat_array[index]`` early.
prefetch = _prefetch_interpreted if config.DISABLE_JIT else _prefetch_compiled
