# SPDX-License-Identifier: Apache-2.0
"""A robot's package for ros2_control: controllers and simulated hardware in C++ around its kernels."""
