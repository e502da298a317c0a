# SPDX-License-Identifier: Apache-2.0
"""Joint states as they come, live or recorded: any order, extra joints, missing velocities.

`JointStateReader` sorts them by name; `JointStateLayout` finds the numbers in the bytes of a serialised message.
"""

from rbd_dynamics.joint_states.layout import JointStateLayout, layout_of
from rbd_dynamics.joint_states.reader import JointStateReader

__all__ = [
    "JointStateLayout",
    "JointStateReader",
    "layout_of",
]
