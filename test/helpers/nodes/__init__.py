# SPDX-License-Identifier: Apache-2.0
"""Nodes as processes, and who talks to them."""
