# SPDX-License-Identifier: Apache-2.0
"""`rbd_dynamics convert`: a robot in another format."""

from __future__ import annotations

import argparse
import sys
import warnings

from rbd_dynamics.cli.sources import load_and_warn
from rbd_dynamics.cli.usage_error import UsageError

#: {ending of the file: what writes it}
WRITERS = {
    ".urdf": "write_urdf", ".sdf": "write_sdf", ".xml": "write_mjcf", ".mjcf": "write_mjcf",
    ".yaml": "save_yaml", ".yml": "save_yaml",
}  # fmt: skip


def run_convert(options: argparse.Namespace) -> int:
    import rbd_dynamics as rbd
    from rbd_dynamics.common.whole_files import check_file

    writer = WRITERS.get(options.output.suffix.lower())
    if writer is None:
        endings = ", ".join(WRITERS)
        raise UsageError(f"{options.output}: the ending says the format, expected one of {endings}")
    check_file(options.output)
    model = load_and_warn(options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        getattr(rbd, writer)(model, options.output)
    for warning in caught:
        print(f"rbd_dynamics: warning: {' '.join(str(warning.message).split())}", file=sys.stderr)
    print(options.output)
    return 0
