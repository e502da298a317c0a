# SPDX-License-Identifier: Apache-2.0
"""`python -m rbd_dynamics`."""

import sys

from rbd_dynamics.cli import main

if __name__ == "__main__":
    sys.exit(main())
