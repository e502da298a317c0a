# SPDX-License-Identifier: Apache-2.0
"""Build of the ament_python package; `pip install .` uses the same file on a machine without ROS."""

import re
from glob import glob
from pathlib import Path

from setuptools import find_packages, setup

NAME = "rbd_dynamics"
VERSION = re.search(r'^__version__ = "(.+)"$', Path(NAME, "__init__.py").read_text(), re.MULTILINE).group(1)

PLOTS = ["matplotlib"]
REPLAY = ["rosbags", "matplotlib", "plotly"]
PARQUET = ["pyarrow"]
FLEET = ["distributed"]
COMPILED = ["llvmlite"]
TEST = ["pytest", "hypothesis"]

setup(
    name=NAME,
    version=VERSION,
    description="Rigid-body dynamics for torque-controlled robots, with and without ROS 2",
    long_description=Path("README.md").read_text() if Path("README.md").exists() else "",
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    author="rbd_dynamics maintainers",
    author_email="maintainers@rbd-dynamics.org",
    maintainer="rbd_dynamics maintainers",
    maintainer_email="maintainers@rbd-dynamics.org",
    packages=find_packages(include=[NAME, f"{NAME}.*"]),
    package_data={NAME: ["py.typed", "replay/report/page.*", "replay/fleet/fleet.html"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        (f"share/{NAME}/launch", sorted(glob("launch/*.launch.py"))),
        (f"share/{NAME}/config", sorted(glob("config/*.yaml"))),
    ],
    python_requires=">=3.10",
    install_requires=["numpy", "scipy", "PyYAML", "rich", "urdf-parser-py"],
    extras_require={
        "compiled": COMPILED,
        "plots": PLOTS,
        "replay": REPLAY,
        "parquet": PARQUET,
        "fleet": FLEET,
        "all": sorted({*COMPILED, *PLOTS, *REPLAY, *PARQUET, *FLEET}),
        "test": TEST,
    },
    zip_safe=False,
    entry_points={
        "console_scripts": [
            "rbd_dynamics = rbd_dynamics.cli:main",
            "feedforward = rbd_dynamics.nodes.feedforward:main",
            "dynamics_server = rbd_dynamics.nodes.dynamics_server:main",
            "simulator = rbd_dynamics.nodes.simulator:main",
            "monitor = rbd_dynamics.nodes.monitor:main",
            "replay = rbd_dynamics.replay.command:main",
            "hybrid_controller = rbd_dynamics.nodes.hybrid_controller:main",
        ],
    },
)
