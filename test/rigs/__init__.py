# SPDX-License-Identifier: Apache-2.0
"""Robots with plants around them, which tests, benchmarks and campaigns share; most need MuJoCo."""
