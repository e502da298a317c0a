# SPDX-License-Identifier: Apache-2.0
"""The verdict on each effort: by Pinocchio, and by what is known of a node."""
