# SPDX-License-Identifier: Apache-2.0
"""What nodes that command a robot share: silence, and the clocks that watch them."""
