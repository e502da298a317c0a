# SPDX-License-Identifier: Apache-2.0
"""Kernels of a frame's motion, one for each reference that it may be expressed in."""

from __future__ import annotations

from typing import Any, Literal

from rbd_dynamics.algorithms import frames
from rbd_dynamics.algorithms.effective_inertia import inverse_effective_inertia
from rbd_dynamics.algorithms.frame_derivatives import frame_derivatives
from rbd_dynamics.algorithms.frame_reference import BODY, REFERENCES, FrameReference
from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.kernels.entry import Algorithm, Entry, rows_of
from rbd_dynamics.spatial.row_sweeps import flat

Reference = Literal["body", "world", "aligned"]


#: what ends the names of kernels; those of the body twist have nothing more: "jacobian", "jacobian_world"
_ENDS = {name: "" if reference is BODY else f"_{name}" for name, reference in REFERENCES.items()}
IN_OTHER_REFERENCES = tuple(filter(None, _ENDS.values()))


def kernel_of_frame(kernel: str, frame: str, reference: Reference = "body", *, along: bool = False) -> str:
    """The name of a frame's kernel, as `compile` takes it. along: that of its directional derivatives.

    Raises TypeError for what is no name of a frame, ValueError for an unknown reference.
    """
    if not isinstance(frame, str):
        raise TypeError(f"{kernel}: frame: expected the name of a frame, not {excerpt(frame)}")
    if not isinstance(reference, str) or reference not in REFERENCES:
        raise ValueError(f"{kernel}: reference {excerpt(reference)} is not one of {', '.join(REFERENCES)}")
    return f"{kernel}{_ENDS[reference]}{'_along' * along}:{frame}"


def _entries(reference: FrameReference) -> dict[str, Entry]:
    def entry(inputs: str, outputs: str, function: Algorithm) -> Entry:
        return Entry(inputs, outputs, function, of="frame")

    def jacobian(x: Any) -> Any:
        return [rows_of(frames.frame_jacobian(x.model, x.q, x.frame, reference))]

    def jacobian_dot(x: Any) -> Any:
        return [rows_of(frames.frame_jacobian_dot(x.model, x.q, x.v, x.frame, reference))]

    def velocity(x: Any) -> Any:
        return [frames.frame_velocity(x.model, x.q, x.v, x.frame, reference)]

    def acceleration(x: Any) -> Any:
        return [frames.frame_acceleration(x.model, x.q, x.v, x.a, x.frame, reference)]

    def derivatives(x: Any) -> Any:
        return map(rows_of, frame_derivatives(x.model, x.q, x.v, x.a, x.frame, reference))

    def inverse_inertia(x: Any) -> Any:
        return [flat(inverse_effective_inertia(x.model, x.inertias, x.q, x.frame, reference))]

    return {
        "jacobian": entry("q", "J", jacobian),
        "jacobian_dot": entry("q v", "J", jacobian_dot),
        "frame_velocity": entry("q v", "twist", velocity),
        "frame_acceleration": entry("q v a", "twist_rate", acceleration),
        "frame_derivatives": entry("q v a", "twist_dq rate_dq rate_dv", derivatives),
        "inverse_effective_inertia": entry("q inertia", "inverse_effective_inertia", inverse_inertia),
    }


OF_FRAMES: dict[str, Entry] = {
    f"{kernel}{_ENDS[name]}": entry
    for name, reference in REFERENCES.items()
    for kernel, entry in _entries(reference).items()
}
