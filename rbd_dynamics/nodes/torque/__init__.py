# SPDX-License-Identifier: Apache-2.0
"""Nodes that answer joint states by torques: one cycle, and its parts."""
