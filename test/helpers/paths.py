# SPDX-License-Identifier: Apache-2.0
"""Where the tests find what is outside of them, wherever they lie themselves."""

from pathlib import Path

#: the checkout
ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
#: of real robots; not part of the checkout
RECORDINGS = ROOT.parent / "shared" / "data"
