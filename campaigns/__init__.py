# SPDX-License-Identifier: Apache-2.0
"""Long runs that look for faults: of what is told to nodes, of inputs, and of the tests as a net. None is installed."""
