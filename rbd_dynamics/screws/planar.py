# SPDX-License-Identifier: Apache-2.0
"""Deprecated: `rbd_dynamics.theory.screws.planar`."""

from rbd_dynamics.common.deprecated import moved

__getattr__ = moved(__name__, "rbd_dynamics.theory.screws.planar")
