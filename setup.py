# SPDX-License-Identifier: Apache-2.0
"""Build of the ament_python package; `pip install .` uses the same file on a machine without ROS."""

import os
import re
import runpy
import shlex
import sys
from glob import glob
from pathlib import Path

from setuptools import find_packages, setup

NAME = "rbd_dynamics"
VERSION = re.search(r'^__version__ = "(.+)"$', Path(NAME, "__init__.py").read_text(), re.MULTILINE).group(1)

# The oldest versions that work; with these and with the newest `scripts/wheel` tries every extra by itself.
NEEDED = ["numpy>=1.22", "scipy>=1.8", "PyYAML>=6.0", "rich>=11"]
#: by use; rbd_dynamics/common/extras.py names them where something is missing
EXTRAS = {
    "compiled": ["llvmlite>=0.41"],  # before 0.45 loops are left to Python, and `export` has no `--target`
    "plots": ["matplotlib>=3.6"],
    "show": ["trimesh>=4.8.3", "pycollada>=0.7"],
    "parquet": ["pyarrow>=10"],
    "hdf5": ["h5py>=3.7"],
    "fleet": ["distributed>=2023.1"],
    "remote": ["fsspec>=2024.2", "aiohttp>=3.8"],
    "models": ["xacro>=2.1", "mujoco>=3.0"],
    "collisions": ["coal>=3.0"],
    "streaming": ["daqp>=0.11"],
    "completion": ["argcomplete>=2"],
}
EXTRAS["replay"] = ["rosbags>=0.11.7", "plotly>=5.10", "threadpoolctl>=3.5", *EXTRAS["plots"], *EXTRAS["show"]]
EXTRAS["all"] = sorted({package for packages in EXTRAS.values() for package in packages})
# Large, or for learning alone: not in [all]. `scripts/wheel` tries all but [torch], of 2 GB, and [cuda], for GPUs.
EXTRAS["torch"] = ["torch>=2.5"]
# JAX calls machine code, loops as well; flatbuffers is for functions that are exported to a file
EXTRAS["jax"] = ["jax>=0.5.0", "flatbuffers>=24", "llvmlite>=0.45"]
EXTRAS["casadi"] = ["casadi>=3.6"]
EXTRAS["cuda"] = ["cupy-cuda12x>=13"]
EXTRAS["gymnasium"] = ["gymnasium>=1.1"]
EXTRAS["robots"] = ["example-robot-data>=4.1"]
EXTRAS["learning"] = sorted(
    {each for name in ("torch", "jax", "gymnasium", "plots", "robots") for each in EXTRAS[name]}
)
EXTRAS["test"] = ["pytest>=7", "hypothesis"]

COMMANDS = ["rbd_dynamics = rbd_dynamics.cli:main"]
NODES = runpy.run_path(str(Path(NAME, "common", "node_table.py")))["NODES"]
#: What `ros2 run rbd_dynamics` starts, besides.
EXECUTABLES = [*(f"{node} = rbd_dynamics.nodes.{node}:main" for node in NODES), "replay = rbd_dynamics.cli:replay"]
# colcon and the Debian and RPM builds of ROS run `setup.py install` or `develop`, whose scripts setup.cfg puts where
# `ros2 run` looks. pip makes a wheel, by other commands, and a wheel's scripts come on everybody's PATH: no place for
# names like these.
FOR_ROS = not {"install", "develop"}.isdisjoint(sys.argv[1:])


def require_interfaces() -> None:
    """End a build for ROS, with one line, where the package of service definitions is neither built nor installed."""
    package = f"{NAME}_interfaces"
    marker = f"share/ament_index/resource_index/packages/{package}"
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    if not any(Path(prefix, marker).exists() for prefix in prefixes if prefix):
        folder = Path(__file__).resolve().parent / package  # colcon may run us by a link in its build folder
        if not folder.exists():
            sys.exit(f"{package} is missing: install it, or build it in the same workspace")
        sys.exit(
            f"{package} is missing: colcon does not look for packages inside a package. "
            f"Run this in the workspace and build again:  ln -s {shlex.quote(str(folder))} src/"
        )


if FOR_ROS and {"--help", "--uninstall"}.isdisjoint(sys.argv):  # colcon asks what there is before it builds
    require_interfaces()

setup(
    name=NAME,
    version=VERSION,
    description="Rigid-body dynamics for torque-controlled robots, with and without ROS 2",
    long_description=Path("README.md").read_text() if Path("README.md").exists() else "",
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    url="https://rbd-dynamics.org",
    keywords=["robotics", "dynamics", "ROS 2", "robot control", "identification"],
    classifiers=[
        "Development Status :: 5 - Production/Stable",
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX :: Linux",
        *(f"Programming Language :: Python :: 3.{minor}" for minor in range(10, 14)),
        "Topic :: Scientific/Engineering",
        "Typing :: Typed",
    ],
    author="rbd_dynamics maintainers",
    author_email="maintainers@rbd-dynamics.org",
    maintainer="rbd_dynamics maintainers",
    maintainer_email="maintainers@rbd-dynamics.org",
    packages=find_packages(include=[NAME, f"{NAME}.*"]),
    package_data={
        NAME: [
            "py.typed",
            "common/pages/page.css",
            "replay/report/page.html",
            "replay/report/*.js",
            "scene/*.js",
            "viewer/*.js",
            "viewer/page.*",
            "replay/fleet/fleet.html",
            "export/ros2_control/templates/*",
            "export/ros2_control/templates/*/*",
            "export/ros2_control/templates/*/*/*",
            "export/ros2_control/templates/.clang-format",
        ]
    },
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        (f"share/{NAME}/launch", sorted(glob("launch/*.launch.py"))),
        (f"share/{NAME}/config", sorted(glob("config/*.yaml"))),
        (f"share/{NAME}/config/security", sorted(glob("config/security/*.xml"))),
    ],
    python_requires=">=3.10",
    install_requires=NEEDED,
    extras_require=EXTRAS,
    zip_safe=False,
    entry_points={"console_scripts": COMMANDS + (EXECUTABLES if FOR_ROS else [])},
)
