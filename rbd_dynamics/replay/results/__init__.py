# SPDX-License-Identifier: Apache-2.0
"""What a replay leaves: a summary as plain data, files, a recording, a corrected description."""
