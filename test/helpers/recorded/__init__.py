# SPDX-License-Identifier: Apache-2.0
"""Recordings with known content, and what a replay makes of them."""
