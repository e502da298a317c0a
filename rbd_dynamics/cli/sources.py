# SPDX-License-Identifier: Apache-2.0
"""What comes in: robots, and the values of options. Nothing heavy is imported before it is needed."""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rbd_dynamics.cli.usage_error import UsageError

if TYPE_CHECKING:
    from rbd_dynamics.model.model import Model

URDF_HELP = (
    "path of a URDF, xacro, SDF, MJCF or of a model as YAML, - for standard input, or the name of a robot of "
    "example-robot-data (panda, ur5_robot...); NAME:=VALUE after it are arguments of a xacro"
)
_ARGUMENT = re.compile(r"([A-Za-z_]\w*):=(.*)", re.DOTALL)

MODEL_HELP = "which model of an SDF with several; default: the only one with joints"


def add_urdf(parser: argparse.ArgumentParser) -> None:
    """The argument URDF, which shells can complete where argcomplete is installed."""
    parser.add_argument("urdf", metavar="URDF", help=URDF_HELP).completer = complete_urdf  # type: ignore[attr-defined]


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """What is made of the description: --model, --floating, --lock, --joints, --gravity."""
    add = parser.add_argument
    add("--model", metavar="NAME", help=MODEL_HELP)
    add("--floating", action="store_true", help="free the base: a joint with six degrees of freedom")
    add("--lock", metavar="NAME=POSITION", action="append", default=[], type=name_and_position,
        help="lock a joint there (rad, m); may be repeated")  # fmt: skip
    add("--joints", metavar="NAMES", type=names,
        help="keep these joints (comma-separated) and lock all others at zero")  # fmt: skip
    add("--gravity", metavar=("X", "Y", "Z"), nargs=3, type=float, help="m/s^2")


def add_description_options(parser: argparse.ArgumentParser) -> None:
    """How the description is read: --packages, --given-inertias. Its NAME:=VALUE come by `xacro_arguments`."""
    add = parser.add_argument_group("how the description is read").add_argument
    add("--packages", metavar="DIR", action="append", default=[], type=Path,
        help="where packages are, at any depth, beside those of ROS: for xacro, package:// and model://; "
        "may be repeated")  # fmt: skip
    add("--given-inertias", action="store_true",
        help="take inertias that no rigid body has as they are, instead of refusing the robot")  # fmt: skip
    parser.set_defaults(arguments={})


def xacro_arguments(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """{name: value} of all words NAME:=VALUE, and the other words."""
    found = {word: _ARGUMENT.fullmatch(word) for word in words}
    given = {match[1]: match[2] for match in found.values() if match is not None}
    return given, [word for word in words if found[word] is None]


def joined_kernels(words: Sequence[str]) -> list[str]:
    """The words, with `--kernels A B` as `--kernels A,B`: names of kernels and of no files."""
    found: list[str] = []
    joins = False
    for word in words:
        if joins and found[-1] != "--kernels" and _is_kernel(word):
            found[-1] += f",{word}"
            continue
        joins = word == "--kernels" or (joins and found[-1] == "--kernels")
        found.append(word)
    return found


def _is_kernel(word: str) -> bool:
    from rbd_dynamics.kernels import CATALOG

    base = word.partition(":")[0]
    return base == "feedforward" or base.removesuffix("_f_ext") in CATALOG


def reading_of(options: argparse.Namespace) -> dict[str, Any]:
    """The parameters of `load` and `check` that say how a description is read."""
    return {
        "inertias": "as_given" if options.given_inertias else "checked",
        "packages": options.packages or None,
        "arguments": options.arguments or None,
    }


def complete_urdf(prefix: str, **_: Any) -> list[str]:
    """Files and folders that begin so, and names of robots: for argcomplete."""
    from rbd_dynamics.common.example_robots import robots

    folder = Path(os.path.dirname(prefix) or ".")
    found = [os.path.join(os.path.dirname(prefix), path.name) for path in folder.iterdir()] if folder.is_dir() else []
    files = [f"{path}/" if os.path.isdir(path) else path for path in found]
    return sorted(each for each in [*files, *robots()] if each.startswith(prefix))


def load_model(options: argparse.Namespace) -> Model:
    """The robot with the options of `info`, `compile`, `excite` and `rehearse`. Raises UsageError, ModelError."""
    from rbd_dynamics.formats import load

    return load(
        source_of(options.urdf),
        base="floating" if options.floating else None,
        gravity=options.gravity,
        joints=options.joints,
        locked=dict(options.lock) or None,
        model=options.model,
        **reading_of(options),
    )


def load_and_warn(options: argparse.Namespace) -> Model:
    """Load as `load_model` does; what it warns of goes to standard error, a line each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = load_model(options)
    for warning in caught:
        print(f"rbd_dynamics: warning: {' '.join(str(warning.message).split())}", file=sys.stderr)
    return model


def source_of(urdf: str) -> str:
    """What `load` takes: a text from standard input, or a path or name. Raises UsageError."""
    if urdf == "-":
        return _standard_input()
    if not urdf:
        raise UsageError("the name of the robot's file is empty")
    try:
        is_folder = Path(urdf).is_dir()
    except (OSError, ValueError):  # a name that no file can have
        is_folder = False
    if is_folder:
        raise UsageError(f"{urdf} is a directory, expected a file that describes a robot")
    return urdf


def _standard_input() -> str:
    if sys.stdin is None:
        raise UsageError("standard input is closed")
    content = getattr(sys.stdin, "buffer", sys.stdin).read()
    if not isinstance(content, bytes):
        return str(content)
    if content.lstrip()[:1] == b"<":
        from rbd_dynamics.common.markup.xml_text import decoded

        return decoded(content)[0]
    try:  # as files are read, whatever the terminal's encoding
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"standard input is not UTF-8: {error.reason} at byte {error.start}") from None


def file_or_text(urdf: str, options: argparse.Namespace) -> str | Path:
    """The text from standard input, or that a xacro expands to, else the file that a path or name stands for.

    Raises UsageError, ModelError.
    """
    from rbd_dynamics.formats.load import needs_xacro, urdf_text
    from rbd_dynamics.formats.source import read_source

    source = source_of(urdf)
    if options.arguments or options.packages or needs_xacro(source):
        text = urdf_text(source, packages=options.packages, arguments=options.arguments)
        if text is not None:
            return text
    return source if urdf == "-" else read_source(source).path or source


def name_and_position(text: str) -> tuple[str, float]:
    name, _, value = text.rpartition("=")
    try:
        position = float(value)
    except ValueError:
        position = math.nan
    if not name or not math.isfinite(position):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=POSITION")
    return name, position


def names(text: str) -> Sequence[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def positive(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return number


def above_zero(text: str) -> float:
    number = from_zero(text)
    if not number:
        raise argparse.ArgumentTypeError(f"{text!r} is not above zero")
    return number


def from_zero(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0.0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 0")
    return number
