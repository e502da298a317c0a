# SPDX-License-Identifier: Apache-2.0
"""The command line: `rbd_dynamics info`, `check`, `torques`, `show`, `compile`, `doctor`, `replay`, `play`...

Only `arguments` is imported at once; what a command needs is imported when it runs.
"""

from rbd_dynamics.cli.program import main, replay

__all__ = ["main", "replay"]
