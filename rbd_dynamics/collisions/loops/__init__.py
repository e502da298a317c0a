# SPDX-License-Identifier: Apache-2.0
"""The search for contacts in the part of Python that `compiler.loops` translates to machine code."""
