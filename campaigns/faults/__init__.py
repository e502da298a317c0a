# SPDX-License-Identifier: Apache-2.0
"""A campaign of faults against the torque nodes, judged by Pinocchio: `python -m campaigns.faults`."""
