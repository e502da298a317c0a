# SPDX-License-Identifier: Apache-2.0
"""Control laws on simulated arms, and retiming: what they reach, how well, at what cost."""
