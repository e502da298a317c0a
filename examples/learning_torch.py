# SPDX-License-Identifier: Apache-2.0
"""Learning through dynamics, with PyTorch: the friction that no model has.

A UR5 hides a friction that rises sharply at first, falls and rises again with speed. Recorded are states, torques and
noisy accelerations. A small network is to say the friction of each joint: what it says is taken from the torque,
forward dynamics makes accelerations of it, and their error goes back through forward dynamics to the network. Forward
dynamics is that of `rbd_dynamics.torch`: one call for a whole batch, either way. Tensors are read where they are.

    pip install 'rbd_dynamics[learning]'
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from picture import new_figure, output_path, save

import rbd_dynamics as rbd
from rbd_dynamics.torch import functions

SAMPLES, STEPS, NOISE = 8192, 400, 0.1  # recorded; of the optimiser; rad/s^2
WANTED = 0.1  # error of the friction that is found, of its own size


def hidden_friction(v: Any) -> Any:
    """Torque (N, 6) that overcomes it: Coulomb friction, Stribeck's peak, and viscous."""
    size = np.array([12.0, 12.0, 9.0, 3.0, 3.0, 2.0])
    return size * ((0.5 + 0.5 * np.exp(-((v / 0.3) ** 2))) * np.tanh(v / 0.05) + 0.2 * v)


class Friction(torch.nn.Module):
    """Of each joint by its own speed alone, and odd."""

    def __init__(self, size: np.ndarray, width: int = 24) -> None:
        """size (joints,): N m, about as large as friction may be."""
        super().__init__()
        joints, self.size = len(size), torch.from_dlpack(size)
        self.first = torch.nn.Parameter(torch.exp(2.0 * torch.randn(joints, width)))
        self.last = torch.nn.Parameter(torch.zeros(joints, width))
        self.viscous = torch.nn.Parameter(torch.zeros(joints))

    def forward(self, v: torch.Tensor) -> torch.Tensor:
        return self.size * ((torch.tanh(v[..., None] * self.first) * self.last).sum(-1) + self.viscous * v)


def main() -> None:
    path = output_path("learning_torch", __doc__)
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    rng = np.random.default_rng(0)
    robot = rbd.Robot(rbd.load("ur5"))
    n = robot.model.nv

    # what was recorded
    q, v = rng.uniform(-math.pi, math.pi, (SAMPLES, n)), rng.uniform(-1.5, 1.5, (SAMPLES, n))
    tau = robot.gravity(q) + rng.normal(size=(SAMPLES, n)) * [60.0, 60.0, 40.0, 6.0, 6.0, 3.0]
    a = robot.forward_dynamics(q, v, tau - hidden_friction(v)) + NOISE * rng.normal(size=(SAMPLES, n))
    recorded = [torch.from_dlpack(x) for x in (q, v, tau, a)]

    forward_dynamics = functions(robot).forward_dynamics
    few = [x[:3].clone().requires_grad_() for x in recorded[:3]]
    assert torch.autograd.gradcheck(forward_dynamics, few, rtol=1e-5, atol=1e-5)

    friction = Friction(0.1 * robot.model.effort_limit)
    # accelerations of light joints are large
    weight = 1.0 / recorded[3].std(0)
    optimiser = torch.optim.Adam(friction.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, STEPS)
    losses = []
    for _ in range(STEPS):
        chosen = torch.from_numpy(rng.integers(SAMPLES, size=512))
        at, speed, torque, seen = (x[chosen] for x in recorded)
        said = forward_dynamics(at, speed, torque - friction(speed))
        loss = (((said - seen) * weight) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        losses.append(loss.item())

    speeds = np.tile(np.linspace(-1.4, 1.4, 141)[:, None], n)
    true, found = hidden_friction(speeds), friction(torch.from_dlpack(speeds)).detach().numpy()
    errors = np.sqrt(np.mean((found - true) ** 2, axis=0) / np.mean(true**2, axis=0))
    print(f"loss: {losses[0]:.4f} -> {np.mean(losses[-20:]):.5f}")
    print("error of the friction that was found:", ", ".join(f"{100 * error:.1f} %" for error in errors))

    figure = new_figure(10, 5)
    for axes, k in zip(figure.subplots(2, 3, sharex=True).flat, range(n)):
        axes.plot(speeds[:, k], true[:, k], label="hidden")
        axes.plot(speeds[:, k], found[:, k], "--", label="learned")
        axes.set(title=robot.model.joint_names[k], xlabel="rad/s", ylabel="N m")
        axes.grid(alpha=0.3)
    axes.legend()
    save(figure, path)
    if not (errors < WANTED).all():
        raise SystemExit(f"the friction of a joint is off by more than {100 * WANTED:.0f} %")


if __name__ == "__main__":
    main()
