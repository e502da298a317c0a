# SPDX-License-Identifier: Apache-2.0
"""What replays find in recordings, how fast, and what motions to record."""
