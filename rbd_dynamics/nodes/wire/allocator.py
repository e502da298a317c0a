# SPDX-License-Identifier: Apache-2.0
"""Memory that a large message took is given back to the system, so that a node stays as large as its robot needs.

glibc by itself keeps it: each thread has a heap of its own, and what is freed in the middle of one stays; and a block
that was too large for a heap makes it put blocks of that size into heaps from then on.
"""

from __future__ import annotations

import ctypes

#: mallopt's numbers (malloc.h)
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
ARENAS = 2  # heaps, one for the thread of the torques in all likelihood
LARGE = 1 << 17  # bytes: blocks that are the system's again when they are freed
SPARE = 1 << 19  # bytes that the end of a heap may keep


def give_back() -> bool:
    """Give freed memory back from now on; before threads begin. False where the C library is not glibc."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
        ctypes.CDLL(None).gnu_get_libc_version  # noqa: B018
    except (OSError, AttributeError):
        return False
    settings = ((M_ARENA_MAX, ARENAS), (M_MMAP_THRESHOLD, LARGE), (M_TRIM_THRESHOLD, SPARE))
    done = [mallopt(what, value) == 1 for what, value in settings]
    return all(done)
