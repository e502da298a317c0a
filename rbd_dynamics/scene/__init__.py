# SPDX-License-Identifier: Apache-2.0
"""A robot to be seen in a browser: its shape as plain data, and the scripts that draw it in a page of its own.

robot = scene_of(model, urdf, find=MeshFinder(folders=["/opt/meshes"]).find)
scripts = scene_scripts()  # three.js and `RobotView`, which takes what is in robot
"""

from rbd_dynamics.scene.mesh_files import MeshFinder
from rbd_dynamics.scene.scene import Scene, scene_of
from rbd_dynamics.scene.scripts import page_script, scene_scripts

__all__ = ["MeshFinder", "Scene", "page_script", "scene_of", "scene_scripts"]
