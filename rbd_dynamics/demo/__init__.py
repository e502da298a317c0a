# SPDX-License-Identifier: Apache-2.0
"""The demo: feedforward on a simulated Franka Panda, with real nodes in real processes."""
