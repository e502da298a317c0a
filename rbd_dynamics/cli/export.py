# SPDX-License-Identifier: Apache-2.0
"""`rbd_dynamics export`: a robot's kernels as a package in C."""

from __future__ import annotations

import argparse
import json
import sys

from rbd_dynamics.cli.sources import load_and_warn


def run_export(options: argparse.Namespace) -> int:
    from rbd_dynamics.export import export_c

    def tell(line: str) -> None:
        if sys.stderr.isatty():
            print(line, file=sys.stderr)

    files = export_c(
        load_and_warn(options),
        options.output,
        kernels=options.kernels,
        name=options.name,
        friction=options.friction,
        single=options.single,
        targets=options.target,
        progress=tell,
    )
    if options.json:
        print(json.dumps({"folder": str(options.output), "files": files}, indent=2))
        return 0
    for name in files:
        print(options.output / name)
    return 0
