# SPDX-License-Identifier: Apache-2.0
# Passed to CMake as CMAKE_PROJECT_INCLUDE when ROS 2 comes from PyPI wheels.
#
# The wheels' imported targets still list include directories of the machine that built them, and CMake refuses to
# generate when a listed directory does not exist. At the end of each directory this drops those that do not.
# Where all directories exist, as on an ordinary ROS 2 installation, it changes nothing.
#
# Each interface of this project becomes ten small files that all include the same large headers. Those of a library are
# compiled as one file, in a fraction of the time. Not those of the generator for C, whose descriptions have static names in
# common.

if(NOT CMAKE_CURRENT_SOURCE_DIR STREQUAL CMAKE_SOURCE_DIR)
  return()
endif()

function(_rbd_drop_missing_include_dirs)
  get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(listed ${target} INTERFACE_INCLUDE_DIRECTORIES)
    if(NOT listed)
      continue()
    endif()
    set(kept "")
    foreach(directory IN LISTS listed)
      # Generator expressions are left to CMake.
      if(directory MATCHES "\\$<" OR EXISTS "${directory}")
        list(APPEND kept "${directory}")
      endif()
    endforeach()
    if(NOT kept STREQUAL listed)
      set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${kept}")
    endif()
  endforeach()
endfunction()

function(_rbd_compile_type_support_at_once)
  if(NOT PROJECT_NAME STREQUAL "rbd_dynamics_interfaces")
    return()
  endif()
  get_property(targets DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    if(target MATCHES "interfaces__rosidl_typesupport_(fastrtps_c|fastrtps_cpp|introspection_c|introspection_cpp|c|cpp)$")
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 100)
      target_compile_options(${target} PRIVATE -Wno-redundant-decls)
    endif()
  endforeach()
endfunction()

cmake_language(DEFER CALL _rbd_drop_missing_include_dirs)
cmake_language(DEFER CALL _rbd_compile_type_support_at_once)
