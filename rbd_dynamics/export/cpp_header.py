# SPDX-License-Identifier: Apache-2.0
"""A thin header for C++: the robot with its load as an object, arrays whose sizes are checked."""

from __future__ import annotations

from rbd_dynamics.export.c_code import output_name
from rbd_dynamics.export.exported import Exported
from rbd_dynamics.export.selection import HELPERS, Selected
from rbd_dynamics.export.texts import kernel_text

#: what the robot keeps, as the C functions take it
_KEPT = {"inertia": "inertia_.data()", "fixed_inertia": "{prefix}_fixed_inertia"}


def cpp_header(robot: Exported) -> str:
    prefix, capital = robot.prefix, robot.capital
    kernels = [each for each in robot.kernels if each.name not in HELPERS]
    return f"""\
// {robot.origin}
// C++17. An argument is a std::array, a C array, or whatever has data() and size(): std::vector, Eigen's vectors and
// its row-major matrices. A wrong size is an assertion. Nothing throws and nothing allocates.
#ifndef {capital}_HPP
#define {capital}_HPP

#include <array>
#include <cassert>
#include <cstddef>
#include <utility>

#include "{prefix}.h"

namespace {prefix}
{{

using Real = {robot.real};
constexpr std::size_t nq = {capital}_NQ, nv = {capital}_NV, bodies = {capital}_BODIES;

enum class Status : int
{{
  ok = {capital}_OK,
  bad_input = {capital}_BAD_INPUT,
  bad_result = {capital}_BAD_RESULT,
  out_of_range = {capital}_OUT_OF_RANGE
}};

// N numbers that somebody else keeps.
template <std::size_t N, class T = Real>
class Numbers
{{
public:
  template <class Container, class = decltype(std::declval<Container &>().data())>
  Numbers(Container && container) : data_(container.data())
  {{
    assert(static_cast<std::size_t>(container.size()) == N);
  }}
  Numbers(T (&array)[N]) : data_(array) {{}}
  T * data() const {{ return data_; }}
  static constexpr std::size_t size() {{ return N; }}

private:
  T * data_;
}};

template <std::size_t N>
using In = Numbers<N, const Real>;
template <std::size_t N>
using Out = Numbers<N, Real>;

class Robot
{{
public:
  Robot() {{ detach(); }}

  // Without any load.
  void detach()
  {{
    for (std::size_t i = 0; i < 10 * bodies; ++i) inertia_[i] = {prefix}_inertia[i];
  }}

  // A load at a frame, {capital}_FRAME_..., beside those that are there. com: in the frame; rotational: about it.
  Status attach(int frame, Real mass, In<3> com, In<6> rotational = point_mass)
  {{
    return static_cast<Status>({prefix}_attach(inertia_.data(), frame, mass, com.data(), rotational.data()));
  }}

{chr(10).join(_method(robot, each) for each in kernels)}
private:
  static constexpr std::array<Real, 6> point_mass{{}};
  std::array<Real, 10 * bodies> inertia_;
}};

}}  // namespace {prefix}

#endif  // {capital}_HPP
"""


def _method(robot: Exported, kernel: Selected) -> str:
    inputs = [argument.name for argument in kernel.signature.inputs]
    parameters, given = [], []
    for argument in kernel.signature.inputs:
        if argument.name in _KEPT:
            given.append(_KEPT[argument.name].format(prefix=robot.prefix))
            continue
        kind = f"Numbers<{argument.size}, const unsigned char>" if argument.boolean else f"In<{argument.size}>"
        parameters.append(f"{kind} {argument.name}")
        given.append(f"{argument.name}.data()")
    for argument in kernel.signature.outputs:
        name = output_name(argument, inputs)
        parameters.append(f"Out<{argument.size}> {name}")
        given.append(f"{name}.data()")
    return f"""\
  // {kernel_text(kernel.name)}
  Status {kernel.identifier}({", ".join(parameters)}) const
  {{
    return static_cast<Status>({robot.prefix}_{kernel.identifier}({", ".join(given)}));
  }}
"""
