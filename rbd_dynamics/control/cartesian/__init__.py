# SPDX-License-Identifier: Apache-2.0
"""Control of a tool in space: impedance, operational-space control, and what the tool shall do."""
