# SPDX-License-Identifier: Apache-2.0
"""Controllers and what they need: pure functions and small state, no ROS."""
