# SPDX-License-Identifier: Apache-2.0
"""A model bound to a backend: its kernels, its payloads, its wrenches. What `Robot` and `Constrained` stand on."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from rbd_dynamics.common.deprecated import successor
from rbd_dynamics.common.excerpt import excerpt
from rbd_dynamics.common.process.process_lock import ProcessLock
from rbd_dynamics.common.real_numbers import real_array, transposed_hint
from rbd_dynamics.compiler import backends, notice
from rbd_dynamics.compiler.backends import Backend, Kernel
from rbd_dynamics.compiler.precision import SINGLE
from rbd_dynamics.compiler.program import Function, Signature
from rbd_dynamics.kernels.evaluation import Errors, Evaluation, empty_arrays
from rbd_dynamics.kernels.inputs import RowSource
from rbd_dynamics.kernels.specialise import specialise
from rbd_dynamics.model.errors import ModelError
from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.model.payload import Payload, payload_as_given, payload_inertia
from rbd_dynamics.model.shown import as_html, in_a_line
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.se3 import wrench_to_parent

Array = NDArray[np.float64]
B = TypeVar("B", bound="BoundModel")
Wrenches = Mapping[str, ArrayLike]

_payload_lock = ProcessLock()

BACKENDS = ("llvm", "python", "reference")


class BoundModel:
    """Parameters as for `Robot`."""

    def __init__(
        self,
        model: Model,
        *,
        backend: Backend | Literal["numba"] | None = None,
        friction: bool = False,
        errors: Errors = "raise",
        threads: int = 1,
        dtype: DTypeLike = np.float64,
    ) -> None:
        if not isinstance(model, Model):
            raise TypeError(f"Robot needs a Model, as load_urdf makes it, not {type(model).__name__}")
        if isinstance(backend, str) and backend == "numba":
            text = 'backend "numba" is now called "llvm"; the old name will be removed in 2.0'
            warnings.warn(text, DeprecationWarning, stacklevel=2)
            backend = "llvm"
        if backend is not None and not (isinstance(backend, str) and backend in BACKENDS):
            raise ValueError(f"backend {excerpt(backend)} is not one of {', '.join(BACKENDS)}")
        if not isinstance(errors, str) or errors not in ("raise", "nan"):
            raise ValueError(f"errors {excerpt(errors)} is not one of raise, nan")
        if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
            raise ValueError(f"threads {excerpt(threads)} is not 1 or a larger whole number")
        self.dtype = _real_type(dtype)
        self._empty = empty_arrays(self.dtype)
        self.model = model
        self.errors: Errors = errors
        self.threads = threads
        self.backend: Backend = backend or backends.best_backend()
        self.friction = friction
        try:
            self._attach({})
        except OverflowError as error:
            raise ModelError(f"the inertia of {error} is too large for {self.dtype}") from None
        self._forget_kernels()

    def _forget_kernels(self) -> None:
        self._kernels: dict[str, Evaluation] = {}
        self._constrained_kernels: dict[str, dict[str, Evaluation]] = {}

    def __repr__(self) -> str:
        payloads = ", ".join(f"{load.mass:.4g} kg at {frame!r}" for frame, load in self.payloads.items())
        words = [self.backend, *["friction"] * self.friction, *['errors="nan"'] * (self.errors == "nan")]
        words += [f"{self.threads} threads"] * (self.threads > 1) + [self.dtype.name] * (self.dtype != np.float64)
        words += [f"payload {payloads}"] if payloads else []
        return f"<{type(self).__name__} {in_a_line(self.model)}; {', '.join(words)}>"

    def _repr_html_(self) -> str:
        return as_html(type(self).__name__, self.model)

    def __getstate__(self) -> dict[str, Any]:
        """State for copies and other processes, without kernels: they find them in the cache when they need them."""
        forgotten = ("_kernels", "_fast_", "_constrained", "_contact", "_checked_")
        return {name: value for name, value in vars(self).items() if not name.startswith(forgotten)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._forget_kernels()

    # --- kernels ----------------------------------------------------------------------------------

    def compile(
        self, *names: str, progress: Callable[[str, int, int], None] | None = None, batches: bool = True
    ) -> None:
        """Make kernels ahead of use, so that no call waits for a compiler, with one sample or many.

        Without it, a kernel's first call waits for the code for one sample, and the first with many for that.

        Parameters:
            names: of methods ("inverse_dynamics", "mass_matrix"...), with "_f_ext" for the variant
                with external wrenches; those of a frame as "pose:tool0", "jacobian:tool0", "jacobian_aligned:tool0".
            progress: called as progress(name, number, total) before each kernel. With it, nothing is logged of a
                kernel that takes long.
            batches: False: only the code for one sample, in half the time, as for a control loop.

        Raises KeyError for an unknown name.
        """
        for number, name in enumerate(names, start=1):
            if not isinstance(name, str):
                raise TypeError(f"names: the name of an algorithm is a text, not {excerpt(name)}")
            if progress is None:
                self._compiled(name, batches)
                continue
            progress(name, number, len(names))
            with notice.silent():
                self._compiled(name, batches)

    def _compiled(self, name: str, batches: bool) -> None:
        found = self._kernels.get(name)
        if found is None:
            self._evaluation(name, batches=batches)
        elif batches:
            found.complete()

    def _evaluation(self, name: str, *, batches: bool = False) -> Evaluation:
        """batches: with the code for batches, which else is made when it is first needed."""
        found = self._kernels.get(name)
        if found is None:
            signature, function = specialise(self.model, name, friction=self.friction)
            if self.dtype != np.float64:
                signature = replace(signature, precision=SINGLE)
            kernel = backends.build(self.backend, name, signature, function, batches=batches)
            found = self._kernels[name] = self._evaluation_of(name, kernel, function)
            if hasattr(self, f"_fast_{name}"):  # methods that call the kernel itself
                setattr(self, f"_fast_{name}", found.fast)
        return found

    def evaluation(self, name: str) -> Evaluation:
        """A kernel of the catalog by its name, as in `compile`, made where there is none yet. Raises KeyError."""
        return self._kernels.get(name) or self._evaluation(name)

    @property
    def ready_kernels(self) -> frozenset[str]:
        """Names of the kernels of the catalog that need no compiling any more."""
        return frozenset(self._kernels)

    def constrained_kernel(self, name: str, constraints: RowSource, key: str, *, batches: bool = False) -> Evaluation:
        """A kernel of the catalog for a set of constraints; sets of one key share it. Raises KeyError.

        batches: with the code for batches, which else is made when it is first needed.
        """
        found = self._constrained_kernels.setdefault(key, {})
        if name not in found:
            signature, function = specialise(self.model, name, friction=self.friction, constraints=constraints)
            found[name] = self.custom_kernel(name, signature, function, batches=batches)
        elif batches:
            found[name].complete()
        return found[name]

    def custom_kernel(
        self, name: str, signature: Signature, function: Function, *, batches: bool = False
    ) -> Evaluation:
        """A kernel of a function of one's own over generic scalars, made and cached like the robot's.

        `name` is for people: which kernel it is is decided by what the function computes. Where it needs inertias,
        make `inertia_input` an input: payloads then need no other kernel. `kernels.specialise.function_of` makes
        such a function of an algorithm. batches: with the code for batches, which else is made when it is first
        needed. Raises TypeError for a robot in single precision.
        """
        require_double(self, name)
        kernel = backends.build(self.backend, name, signature, function, batches=batches)
        return self._evaluation_of(name, kernel, function)

    def _evaluation_of(self, name: str, kernel: Kernel, function: Function) -> Evaluation:
        return Evaluation(name, self.model, kernel, function, errors=self.errors, threads=self.threads)

    @property
    def inertia_input(self) -> Array:
        """`inertial_parameters` for kernels: not a copy, so not to be written to."""
        return self._inertia

    def _run(self, name: str, inputs: Sequence[Any], out: Any = None) -> Any:
        """Any input that is not the fast path's: a batch, lists, other types, something wrong."""
        return self.evaluation(name)(inputs, out)

    def _refused(self, name: str, inputs: Sequence[Any], out: Any) -> Any:
        """What the fast path has refused: a batch, or something else; without wrenches."""
        found = self._kernels.get(name)
        return self._run(name, inputs, out) if found is None else found.other(inputs, out=out)

    def _run_under(self, name: str, inputs: tuple[Any, ...], f_ext: Wrenches | None, out: Any) -> Any:
        """The same with external wrenches, if there are any, and with the bodies' inertias."""
        if f_ext is None:
            return self._run(name, (*inputs, self._inertia), out)
        return self._run(f"{name}_f_ext", (*inputs, self.body_wrenches(f_ext), self._inertia), out)

    # --- payload ----------------------------------------------------------------------------------

    def set_payload(
        self,
        frame: str,
        mass: float,
        *,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
    ) -> None:
        """Attach a rigid load to a frame, in place of the one attached there before; mass 0 detaches it.

        com (3,): its centre of mass in the frame, m. inertia (3, 3) or (ixx, ixy, ixz, iyy, iyz,
        izz): about its centre of mass, in the frame's axes, kg m^2. No kernel is compiled; a call
        that is under way in another thread uses either all of the old or all of the new load. At a frame that is fixed
        to the world it moves the centre of mass, and changes no torque.
        Raises KeyError for an unknown frame, ModelError for an impossible load.
        """
        body, load = payload_inertia(self.model, frame, mass, com=com, inertia=inertia)
        given = payload_as_given(frame, mass, com=com, inertia=inertia)
        with _payload_lock:  # of two threads none loses the other's load
            payloads = dict(self._payloads)
            payloads.pop(frame, None)
            if load.mass != 0.0:
                payloads[frame] = (body, load, given)
            try:
                self._attach(payloads)
            except OverflowError:
                raise ModelError(f"payload at {frame!r}: with it the inertia is too large to compute with") from None

    def _attach(self, payloads: dict[str, tuple[int, RigidInertia, Payload]]) -> None:
        """Make these the loads. Raises OverflowError that names a body whose inertia is too large."""
        parameters = self._inertial_parameters(payloads)
        with np.errstate(over="ignore"):
            rounded = parameters.astype(self.dtype, copy=False)
        finite = np.isfinite(rounded).all(axis=1)
        if not finite.all():
            names = [*(f"body {body.name!r}" for body in self.model.bodies), "what is fixed to the world"]
            raise OverflowError(names[int(np.argmin(finite))])
        for array in (parameters, rounded):
            array.flags.writeable = False  # no result may be written there
        self._payloads, self._parameters = payloads, parameters
        self._inertia, self._fixed = rounded[:-1], rounded[-1]

    @property
    def payloads(self) -> dict[str, Payload]:
        """The loads that are attached, by frame, as they were given to `set_payload`."""
        return {
            frame: Payload(given.mass, given.com.copy(), given.inertia.copy())
            for frame, (_, _, given) in self._payloads.items()
        }

    def carrying(
        self: B, frame: str, mass: float, *, com: Sequence[float] = (0.0, 0.0, 0.0), inertia: ArrayLike | None = None
    ) -> B:
        """Another robot with the same kernels, and this load besides: to see what it would do. As `set_payload`."""
        other = copy.copy(self)
        other._kernels = self._kernels
        other.set_payload(frame, mass, com=com, inertia=inertia)
        return other

    @property
    def inertial_parameters(self) -> Array:
        """(bodies, 10): m, m c, Ixx, Ixy, Ixz, Iyy, Iyz, Izz of each body at its frame, payloads included."""
        return self._parameters[:-1].copy()

    def _inertial_parameters(self, payloads: Mapping[str, tuple[int, RigidInertia, Payload]]) -> Array:
        """(bodies + 1, 10), the last of what is fixed to the world, with the payloads."""
        inertias = [*(body.inertia for body in self.model.bodies), self.model.fixed_inertia]  # last: WORLD
        for body, load, _ in payloads.values():
            inertias[body] = inertias[body] + load
        return np.array([inertia.parameters for inertia in inertias], dtype=float)

    def loaded_model(self) -> Model:
        """The model with the loads as parts of its bodies."""
        inertias = [RigidInertia.from_parameters(tuple(row)) for row in self._parameters.tolist()]
        bodies = tuple(replace(body, inertia=inertia) for body, inertia in zip(self.model.bodies, inertias))
        return replace(self.model, bodies=bodies, fixed_inertia=inertias[WORLD])

    def show(self, **options: Any) -> Any:
        """Deprecated: `rbd_dynamics.show(robot)`."""
        return successor("Robot.show", "show")(self, **options)

    # --- wrenches ---------------------------------------------------------------------------------

    def body_wrenches(self, f_ext: Wrenches) -> Array:
        """Wrenches on frames as one on each body, in the body's frame: (..., bodies, 6).

        f_ext: {frame name: wrench (m, f) (..., 6) that acts on the robot, in that frame}; leading axes broadcast.
        """
        if not isinstance(f_ext, Mapping):
            shape = f" of shape {f_ext.shape}" if isinstance(f_ext, np.ndarray) else ""
            raise TypeError(
                f"f_ext: expected a mapping {{frame: wrench (m, f)}}, as {{'{self.model.frame_names[-1]}': ...}}, "
                f"not {type(f_ext).__name__}{shape}"
            )
        given: dict[str, Array] = {}
        for name, value in f_ext.items():
            wrench = given[name] = real_array(value, f"f_ext[{name!r}]")
            if wrench.ndim == 0 or wrench.shape[-1] != 6:
                shape = f"has shape {wrench.shape}, expected (6,) or (..., 6): a wrench (m, f), moment first"
                raise ValueError(f"f_ext[{name!r}] {shape}{transposed_hint(wrench.shape, 6)}")
            if self.errors == "raise" and not np.isfinite(wrench).all():
                raise ValueError(f"f_ext[{name!r}] is not finite: {wrench[~np.isfinite(wrench)][0]}")
        try:
            lead = np.broadcast_shapes(*(wrench.shape[:-1] for wrench in given.values()))
        except ValueError:
            text = ", ".join(f"f_ext[{name!r}] has {wrench.shape[:-1]}" for name, wrench in given.items())
            raise ValueError(f"numbers of samples differ: {text}") from None
        total = np.zeros((*lead, len(self.model.bodies), 6))
        for name, wrench in given.items():
            frame = self.model.frame(name)
            if frame.body != WORLD:
                parts = wrench_to_parent(frame.placement, tuple(wrench[..., k] for k in range(6)))
                total[..., frame.body, :] += np.stack(np.broadcast_arrays(*parts), axis=-1)
        return total


def require_double(robot: BoundModel, what: str) -> None:
    """Raises TypeError for a robot in single precision, where what is named needs double precision."""
    if robot.dtype != np.float64:
        raise TypeError(f"{what}: needs a robot in double precision, not one of dtype {robot.dtype}")


def _real_type(dtype: DTypeLike) -> np.dtype[Any]:
    """Raises ValueError for what is neither float64 nor float32."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = np.dtype(object)
    if dtype is None or found not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise ValueError(f"dtype {excerpt(dtype)} is neither float64 nor float32")
    return found
