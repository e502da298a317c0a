# SPDX-License-Identifier: Apache-2.0
"""Models in, of every format: `load` makes one, `check` tells what is wrong with a description.

And out: `write_urdf`, `write_sdf` and `write_mjcf`, or as text: `model_to_urdf` and so on.
"""

from rbd_dynamics.formats.load import check, load
from rbd_dynamics.formats.mjcf_writer import model_to_mjcf, write_mjcf
from rbd_dynamics.formats.sdf_writer import model_to_sdf, write_sdf
from rbd_dynamics.formats.urdf_writer import model_to_urdf, write_urdf

__all__ = ["check", "load", "model_to_mjcf", "model_to_sdf", "model_to_urdf", "write_mjcf", "write_sdf", "write_urdf"]
