# SPDX-License-Identifier: Apache-2.0
"""The algorithms as kernels: which vectors go in and out of each, and how they are called with what users pass."""
