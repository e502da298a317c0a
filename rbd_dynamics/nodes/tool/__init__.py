# SPDX-License-Identifier: Apache-2.0
"""What the nodes that control a tool work with."""
