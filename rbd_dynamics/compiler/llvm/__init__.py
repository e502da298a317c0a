# SPDX-License-Identifier: Apache-2.0
"""Programs as LLVM's intermediate language, and as machine code."""
