# SPDX-License-Identifier: Apache-2.0
"""Simulation of a robot in time: integrators and what a real robot adds to its equation of motion."""
