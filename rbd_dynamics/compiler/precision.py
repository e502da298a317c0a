# SPDX-License-Identifier: Apache-2.0
"""Double and single precision: names in LLVM IR, and the numbers of branch-free sine and cosine.

x is reduced to x - n pi/2 by Cody and Waite: pi/2 in three parts, so short that n times the first two is exact up to
the largest angle. Then come minimax polynomials on [-pi/4, pi/4]: those of fdlibm, and of Cephes in single precision.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np


class Precision(NamedTuple):
    """scalar, integer, suffix: in LLVM IR. angle_limit: rad; beyond it the reduction loses accuracy.

    rounding: adding and subtracting it rounds to an integer. sine and cosine: the highest power comes first.
    """

    scalar: str
    integer: str
    suffix: str
    bits: int
    angle_limit: float
    rounding: float
    pi_by_2: tuple[float, float, float]
    sine: tuple[float, ...]
    cosine: tuple[float, ...]

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """NumPy's."""
        return np.dtype(f"f{self.bits // 8}")

    def rounded(self, value: float) -> float:
        """The nearest number of this precision; infinite where it has none that large."""
        if self is DOUBLE or value != value:
            return value
        try:
            return float(struct.unpack("<f", struct.pack("<f", value))[0])
        except OverflowError:
            return float("inf") if value > 0 else float("-inf")


TWO_BY_PI = 0.63661977236758134308

DOUBLE = Precision(
    scalar="double",
    integer="i64",
    suffix="f64",
    bits=64,
    angle_limit=1.0e6,
    rounding=6755399441055744.0,  # 1.5 * 2^52
    pi_by_2=(1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21),
    sine=(
        1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
        -1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01,
    ),
    cosine=(
        -1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
        2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02,
    ),
)  # fmt: skip

SINGLE = Precision(
    scalar="float",
    integer="i32",
    suffix="f32",
    bits=32,
    angle_limit=4096.0,
    rounding=12582912.0,  # 1.5 * 2^23
    pi_by_2=(1.5703125, 4.837512969970703125e-4, 7.54978995489188216e-8),
    sine=(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1),
    cosine=(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2),
)
