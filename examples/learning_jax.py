# SPDX-License-Identifier: Apache-2.0
"""Gradients through dynamics, with JAX: the motion between two postures that takes least torque.

A Panda goes from one posture to another. The motion of least jerk is bent by smooth bumps, whose sizes are sought such
that the mean square of the torque is least. Inverse dynamics is an operation of JAX here: `pure_callback` calls the
library for all times at once, `custom_vjp` gives its derivatives. So it works under `jit`, `grad` and `vmap`: the same
problem is solved for several durations side by side.

    pip install 'rbd_dynamics[learning]'
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from picture import new_figure, output_path, save

import rbd_dynamics as rbd
from rbd_dynamics.jax import functions

jax.config.update("jax_enable_x64", True)

START = np.array([0.0, 0.6, 0.0, -1.2, 0.0, 1.8, 0.0])
GOAL = np.array([1.2, 0.9, -0.6, -0.9, 0.5, 1.6, 0.8])
DURATIONS = np.array([1.2, 2.0, 3.0])  # s
TIMES, BUMPS, STEPS = 60, 6, 150
MARGIN = 0.1  # rad, to the limits of the joints
WANTED = 0.7  # of the torque that the motion of least jerk takes, at most


def bases() -> tuple[np.ndarray, np.ndarray]:
    """Of unit duration, with two derivatives: the motion of least jerk (3, TIMES), the bumps (BUMPS, 3, TIMES)."""
    least = np.polynomial.Polynomial([0, 0, 0, 10, -15, 6])
    rim = np.polynomial.Polynomial([0, 0, 0, 64, -192, 192, -64])  # (4 s (1 - s))^3: rests at both ends
    bumps = [
        rim * np.polynomial.Chebyshev.basis(k, domain=[0, 1]).convert(kind=np.polynomial.Polynomial)
        for k in range(BUMPS)
    ]
    s = np.linspace(0.0, 1.0, TIMES)

    def with_derivatives(p: np.polynomial.Polynomial) -> np.ndarray:
        return np.stack([p(s), p.deriv()(s), p.deriv(2)(s)])

    return with_derivatives(least), np.stack([with_derivatives(p) for p in bumps])


def main() -> None:
    path = output_path("learning_jax", __doc__)
    robot = rbd.Robot(rbd.load("panda", locked={"panda_finger_joint1": 0.0}))
    torque = functions(robot).inverse_dynamics
    least, bumps = bases()
    lower, upper, effort = robot.model.lower, robot.model.upper, robot.model.effort_limit

    def motion(sizes: jax.Array, duration: jax.Array) -> tuple[jax.Array, ...]:
        """q, v, a (TIMES, nv); sizes (BUMPS, nv) of the bumps."""
        way = least[:, :, None] * (GOAL - START) + jnp.einsum("bdt,bn->dtn", bumps, sizes)
        return way[0] + START, way[1] / duration, way[2] / duration**2

    def cost(sizes: jax.Array, duration: jax.Array) -> jax.Array:
        q, v, a = motion(sizes, duration)
        outside = jnp.maximum(0.0, q - (upper - MARGIN)) + jnp.maximum(0.0, lower + MARGIN - q)
        return jnp.mean((torque(q, v, a) / effort) ** 2) + 10.0 * jnp.mean(outside**2)

    @jax.jit
    def descend(sizes: jax.Array, duration: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Gradient descent with momentum (Adam), and the cost on the way."""

        def step(carry: Any, k: jax.Array) -> tuple[Any, jax.Array]:
            sizes, m, s = carry
            value, g = jax.value_and_grad(cost)(sizes, duration)
            m, s = 0.9 * m + 0.1 * g, 0.99 * s + 0.01 * g**2
            rate = 0.02 * (1.0 - k / STEPS)
            sizes = sizes - rate * (m / (1 - 0.9 ** (k + 1))) / (jnp.sqrt(s / (1 - 0.99 ** (k + 1))) + 1e-12)
            return (sizes, m, s), value

        (sizes, _, _), values = jax.lax.scan(
            step, (sizes, jnp.zeros_like(sizes), jnp.zeros_like(sizes)), jnp.arange(STEPS)
        )
        return sizes, values

    straight = jnp.zeros((BUMPS, robot.model.nv))
    along = np.random.default_rng(0).normal(size=straight.shape)
    slope = jnp.vdot(jax.grad(cost)(straight, DURATIONS[0]), along)
    difference = (cost(1e-5 * along, DURATIONS[0]) - cost(-1e-5 * along, DURATIONS[0])) / 2e-5
    print(f"slope of the cost: {slope:.9f}, by differences {difference:.9f}")
    if abs(slope - difference) > 1e-6 * abs(slope):
        raise SystemExit("the gradient is not that of the cost")

    many = jnp.broadcast_to(straight, (len(DURATIONS), *straight.shape))
    sizes, values = jax.vmap(descend)(many, jnp.asarray(DURATIONS))
    before = np.array(jax.vmap(cost)(many, jnp.asarray(DURATIONS)))
    after = np.array(jax.vmap(cost)(sizes, jnp.asarray(DURATIONS)))
    for duration, ratio in zip(DURATIONS, after / before):
        print(f"{duration} s: {100 * ratio:.1f} % of what the motion of least jerk takes")

    for k, duration in enumerate(DURATIONS):
        q, *_ = map(np.asarray, motion(sizes[k], duration))
        if not ((q > lower) & (q < upper)).all():
            raise SystemExit(f"the motion of {duration} s leaves the limits of the joints")

    figure = new_figure(10, 4)
    left, right = figure.subplots(1, 2)
    for k, duration in enumerate(DURATIONS):
        left.plot(np.array(values)[k] / before[k], label=f"{duration} s")
    left.set(xlabel="step", ylabel="cost, relative to least jerk")
    left.legend()
    times = np.linspace(0.0, DURATIONS[0], TIMES)
    for style, chosen in (("--", many[0]), ("-", sizes[0])):
        norm = np.linalg.norm(torque(*motion(chosen, DURATIONS[0])) / effort, axis=1)
        right.plot(times, norm, style, label="least torque" if style == "-" else "least jerk")
    right.set(xlabel="time [s]", ylabel="torque / limit", ylim=(0.0, None))
    right.legend()
    save(figure, path)
    if not (after < WANTED * before).all():
        raise SystemExit(f"a motion takes more than {100 * WANTED:.0f} % of what that of least jerk takes")


if __name__ == "__main__":
    main()
