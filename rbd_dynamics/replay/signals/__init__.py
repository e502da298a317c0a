# SPDX-License-Identifier: Apache-2.0
"""From messages to filtered motion and efforts on a uniform grid: cleaned, corrected, cut into segments."""
