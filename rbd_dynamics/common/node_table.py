# SPDX-License-Identifier: Apache-2.0
"""The nodes of this package: from here come executables, interfaces, documents and the lists of tests.

NAME is the executable, `nodes/NAME.py` the node with its `main`, `nodes/interface/NAME.py` what it shows to the outside
under the same name in capitals; `launch/NAME.launch.py` starts it, `config/NAME.yaml` has its parameters.

Nothing may be imported here: setup.py runs this file before anything is installed.
"""

#: in the order of the documents
NODES = (
    "feedforward",
    "dynamics_server",
    "simulator",
    "hybrid_controller",
    "cartesian_controller",
    "guard",
    "monitor",
    "trajectory_proxy",
)
