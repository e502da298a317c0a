# SPDX-License-Identifier: Apache-2.0
"""What makes the sources a package: CMake, colcon, and a page that says how to use them."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from rbd_dynamics import __version__
from rbd_dynamics.export.exported import Exported
from rbd_dynamics.export.selection import HELPERS
from rbd_dynamics.export.texts import kernel_text


def cmake_lists(robot: Exported) -> str:
    prefix = robot.prefix
    return f"""\
# {robot.origin}
cmake_minimum_required(VERSION 3.16)
project({prefix} VERSION {__version__} LANGUAGES C)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

add_library({prefix} src/{prefix}.c)
add_library({prefix}::{prefix} ALIAS {prefix})
set_target_properties({prefix} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON POSITION_INDEPENDENT_CODE ON)
target_include_directories({prefix} PUBLIC
  $<BUILD_INTERFACE:${{CMAKE_CURRENT_SOURCE_DIR}}/include> $<INSTALL_INTERFACE:include>)
# fused multiply-add where the processor has it; for the processor at hand add -DCMAKE_C_FLAGS=-march=native
target_compile_options({prefix} PRIVATE $<$<C_COMPILER_ID:GNU,Clang,AppleClang>:-ffp-contract=fast>)
if(UNIX)
  target_link_libraries({prefix} PUBLIC m)
endif()

include(CTest)
if(BUILD_TESTING)
  add_executable({prefix}_self_test test/{prefix}_self_test.c)
  set_target_properties({prefix}_self_test PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON)
  target_link_libraries({prefix}_self_test PRIVATE {prefix})
  add_test(NAME {prefix}_self_test COMMAND {prefix}_self_test)
endif()

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
install(TARGETS {prefix} EXPORT {prefix}Config)
install(DIRECTORY include/ DESTINATION ${{CMAKE_INSTALL_INCLUDEDIR}})
install(EXPORT {prefix}Config NAMESPACE {prefix}:: DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/cmake/{prefix})
write_basic_package_version_file({prefix}ConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${{CMAKE_CURRENT_BINARY_DIR}}/{prefix}ConfigVersion.cmake
  DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/cmake/{prefix})
install(FILES package.xml DESTINATION ${{CMAKE_INSTALL_DATADIR}}/{prefix})
"""


def package_xml(robot: Exported) -> str:
    """The package.xml with which colcon builds the folder as it is."""
    return f"""\
<?xml version="1.0"?>
<package format="3">
  <name>{robot.prefix}</name>
  <version>{__version__}</version>
  <description>{escape(robot.origin)}</description>
  <maintainer email="nobody@example.com">whoever exported it</maintainer>
  <license>Apache-2.0</license>
  <buildtool_depend>cmake</buildtool_depend>
  <export>
    <build_type>cmake</build_type>
  </export>
</package>
"""


def read_me(robot: Exported, objects: Sequence[tuple[str, str]]) -> str:
    """objects: folders of object files, and what they are for."""
    prefix = robot.prefix
    kernels = [each for each in robot.kernels if each.name not in HELPERS]
    table = "\n".join(
        f"| `{prefix}_{each.identifier}` | {kernel_text(each.name)} | {each.program.operations} |" for each in kernels
    )
    built = "\n".join(f"- `{folder}/`: {text}" for folder, text in objects)
    compiled = f"\nCompiled already, to be linked in place of `src/{prefix}.c`:\n\n{built}\n" if objects else ""
    return f"""\
# {prefix}

{robot.origin} `include/{prefix}.h` says all; `include/{prefix}.hpp` is the same for C++.

| function | | operations |
|---|---|---|
{table}

```
cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure
cmake --install build --prefix /where/you/like
```

Then `find_package({prefix})` and `target_link_libraries(mine {prefix}::{prefix})`. In a workspace of colcon this folder
is a package. Without CMake: `cc -std=c99 -O3 -Iinclude src/{prefix}.c`, which needs the C library's `libm`; never with
`-ffast-math`.
{compiled}"""
