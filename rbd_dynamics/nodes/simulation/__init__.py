# SPDX-License-Identifier: Apache-2.0
"""What `simulator` works with."""
