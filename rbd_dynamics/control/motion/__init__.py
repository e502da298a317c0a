# SPDX-License-Identifier: Apache-2.0
"""What joints shall do: trajectories, limits, goals and set-points, and the motion that follows from them."""
