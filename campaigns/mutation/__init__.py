# SPDX-License-Identifier: Apache-2.0
"""The tests as a net: which faults in the code they notice. `python -m campaigns.mutation`."""
