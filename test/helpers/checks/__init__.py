# SPDX-License-Identifier: Apache-2.0
"""Other ways to the same numbers: matrix formulas, differences, other libraries."""
