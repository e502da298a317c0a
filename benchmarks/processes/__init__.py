# SPDX-License-Identifier: Apache-2.0
"""Nodes and commands as processes: latencies, gaps between torques, time to start."""
