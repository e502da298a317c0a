# SPDX-License-Identifier: Apache-2.0
"""Functions with gradients in JAX, PyTorch and CasADi: what a call, a batch and a loop cost, beside others.

    python -m benchmarks.learning [--quick] [--json FILE]

A UR5, on one core; a call ends when its result is there. Others are MuJoCo's MJX and adam, where they are installed.
Rows whose library is not installed, or of a peer that fails with this version of JAX, are left out.
"""

from __future__ import annotations

import importlib.util
import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import rbd_dynamics as rbd
from benchmarks.measuring.quiet import Guard
from benchmarks.measuring.results import Figure, Table, deliver, parser
from benchmarks.measuring.timing import Call, seconds_per_call, stay_on_one_core
from rbd_dynamics.common.example_robots import robots

SAMPLES, STEPS, MANY = 4096, 100, 500_000
PRECISIONS = {"double": np.float64, "single": np.float32}
Calls = dict[tuple[str, str], Call]


def main() -> int:
    arguments = parser("learning", __doc__).parse_args()
    warnings.simplefilter("ignore")
    stay_on_one_core()  # before JAX counts them
    guard, rounds = Guard.of(quick=arguments.quick), 2 if arguments.quick else 9
    urdf = robots()["ur5_robot"]
    robot = rbd.Robot(rbd.load_urdf(urdf))
    calls: Calls = {}
    for library, made in (("jax", of_jax), ("torch", of_torch), ("casadi", of_casadi)):
        if importlib.util.find_spec(library) is not None:
            calls |= made(robot)
    if importlib.util.find_spec("jax") is not None and importlib.util.find_spec("adam") is not None:
        calls |= of_adam(robot, str(urdf))
    if importlib.util.find_spec("jax") is not None and importlib.util.find_spec("mujoco.mjx") is not None:
        calls |= of_mjx(robot)
    table = Table("learning", ("by", "what", "a call, µs"), labels=2)
    for (by, what), call in calls.items():
        try:
            times, trouble = guard.run(f"{by}, {what}", partial(seconds_per_call, {"": call}, rounds, 3, 5e-3))
        except Exception as error:
            if by.startswith("rbd_dynamics"):
                raise
            print(f"left out, {by} cannot: {str(error)[:80]}", file=sys.stderr)  # not with this version of JAX
            continue
        table.add(by, what, Figure.of(times[""], 1e6), trouble=trouble)
    return deliver(arguments, [table], settings="one core")


def states(robot: rbd.Robot, *lead: int) -> np.ndarray:
    """q, v and tau."""
    return np.random.default_rng(0).normal(size=(3, *lead, robot.model.nv))


# --- JAX ----------------------------------------------------------------------------------------------------------


def jax_calls(by: str, robot: rbd.Robot, acceleration: Callable[..., Any], *, everything: bool = True) -> Calls:
    """Forward dynamics and its gradient, compiled: one sample, a batch, and a loop over time. In each precision."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def loss(q: Any, v: Any, tau: Any) -> Any:
        return acceleration(q, v, tau).sum()

    def rolled(q: Any, v: Any, tau: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            q, v = state
            v = v + 1e-3 * acceleration(q, v, tau)
            return (q + 1e-3 * v, v), None

        return jax.lax.scan(step, (q, v), None, length=STEPS)[0][0].sum()

    forward, gradient = jax.jit(acceleration), jax.jit(jax.grad(loss, argnums=(0, 1, 2)))
    loop, back = jax.jit(rolled), jax.jit(jax.grad(rolled, argnums=(0, 1, 2)))

    def call(function: Any, given: Any) -> Call:
        return lambda: jax.block_until_ready(function(*given))

    found: Calls = {}
    for precision, dtype in PRECISIONS.items() if everything else [("single", np.float32)]:
        one, many = ([jnp.asarray(x, dtype) for x in states(robot, *lead)] for lead in ((), (SAMPLES,)))
        for words, function, given in (
            ("forward dynamics", forward, one),
            ("gradient", gradient, one),
            (f"forward dynamics, {SAMPLES} samples", forward, many),
            (f"gradient, {SAMPLES} samples", gradient, many),
            (f"scan of {STEPS} steps", loop, one),
            (f"gradient of a scan of {STEPS} steps", back, one),
        ):
            if everything or "scan" not in words:
                found[by, f"{words}, {precision} precision"] = call(function, given)
    if everything:
        large = [jnp.asarray(x, np.float32) for x in states(robot, MANY)]
        found[by, f"gradient, {MANY} samples, single precision"] = call(gradient, large)
    return found


def of_jax(robot: rbd.Robot) -> Calls:
    from rbd_dynamics.jax import functions

    return jax_calls("rbd_dynamics, JAX", robot, functions(robot).forward_dynamics)


def of_adam(robot: rbd.Robot, urdf: str) -> Calls:
    """Its base floats; here it is held where it is, as in its own examples."""
    import jax
    import jax.numpy as jnp
    from adam.jax import KinDynComputations

    there = KinDynComputations(urdf, list(robot.model.joint_names))
    pose, still = np.eye(4), np.zeros(6)

    def acceleration(q: Any, v: Any, tau: Any) -> Any:
        mass = there.mass_matrix(pose, q)[6:, 6:]
        return jnp.linalg.solve(mass, tau - there.bias_force(pose, q, still, v)[6:])

    found = jax_calls("adam", robot, acceleration, everything=False)
    mapped = jax.vmap(acceleration)
    many = [jnp.asarray(x, np.float32) for x in states(robot, SAMPLES)]
    batch = jax.jit(mapped)
    slope = jax.jit(jax.grad(lambda q, v, tau: mapped(q, v, tau).sum(), argnums=(0, 1, 2)))
    for words, function in (("forward dynamics", batch), ("gradient", slope)):
        found["adam", f"{words}, {SAMPLES} samples, single precision"] = partial(_ready, function, many)
    return found


def of_mjx(robot: rbd.Robot) -> Calls:
    import jax
    import jax.numpy as jnp
    import mujoco
    from mujoco import mjx

    model = mujoco.MjModel.from_xml_string(rbd.model_to_mjcf(robot.model))
    there = mjx.put_model(model)

    def acceleration(q: Any, v: Any, tau: Any) -> Any:
        data = mjx.make_data(there).replace(qpos=q, qvel=v, qfrc_applied=tau)
        return mjx.forward(there, data).qacc

    mapped = jax.vmap(acceleration)
    found: Calls = {}
    for words, function, wrap, lead in (
        ("forward dynamics", acceleration, False, ()),
        ("gradient", acceleration, True, ()),
        (f"forward dynamics, {SAMPLES} samples", mapped, False, (SAMPLES,)),
        (f"gradient, {SAMPLES} samples", mapped, True, (SAMPLES,)),
    ):
        given = [jnp.asarray(x, np.float32) for x in states(robot, *lead)]
        compiled = jax.jit(jax.grad(lambda *x, f=function: f(*x).sum(), argnums=(0, 1, 2)) if wrap else function)
        found["MJX", f"{words}, single precision"] = partial(_ready, compiled, given)
    return found


def _ready(function: Any, given: Any) -> Any:
    import jax

    return jax.block_until_ready(function(*given))


# --- others -------------------------------------------------------------------------------------------------------


def of_torch(robot: rbd.Robot) -> Calls:
    import torch

    from rbd_dynamics.torch import functions

    f = functions(robot)
    found: Calls = {}
    for words, lead in (("", ()), (f", {SAMPLES} samples", (SAMPLES,))):
        given = [torch.tensor(x, dtype=torch.float32) for x in states(robot, *lead)]
        free = [x.clone().requires_grad_() for x in given]

        def gradient(free: Any = free) -> Any:
            return torch.autograd.grad(f.forward_dynamics(*free).sum(), free)

        found["rbd_dynamics, PyTorch", f"forward dynamics{words}, single precision"] = partial(
            f.forward_dynamics, *given
        )
        found["rbd_dynamics, PyTorch", f"gradient{words}, single precision"] = gradient
    return found


def of_casadi(robot: rbd.Robot) -> Calls:
    import casadi

    from rbd_dynamics.casadi import functions

    f, n = functions(robot), robot.model.nv
    symbols = [casadi.SX.sym(name, n) for name in ("q", "v", "tau")]
    a = f.forward_dynamics(*symbols)
    forward = casadi.Function("forward", symbols, [a])
    gradient = casadi.Function("gradient", symbols, [casadi.gradient(casadi.sum1(a), casadi.vertcat(*symbols))])
    given = [casadi.DM(x) for x in states(robot)]
    return {
        ("rbd_dynamics, CasADi", "forward dynamics, double precision"): lambda: forward(*given),
        ("rbd_dynamics, CasADi", "gradient, double precision"): lambda: gradient(*given),
    }


if __name__ == "__main__":
    raise SystemExit(main())
