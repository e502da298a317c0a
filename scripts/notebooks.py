# SPDX-License-Identifier: Apache-2.0
"""Run the notebooks of docs/notebooks and store what they print and draw:  python scripts/notebooks.py [NAME ...]

Cells run one after the other in one name space, without Jupyter: a notebook here is plain Python. A test runs them with
`executed` and compares what they print with what is stored. Edit them with Jupyter, or by hand, then run this.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).resolve().parent.parent / "docs" / "notebooks"
Notebook = dict[str, Any]  # as nbformat 4.5 has it


def paths() -> list[Path]:
    return sorted(NOTEBOOKS.glob("*.ipynb"))


def read(path: Path) -> Notebook:
    return dict(json.loads(path.read_text(encoding="utf-8")))


def text(notebook: Notebook) -> str:
    """As Jupyter writes it."""
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def executed(path: Path) -> Notebook:
    """The notebook with new outputs. Its cells run in an empty folder, which is removed; errors are the cells' own."""
    import matplotlib

    matplotlib.use("Agg")
    notebook, names = read(path), {"__name__": "__main__"}
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            code = (cell for cell in notebook["cells"] if cell["cell_type"] == "code")
            for count, cell in enumerate(code, start=1):
                cell["execution_count"] = count
                cell["outputs"] = _outputs("".join(cell["source"]), f"{path.name}, cell {count}", names, count)
        finally:
            os.chdir(here)
    return notebook


def _outputs(source: str, name: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Run a cell: what it prints, its figures, and the value of its last line if that is an expression."""
    import matplotlib.pyplot as plt

    body = ast.parse(source, name).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) and not source.rstrip().endswith(";") else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), name, "exec", dont_inherit=True), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval", dont_inherit=True), names)
    found: list[dict[str, Any]] = []
    if printed.getvalue():
        found.append({"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(keepends=True)})
    for number in plt.get_fignums():
        picture = io.BytesIO()
        plt.figure(number).savefig(picture, format="png", dpi=120, metadata={"Software": None})
        data = {"image/png": base64.b64encode(picture.getvalue()).decode()}
        found.append({"data": data, "metadata": {}, "output_type": "display_data"})
    plt.close("all")
    if value is not None:
        answer = {"text/plain": repr(value).splitlines(keepends=True)}
        found.append({"data": answer, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return found


def as_markdown(notebook: Notebook) -> str:
    """The notebook as a page: for the site, and for what looks at the pages' links."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            shown = "".join(output.get("text") or data.get("text/plain") or ())
            if shown:
                parts.append(f"```text\n{shown.rstrip()}\n```")
            if "image/png" in data:
                parts.append(f"![what the cell above draws](data:image/png;base64,{data['image/png']})")
    return "\n\n".join(parts) + "\n"


def main() -> None:
    chosen = [NOTEBOOKS / f"{name.removesuffix('.ipynb')}.ipynb" for name in sys.argv[1:]] or paths()
    for path in chosen:
        path.write_text(text(executed(path)), encoding="utf-8")
        print(path.relative_to(NOTEBOOKS.parent.parent))


if __name__ == "__main__":
    main()
