"""Kernels of Triton with arguments and what NumPy expects: what the guest's tests run."""

from __future__ import annotations

import zlib
from typing import Any, Callable, NamedTuple

import numpy


class Case(NamedTuple):
    """A kernel with one launch. `arguments(random)` makes them by name, `expected(arguments)` gives the outputs that NumPy
    computes: an array, and the largest error, relative to the largest element, that is allowed; 0 for equal bits."""

    name: str
    kernel: Any
    types: dict[str, str]
    constants: dict[str, Any]
    grid: tuple[int, ...]
    arguments: Callable[[numpy.random.Generator], dict[str, Any]]
    expected: Callable[[dict[str, Any]], dict[str, tuple[Any, float]]]
    options: dict[str, Any]
    targets: tuple[str, ...]

    def make_arguments(self) -> dict[str, Any]:
        return self.arguments(numpy.random.default_rng(zlib.crc32(self.name.encode())))


CASES: dict[str, Case] = {}


def case(name: str, kernel: Any, types: str, constants: dict[str, Any], grid: tuple[int, ...],
         arguments: Callable[[numpy.random.Generator], dict[str, Any]],
         expected: Callable[[dict[str, Any]], dict[str, tuple[Any, float]]], targets: tuple[str, ...] = ("sm_80", "sm_90"),
         **options: Any) -> None:
    """Adds a case; `types` is a text such as "x:*fp32 y:*fp32 n:i32"."""
    pairs = dict(each.split(":", 1) for each in types.split())
    CASES[name] = Case(name, kernel, pairs, constants, grid, arguments, expected, options, targets)


def wrong(case_: Case, arguments: dict[str, Any], outputs: dict[str, Any]) -> str:
    """What differs from NumPy; empty if nothing does."""
    for name, (wanted, bound) in case_.expected(arguments).items():
        got, wanted = numpy.asarray(outputs[name]), numpy.asarray(wanted).reshape(-1)
        got = got.reshape(-1)[:wanted.size]
        if bound == 0:
            if not numpy.array_equal(got, wanted.astype(got.dtype), equal_nan=got.dtype.kind == "f"):
                count = int((got != wanted.astype(got.dtype)).sum())
                return f"`{name}`: {count} of {wanted.size} differ"
            continue
        a, b = got.astype(numpy.float64), wanted.astype(numpy.float64)
        finite = numpy.isfinite(b)
        scale = max(float(numpy.abs(b[finite]).max(initial=0)), 1e-30)
        error = float(numpy.abs(a - b)[finite].max(initial=0)) / scale
        if not error <= bound or not numpy.array_equal(a[~finite], b[~finite], equal_nan=True):
            return f"`{name}`: error {error:.2e}, more than {bound:.0e}"
    return ""


def load_all() -> dict[str, Case]:
    """Every case; ImportError without Triton."""
    import programs  # noqa: F401
    import products  # noqa: F401
    import rows  # noqa: F401
    import elements  # noqa: F401
    import atomic  # noqa: F401
    import hopper  # noqa: F401

    return CASES
