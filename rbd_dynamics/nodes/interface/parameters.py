# SPDX-License-Identifier: Apache-2.0
"""Parameters as classes: each field says its type, default, meaning and range. Imports no ROS until used.

A node's parameters are a frozen dataclass, a `ParameterSet`. From its fields come the table of the documentation, the
descriptors that ROS shows, and the checks with clear errors.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from rbd_dynamics.common.excerpt import excerpt

if TYPE_CHECKING:
    from rcl_interfaces.msg import ParameterDescriptor
    from rclpy.node import Node
    from rclpy.parameter import Parameter as RosParameter

Value = Any  # bool | int | float | str | list of str | list of float
T = TypeVar("T")
P = TypeVar("P", bound="ParameterSet")

_KINDS = {
    "bool": (bool,), "int": (int,), "double": (float, int), "string": (str,),
    "string_array": (str,), "double_array": (float, int),
}  # fmt: skip
#: nothing at a robot is larger in SI units; products of a few such numbers are still finite
LARGEST = 1e12
_KIND_OF = {bool: "bool", int: "int", float: "double", str: "string"}


@dataclass(frozen=True)
class Parameter:
    """One parameter of a node.

    kind: "bool", "int", "double", "string", "string_array" or "double_array". An integer is taken where
    a double is wanted, one number where a list of them is. Doubles are finite and at most `LARGEST`;
    `infinite`: infinity may be among them, and means that there is no limit. `dynamic`: may change while
    the node is configured; the others while it is not.
    """

    name: str
    kind: str
    default: Value
    description: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    dynamic: bool = False
    infinite: bool = False

    @property
    def is_array(self) -> bool:
        return self.kind.endswith("_array")

    @property
    def constraint(self) -> str:
        """The range or the choices in words; empty if there are none."""
        if self.choices:
            return ("any of " if self.is_array else "one of ") + ", ".join(self.choices)
        if self.minimum is not None and self.maximum is not None:
            return f"{self.minimum:g} to {self.maximum:g}"
        if self.minimum is not None:
            return f"at least {self.minimum:g}"
        return ""

    def checked(self, value: Value) -> Value:
        """The value with its right type. Raises ValueError that names the parameter."""
        if self.is_array:
            if value is None:
                return []
            if isinstance(value, (float, int)):  # one number stands for a list of one
                value = [value]
            if isinstance(value, (str, bytes)) or not isinstance(value, Sequence) and not hasattr(value, "tolist"):
                raise ValueError(f"parameter {self.name!r} must be a list, got {excerpt(value)}")
            return [self._checked_one(element) for element in list(value)]
        return self._checked_one(value)

    def _checked_one(self, value: Value) -> Value:
        kinds = _KINDS[self.kind]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise ValueError(f"parameter {self.name!r} must be {self.kind}, got {excerpt(value)}")
        if self.choices and value not in self.choices:
            raise ValueError(f"parameter {self.name!r} must be {self.constraint}; got {excerpt(value)}")
        if float in kinds:
            try:
                value = float(value)  # type: ignore[arg-type]
            except OverflowError:
                raise ValueError(f"parameter {self.name!r} is too large for a double: {excerpt(value)}") from None
            if math.isnan(value):
                raise ValueError(f"parameter {self.name!r} is not a number")
            if math.isinf(value) and not self.infinite:
                raise ValueError(f"parameter {self.name!r} must be finite; got {value:g}")
            if LARGEST < abs(value) < math.inf:
                raise ValueError(f"parameter {self.name!r} is {value:g}: too large to compute with")
        low, high = self.minimum, self.maximum
        if (low is not None and value < low) or (high is not None and value > high):
            raise ValueError(f"parameter {self.name!r} must be {self.constraint}; got {value:g}")
        return value


def parameter(
    default: T,
    description: str,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    choices: Sequence[str] = (),
    dynamic: bool = False,
    infinite: bool = False,
) -> T:
    """A field of a `ParameterSet`; arguments as for `Parameter`. The choices of a Literal need not be given."""
    metadata = {
        "description": description, "minimum": minimum, "maximum": maximum, "choices": tuple(choices),
        "dynamic": dynamic, "infinite": infinite,
    }  # fmt: skip
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class ParameterSet:
    """All parameters of a node, lists as tuples. Raises ValueError where they contradict each other."""

    @classmethod
    @functools.cache  # it takes milliseconds, and is wanted at every change of a parameter
    def table(cls) -> tuple[Parameter, ...]:
        """What there is to be known of each."""
        hints = get_type_hints(cls)
        return tuple(_entry(each.name, hints[each.name], each.default, each.metadata) for each in fields(cls))

    @classmethod
    def of(cls: type[P], values: Mapping[str, Value]) -> P:
        """The set with these values by name, others by default. Raises ValueError that names the culprit."""
        return cls(**{each.name: _held(each, values[each.name]) for each in cls.table() if each.name in values})

    def changed(self: P, changes: Iterable[RosParameter], configured: bool) -> P:
        """These, with changes. Raises ValueError for one that is refused."""
        known = {each.name: each for each in self.table()}
        new = {}
        for change in changes:
            each = known.get(change.name)
            if each is None:
                continue  # of rclpy itself
            value = _held(each, change.value)
            if configured and not each.dynamic and value != getattr(self, each.name):
                raise ValueError(f"parameter {each.name!r} can be changed only while the node is not configured")
            new[each.name] = value
        return replace(self, **new)


def _held(parameter: Parameter, value: Value) -> Value:
    """The checked value as a ParameterSet has it."""
    checked = parameter.checked(value)
    return tuple(checked) if parameter.is_array else checked


def _entry(name: str, hint: Any, default: Value, metadata: Mapping[str, Any]) -> Parameter:
    array = get_origin(hint) is tuple
    element = get_args(hint)[0] if array else hint
    choices = metadata["choices"]
    if get_origin(element) is Literal:
        choices, element = get_args(element), str
    kind = _KIND_OF[element] + ("_array" if array else "")
    return Parameter(name, kind, list(default) if array else default, **{**metadata, "choices": choices})


def declare(node: Node, table: Sequence[Parameter]) -> dict[str, Value]:
    """Declare the parameters of a table at a node; returns their values. Raises ValueError for a wrong one.

    First with any type, as files and command lines tell only what the text looks like: `[]` comes without a type,
    `[1, 2]` as integers. Once the value is checked it has its type, and keeps it.
    """
    from rcl_interfaces.msg import ParameterDescriptor

    values = {}
    for parameter in table:
        any_type = ParameterDescriptor(dynamic_typing=True)
        given = node.declare_parameter(parameter.name, parameter.default or None, any_type).value
        if given is None:
            given = parameter.default
        values[parameter.name] = checked = parameter.checked([] if _is_empty(parameter, given) else given)
        node.set_parameters([as_ros(parameter, checked)])
        node.set_descriptor(parameter.name, _descriptor(parameter))
    return values


def ros_type(parameter: Parameter) -> RosParameter.Type:
    """The type of a parameter, as ROS has it."""
    from rclpy.parameter import Parameter as RosParameter

    return RosParameter.Type["INTEGER" if parameter.kind == "int" else parameter.kind.upper()]


def as_ros(parameter: Parameter, value: Value) -> RosParameter:
    """A checked value as ROS has it."""
    from rclpy.parameter import Parameter as RosParameter

    return RosParameter(parameter.name, ros_type(parameter), list(value) if parameter.is_array else value)


def converted(table: Sequence[Parameter], changes: Iterable[RosParameter]) -> list[RosParameter]:
    """The changes with the types of the table, where what came means the same.

    `ros2 param set` and `load` guess a type from the text: `[]` is sent as an empty list of truth values, of bytes by
    other clients, `1` as an integer, `[1, 2]` as integers. What else has another type stays, and is refused.
    """
    from rclpy.parameter import Parameter as RosParameter

    known = {parameter.name: parameter for parameter in table}
    result = []
    for change in changes:
        parameter = known.get(change.name)
        if parameter is not None and change.type_ not in (RosParameter.Type.NOT_SET, ros_type(parameter)):
            value = _meant(parameter, change.value)
            if value is not None:
                change = as_ros(parameter, value)
        result.append(change)
    return result


def _meant(parameter: Parameter, value: Value) -> Value:
    """A value of another type as the parameter has it; None where it is not clear."""
    if _is_empty(parameter, value):
        return []
    numbers = parameter.kind in ("double", "double_array")
    if isinstance(value, (int, float)) and not isinstance(value, bool) and numbers:
        return [float(value)] if parameter.is_array else float(value)
    if parameter.kind == "double_array" and hasattr(value, "__len__") and not isinstance(value, (str, bytes)):
        plain = list(value)
        if all(isinstance(number, (int, float)) and not isinstance(number, bool) for number in plain):
            return [float(number) for number in plain]
    return None


def _is_empty(parameter: Parameter, value: Value) -> bool:
    """An empty list of whatever type, for a parameter that is a list."""
    sized = hasattr(value, "__len__") and not isinstance(value, (str, bytes))
    return parameter.is_array and sized and len(value) == 0


def per_name(what: str, names: Sequence[str], values: Sequence[float], default: float = 0.0) -> dict[str, float]:
    """{name: value} of two parallel lists; no values: the default for all. Raises ValueError."""
    if values and len(values) != len(names):
        raise ValueError(f"{what} has {len(values)} values for {len(names)} joints: {', '.join(names)}")
    for name, count in Counter(names).items():
        if count > 1:
            raise ValueError(f"joint {name!r} is named twice")
    return dict(zip(names, values or [default] * len(names)))


def _descriptor(parameter: Parameter) -> ParameterDescriptor:
    from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor

    when = "at once" if parameter.dynamic else "only while the node is not configured"
    descriptor = ParameterDescriptor(
        description=parameter.description,
        additional_constraints=". ".join(filter(None, [parameter.constraint, f"Changes {when}"])),
        type=ros_type(parameter).value,
    )
    if parameter.minimum is not None:
        high = parameter.maximum
        if parameter.kind == "int":
            last = 2**31 - 1 if high is None else int(high)
            descriptor.integer_range = [IntegerRange(from_value=int(parameter.minimum), to_value=last, step=0)]
        elif parameter.kind == "double":
            top = math.inf if high is None else float(high)
            descriptor.floating_point_range = [
                FloatingPointRange(from_value=float(parameter.minimum), to_value=top, step=0.0)
            ]
    return descriptor
