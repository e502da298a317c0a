# SPDX-License-Identifier: Apache-2.0
"""Fuzzing of everything that reads bytes from others: `python -m campaigns.fuzz`."""
