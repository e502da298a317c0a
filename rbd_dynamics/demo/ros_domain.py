# SPDX-License-Identifier: Apache-2.0
"""A ROS domain of this process's own, so that what others start on this machine is not heard."""

from __future__ import annotations

import fcntl
import os
import tempfile
from functools import cache
from pathlib import Path

#: safe everywhere: their ports are below those that systems hand out; 0 is where other people's robots are
DOMAINS = range(1, 102)


@cache
def own_domain() -> int:
    """A domain of 1 to 101 that nobody else gets from here as long as this process lives; the same at every call.

    A lock holds it, which ends with the process, however that ends. What the process starts belongs to its domain by
    the environment: put the number in ROS_DOMAIN_ID. Raises RuntimeError where all domains are taken.
    """
    begin = os.getpid()  # not all at the first: nodes that are just ending may still be heard there
    for k in range(len(DOMAINS)):
        domain = DOMAINS[(begin + k) % len(DOMAINS)]
        if _taken(lock_file(domain)):
            return domain
    raise RuntimeError(f"all ROS domains from {DOMAINS[0]} to {DOMAINS[-1]} are taken: {lock_file(DOMAINS[0])} and on")


def lock_file(domain: int) -> Path:
    """The file whose lock means that a domain is taken. It stays when the lock is gone."""
    return Path(tempfile.gettempdir(), f"rbd_dynamics_ros_domain_{domain}.lock")


def _taken(file: Path) -> bool:
    """Whether we have got its lock, for the rest of the process."""
    try:
        descriptor = _opened(file)
    except OSError:  # another user's, who shows it to nobody
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return False
    return True  # left open on purpose: closing ends the lock


def _opened(file: Path) -> int:
    """Its descriptor. Reading is enough for a lock, and all that one may do with another user's file."""
    try:
        return os.open(file, os.O_RDONLY)
    except FileNotFoundError:
        return os.open(file, os.O_RDONLY | os.O_CREAT, 0o644)
