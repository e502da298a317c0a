# SPDX-License-Identifier: Apache-2.0
"""Models in, of every format: `load` makes one, `check` tells what is wrong with a description."""

from rbd_dynamics.formats.load import check, load

__all__ = ["check", "load"]
