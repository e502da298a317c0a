# SPDX-License-Identifier: Apache-2.0
"""The way from messages to filtered motion and efforts on a uniform grid: cleaned, corrected, cut into segments."""
