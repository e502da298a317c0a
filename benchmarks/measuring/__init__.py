# SPDX-License-Identifier: Apache-2.0
"""How all benchmarks measure: short calls, quiet machines, tables of results."""
