# SPDX-License-Identifier: Apache-2.0
"""From a wrong description to feedforward as good as with the truth: the loop closed on a simulated arm.

The arm hides its inertias (up to 20 % off), friction, drive gains (10 %), delays, noise and a torque ripple. A motion
is designed that tells its parameters, played, recorded as a rosbag2, and replayed; efforts turn out to be late, and
wrong by a factor that a known load tells; inertias and friction are identified. Then the arm plays another motion, with
the feedforward of the description, of what was identified, and of the truth. With what was identified the tracking
error must be at most 1.2 times that with the truth.

The same for any robot:  rbd_dynamics rehearse panda --joints ... --known-load panda_link8=2,0,0,0.2
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from picture import new_figure, output_path, save

from rbd_dynamics import ModelBuilder
from rbd_dynamics.joints import Revolute
from rbd_dynamics.model import Limits, Model
from rbd_dynamics.replay import excitation, rehearsal

WANTED = 1.2  # times the error with the truth
PLAN = rehearsal.Plan(
    excitation=excitation.Fourier(period=6.0, harmonics=5),
    periods=6,  # the more, the closer to the truth
    load=2.0,
    com=(0.0, 0.1, 0.3),
    test=excitation.Fourier(period=4.0, harmonics=3),
    seed=1,
)


def arm() -> Model:
    """Three joints, as a catalogue would describe it."""
    builder = ModelBuilder("arm")
    axes = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0))
    for k, (axis, effort) in enumerate(zip(axes, (60.0, 60.0, 15.0))):
        builder.add_body(
            f"link{k}", f"link{k - 1}" if k else None, Revolute(axis), joint_name=f"j{k}", placement=(0.0, 0.1, 0.3),
            mass=3.0 - k, com=(0.05, 0.02, 0.2), inertia=(0.02, 0, 0, 0.03, 0, 0.02),
            limits=Limits(lower=-2.0, upper=2.5, velocity=2.5, effort=effort),
        )  # fmt: skip
    return builder.build()


def main() -> None:
    path = output_path("closed_loop", __doc__)
    model = arm()
    hidden = rehearsal.hide(model, seed=0)
    with tempfile.TemporaryDirectory() as folder:
        found = rehearsal.rehearse(model, hidden, "link2", Path(folder), plan=PLAN)
    known = found.excitation.expected
    print(f"excitation: condition number {found.excitation.condition:.3g}, {len(known)} parameters to be found")
    print(f"efforts: {found.delay}")
    for k, (name, gain) in enumerate(found.gains.gains.items()):
        print(f"gain of {name}: {gain.value:.3f} ({gain.lower:.3f} to {gain.upper:.3f}), hidden {hidden.gains[k]:.3f}")
    errors = (("description", found.before), ("identified", found.after), ("truth", found.best))
    print("tracking error, mrad:", ", ".join(f"{name} {1e3 * error:.3f}" for name, error in errors))
    print(f"{found.after / found.best:.3f} times that with the truth")

    figure = new_figure(10, 6)
    for axes, scale in zip(figure.subplots(2, 1, sharex=True), ("linear", "log")):
        for name, run in found.runs.items():
            error = 1e3 * np.linalg.norm(run.wanted - run.positions, axis=1)
            axes.plot(run.times, error, label=name)
        axes.set(ylabel="tracking error [mrad]", yscale=scale)
        axes.grid(alpha=0.3)
    axes.set_xlabel("time [s]")
    axes.legend()
    save(figure, path)
    if not found.after <= WANTED * found.best:
        raise SystemExit(f"the error is more than {WANTED} times that with the truth")


if __name__ == "__main__":
    main()
