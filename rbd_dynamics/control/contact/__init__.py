# SPDX-License-Identifier: Apache-2.0
"""What touches the robot and what the model gets wrong: observers, filters and detectors while it runs."""
