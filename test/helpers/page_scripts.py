# SPDX-License-Identifier: Apache-2.0
"""The scripts of a page that shows a robot, run by Node.js without a page."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from typing import Any

import pytest

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="no node on PATH")


def in_node(page: Any, expression: str) -> Any:
    """The value of an expression, or what it promises, for which the page's scripts and constants are there."""
    parts = re.findall(r"<script>(.*?)</script>", page.html, re.S)
    code = (
        "const vm = require('vm'), fs = require('fs'), all = JSON.parse(fs.readFileSync(0)), c = {};"
        "Object.assign(c, {self: c, matchMedia: () => ({}), atob, WebAssembly}); vm.createContext(c);"
        "for (const part of all.slice(0, -1)) vm.runInContext(part, c);"
        "Promise.resolve(vm.runInContext(all.at(-1), c)).then(value => console.log(JSON.stringify(value)));"
    )
    text = json.dumps([*parts[:2], expression])
    done = subprocess.run([NODE, "-e", code], input=text, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
