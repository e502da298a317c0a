# SPDX-License-Identifier: Apache-2.0
"""Models in, of every format: `load` makes one, `check` tells what is wrong with a description. And out, as a URDF."""

from rbd_dynamics.formats.load import check, load
from rbd_dynamics.formats.urdf_writer import model_to_urdf, write_urdf

__all__ = ["check", "load", "model_to_urdf", "write_urdf"]
