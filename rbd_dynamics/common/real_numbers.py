# SPDX-License-Identifier: Apache-2.0
"""Numbers as users pass them, made plain floats, or refused: nothing is dropped, guessed or rounded to infinity."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: kinds of NumPy's numbers that are real: truth values, integers, floats
REAL = "biuf"


def real_array(value: Any, what: str) -> Array:
    """The float64 array of an array or nested lists of real numbers, finite or not; no copy where it is one.

    Raises ValueError that starts with `what`: for texts, complex numbers and objects, for masked entries, for lists of
    lists of different lengths, and for numbers that are too large for a float.
    """
    if type(value) is np.ndarray and value.dtype == np.float64:  # mostly it is one
        return value
    return np.asarray(plain_array(value, what), dtype=np.float64)


def all_finite(array: Array) -> bool:
    """Whether no number is NaN or infinite. The sum of squares mostly tells, in half of the time."""
    return math.isfinite(np.vdot(array, array)) or bool(np.isfinite(array).all())


def plain_array(value: Any, what: str) -> NDArray[Any]:
    """An array as `real_array` makes it, of whatever real type the numbers have."""
    masked = masked_index(value)
    if masked is not None:
        where = f" at {', '.join(map(str, masked))}" if masked else ""
        raise ValueError(f"{what}: an entry is masked{where}")
    try:
        # of a subclass only its numbers: a matrix, for one, has its own idea of shapes
        array = np.asarray(shared_array(value))
    except (TypeError, ValueError, OverflowError, RecursionError, BufferError, RuntimeError) as error:
        uneven = "inhomogeneous" in str(error)
        text = "expected numbers, in lists of the same length" if uneven else str(error)[:200]
        raise ValueError(f"{what}: {text}") from None
    if array.dtype.kind not in REAL:
        raise ValueError(f"{what}: expected numbers, not {_kind_of(value, array)}")
    if array.dtype.itemsize > 8:
        with np.errstate(over="ignore"):
            narrow = array.astype(np.float64)
        if not np.array_equal(np.isfinite(narrow), np.isfinite(array)):
            raise ValueError(f"{what}: a number is too large for a float")
        return narrow
    return array


def shared_array(value: Any) -> Any:
    """A tensor of another library as an array that shares its memory, by DLPack; all else as it is.

    Raises what the tensor raises: BufferError where it is on another device, or carries gradients.
    """
    if isinstance(value, np.ndarray) or not hasattr(value, "__dlpack__"):
        return value
    array = np.from_dlpack(value)
    if not array.flags.writeable and hasattr(value, "numpy"):  # PyTorch's older protocol does not say that it may be
        same = value.numpy()
        array = same if np.shares_memory(same, array) else array
    return array


def _may_be_masked(value: Any) -> bool:
    """Whether it is a masked array; there is none before numpy.ma is imported, which takes its time."""
    return "numpy.ma" in sys.modules and isinstance(value, np.ma.MaskedArray)


def masked_index(value: Any) -> tuple[int, ...] | None:
    """Index of the first masked entry of an array, or of one in nested lists; None without any."""
    if _may_be_masked(value):
        found = np.argwhere(np.ma.getmaskarray(value))
        return tuple(int(k) for k in found[0]) if len(found) else None
    if isinstance(value, (list, tuple)):
        for k, entry in enumerate(value):
            if isinstance(entry, (list, tuple)) or _may_be_masked(entry):
                inner = masked_index(entry)
                if inner is not None:
                    return (k, *inner)
    return None


def transposed_hint(shape: tuple[int, ...], size: int) -> str:
    """Hint for the end of an error where the shape is (n, samples) and (samples, n) is expected; else empty."""
    return "; samples are rows: give its transpose" if len(shape) == 2 and shape[0] == size != shape[1] else ""


def real_number(value: Any) -> float:
    """A float, finite or not, of a number or of a text that holds one (YAML takes 1e-3 for a text).

    Raises ValueError for what is none, is masked or complex, or is too large.
    """
    if isinstance(value, (complex, np.complexfloating)) or _may_be_masked(value):
        raise ValueError("is not a real number")
    if isinstance(value, (bytes, bytearray)):
        raise ValueError("is not a number")
    if isinstance(value, np.ndarray) and (value.ndim > 0 or value.dtype.kind not in REAL):
        raise ValueError("is not a number")
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError("is not a number") from None
    except OverflowError:
        raise ValueError("is too large") from None
    if math.isinf(number) and isinstance(value, np.longdouble) and np.isfinite(value):
        raise ValueError("is too large")
    return number


def real_numbers(value: Any) -> tuple[float, ...]:
    """`real_number` of each entry of a list, a tuple or an array of one axis. Raises ValueError."""
    if _may_be_masked(value) and np.ma.is_masked(value):
        raise ValueError("has a masked entry")
    if isinstance(value, np.ndarray):
        if value.ndim != 1:
            raise ValueError(f"has shape {value.shape}")
        value = np.asarray(value).tolist() if value.dtype.kind in "biuf" and value.dtype.itemsize <= 8 else list(value)
    if isinstance(value, (str, bytes, bytearray)) or not isinstance(value, Sequence):
        raise ValueError("is not made of numbers")
    try:
        return tuple(map(real_number, value))
    except ValueError as error:
        raise ValueError(
            "is not made of numbers" if "too large" not in str(error) else "has a number too large"
        ) from None


def _kind_of(value: Any, array: NDArray[Any]) -> str:
    if isinstance(value, Mapping):
        return f"a mapping ({type(value).__name__}): values by name have to be put in the order of their names first"
    if array.ndim == 0 and array.dtype.kind == "O":
        return type(value).__name__
    return {"O": "objects", "U": "text", "S": "bytes", "c": "complex ones"}.get(array.dtype.kind, str(array.dtype))
