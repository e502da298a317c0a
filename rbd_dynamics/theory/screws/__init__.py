# SPDX-License-Identifier: Apache-2.0
"""Screws: lines with a pitch, and what they say about dynamics (theory.md section 4; source 003).

Over NumPy arrays with leading axes. Twists are (w, v) and wrenches (m, f), angular part first; source
003 writes the linear part first, so its matrices have their block rows and columns swapped.
"""

from rbd_dynamics.theory.screws.articulated import ArticulatedTree, ProjectedMotion, articulated_tree, projected_motion
from rbd_dynamics.theory.screws.cylindroid import Cylindroid, cylindroid
from rbd_dynamics.theory.screws.mobility import InboardMobility, inboard_mobility, tree_mobility
from rbd_dynamics.theory.screws.percussion import percussion_screw, percussion_wrench
from rbd_dynamics.theory.screws.screw import Screw, reciprocal_product
from rbd_dynamics.theory.screws.splitting import JointAnswer, split_chain
from rbd_dynamics.theory.screws.subspaces import Subspaces, subspaces

__all__ = [
    "ArticulatedTree",
    "Cylindroid",
    "InboardMobility",
    "JointAnswer",
    "ProjectedMotion",
    "Screw",
    "Subspaces",
    "articulated_tree",
    "cylindroid",
    "inboard_mobility",
    "percussion_screw",
    "percussion_wrench",
    "projected_motion",
    "reciprocal_product",
    "split_chain",
    "subspaces",
    "tree_mobility",
]
