# SPDX-License-Identifier: Apache-2.0
"""What an argument may be: one function each, which says what is wrong with a text."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rbd_dynamics.replay.together import Carried

DEFAULT_FORMATS = ("html", "png", "urdf")
DEFAULT_OF_MANY = ("html", "urdf")  # pictures take longer than all else about a recording


def names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def formats(text: str) -> tuple[str, ...]:
    from rbd_dynamics.replay.results.formats import FORMATS, check_formats

    try:
        return tuple(FORMATS) if text.strip() == "all" else check_formats(names(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def finite(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number")
    return number


def pair_or_file(text: str) -> tuple[str, str] | Path:
    """RECORDED=JOINT, or a file that is there."""
    if Path(text).is_file():
        return Path(text)
    recorded, _, joint = text.rpartition("=")
    if not (recorded and joint):
        raise argparse.ArgumentTypeError(f"{text!r} is neither RECORDED=JOINT nor a file")
    return recorded, joint


def place(text: str) -> Path | str:
    """A path, or an address as s3://bucket/runs."""
    from rbd_dynamics.replay.fleet.places import is_elsewhere

    return text if is_elsewhere(text) else Path(text)


def columns_or_file(text: str) -> tuple[str, str] | Path:
    """FIELD=COLUMNS, or a file that is there."""
    if Path(text).is_file():
        return Path(text)
    field, _, columns = (part.strip() for part in text.partition("="))
    if not (field and columns):
        raise argparse.ArgumentTypeError(f"{text!r} is neither FIELD=COLUMNS nor a file")
    return field, columns


def threshold(text: str) -> tuple[str, float]:
    name, _, value = text.rpartition("=")
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not number > 0.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not [NAME=]NM with a positive number")
    return name, number


def number_or_file(text: str) -> tuple[str, float | Path]:
    name, _, value = text.rpartition("=")
    try:
        return name, float(value)
    except ValueError:
        if name or not Path(text).is_file():
            raise argparse.ArgumentTypeError(f"{text!r} is neither [NAME=]NUMBER nor a file") from None
        return "", Path(text)


def known_load(text: str) -> tuple[str, float, tuple[float, ...]]:
    frame, _, numbers = text.rpartition("=")
    try:
        mass, *com = (float(part) for part in numbers.split(","))
    except ValueError:
        mass, com = math.nan, []
    if not (frame and 0.0 < mass < math.inf and len(com) in (0, 3) and all(map(math.isfinite, com))):
        raise argparse.ArgumentTypeError(f"{text!r} is not FRAME=KG[,X,Y,Z]")
    return frame, mass, tuple(com) or (0.0, 0.0, 0.0)


def carried(text: str) -> Carried:
    from rbd_dynamics.replay.together import Carried

    place, known, _ = text.partition("=")
    bags, _, frame = place.rpartition(":")
    recordings = names(bags)
    if not recordings or not frame:
        raise argparse.ArgumentTypeError(f"{text!r} is not BAG[,BAG]:FRAME[=KG[,X,Y,Z]]")
    if not known:
        return Carried(recordings, frame)
    _, mass, (x, y, z) = known_load(text[len(bags) + 1 :])
    return Carried(recordings, frame, mass=mass, com=(x, y, z))


def delay(text: str) -> tuple[str, str, float]:
    place, _, value = text.rpartition("=")
    signal, _, name = place.partition(":")
    try:
        return signal, name, float(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not SIGNAL[:NAME]=SECONDS") from None
