# SPDX-License-Identifier: Apache-2.0
"""The action of `trajectory_proxy`."""
