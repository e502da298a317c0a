# SPDX-License-Identifier: Apache-2.0
"""Reports as HTML pages, and the style of their pictures."""
