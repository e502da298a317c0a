# SPDX-License-Identifier: Apache-2.0
"""What keeps commands within reason: brakes, gates, hand-over, envelopes and the stop."""
