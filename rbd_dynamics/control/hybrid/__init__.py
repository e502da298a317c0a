# SPDX-License-Identifier: Apache-2.0
"""Hybrid position/force control under constraints: laws, gains, and the supervisor of a task that presses."""
