# SPDX-License-Identifier: Apache-2.0
"""Simulators: time of a step, orders, drift of energy and constraints."""
