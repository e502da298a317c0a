# SPDX-License-Identifier: Apache-2.0
"""What is around the nodes: launch files, listening to topics, sending trajectories, access control."""
