# SPDX-License-Identifier: Apache-2.0
"""Spatial algebra: SO(3), SE(3), quaternions, twists, wrenches, momenta and inertias.

The names of this package work on NumPy arrays with any leading axes (`spatial.arrays` lists them).
The modules below hold the same over plain tuples of any scalar (floats, arrays, tracing scalars),
for algorithms that are also compiled: `so3`, `se3`, `lie`, `quaternions`, `inertia`, `rigid_body`.

    import numpy as np
    from rbd_dynamics import spatial

    pose = spatial.exp_se3([0, 0, np.pi / 2, 1, 0, 0])
    spatial.log_se3(pose)
    spatial.transform_wrench(pose, [0, 0, 0, 0, 0, -9.81])
"""

from rbd_dynamics.spatial.arrays import *  # noqa: F403
from rbd_dynamics.spatial.arrays import __all__ as __all__
