# SPDX-License-Identifier: Apache-2.0
"""Calls of the library: their time beside that of other libraries, in batches, under constraints, exported as C."""
