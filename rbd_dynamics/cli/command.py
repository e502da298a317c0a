# SPDX-License-Identifier: Apache-2.0
"""What every command's arguments are made with."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from typing import Any

from rbd_dynamics.common.help_format import HelpFormatter


def add_command(commands: Any, name: str, *, text: str, description: str, examples: str) -> argparse.ArgumentParser:
    """A parser of its own; text: for the list of commands. examples: after all else."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=description, epilog=examples, formatter_class=HelpFormatter
    )
    return parser


def later(module: str, function: str) -> Callable[[argparse.Namespace], int]:
    """A function whose module is imported when it is called."""
    return lambda options: getattr(importlib.import_module(module), function)(options)
