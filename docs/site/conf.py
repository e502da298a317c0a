# SPDX-License-Identifier: Apache-2.0
"""The site that `make docs` builds: Sphinx over the Markdown of the repository as it is, and over the docstrings.

Links, pictures, formulas and navigation are those that a code host shows too: docs/index.md is the start page, and its
lists of links are the navigation. Docstrings are Markdown as well. Nothing is fetched when the site is read: MathJax,
which sets the formulas, is one file of the site, with its letters as outlines and no fonts beside it.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.utils import new_document
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.addnodes import pending_xref
from sphinx.util.inspect import stringify_signature
from sphinx.util.nodes import make_refnode

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import rbd_dynamics  # noqa: E402

project = "rbd_dynamics"
author = copyright = "the authors of rbd_dynamics"
version = release = rbd_dynamics.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx.ext.viewcode", "sphinx_copybutton"]
root_doc = "docs/index"
include_patterns = ["*.md", "docs/*.md", "docs/notebooks/*.ipynb", "docs/site/api/*.rst", "examples/README.md"]
exclude_patterns = [".*", "build", "install", "log", "rbd_dynamics", "test", "benchmarks", "requirements", "*_output"]
templates_path = ["templates"]
html_static_path = ["static"]
html_css_files = ["site.css"]
nitpicky = False  # names of the standard library and of NumPy are not looked up: that needs the network

myst_heading_anchors = 4
myst_links_external_new_tab = True
myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = ["math"]  # ```math, in which a code host does not look for Markdown
mathjax_path = "mathjax.js"  # of _static
mathjax4_config = {"options": {"enableMenu": False}}  # whose entries would load more

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_default_options = {"members": True}
python_maximum_signature_line_length = 100
add_module_names = False
toc_object_entries_show_parents = "hide"
viewcode_line_numbers = True

html_theme = "furo"
html_title = f"rbd_dynamics {version}"
html_additional_pages = {"index": "redirect.html"}
html_copy_source = False
html_show_search_summary = False  # would be fetched, which a browser refuses for files
html_show_copyright = False
copybutton_exclude = ".linenos, .gp"


def navigation(text: str) -> str:
    """The lists of links under the headings of the start page, as Sphinx's navigation."""
    trees = []
    for heading, below in re.findall(r"^## (.*)\n((?:(?!## ).*\n)*)", text, re.MULTILINE):
        links = re.findall(r"^- \[([^]]*)\]\(([^)#]+)\.(?:md|rst|ipynb)\)", below, re.MULTILINE)
        entries = [f"{text} <{target}>" for text, target in links]
        trees.append("\n".join(["```{toctree}", ":hidden:", f":caption: {heading}", "", *entries, "```", ""]))
    return "\n".join(trees)


def add_navigation(app: Any, docname: str, source: list[str]) -> None:
    if docname == root_doc:
        source[0] += "\n" + navigation(source[0])


def add_mathjax(app: Any) -> None:
    """MathJax from the package that has it, into the site."""
    if app.builder.format == "html":
        package = importlib.util.find_spec("sphinx-mathjax-offline")
        assert package is not None and package.origin is not None
        target = Path(app.outdir) / "_static" / mathjax_path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(Path(package.origin).parent / "static" / "mathjax" / "tex-svg.js", target)


def links_to_folders(app: Any, doctree: nodes.document) -> None:
    """A link to a folder: a code host lists it; here it leads to the README there, or is text."""
    here = app.env.docname
    for node in list(doctree.findall(pending_xref)):
        folder = (ROOT / here).parent / node["reftarget"]
        if node.get("reftype") != "myst" or not folder.is_dir():
            continue
        readme = (folder / "README.md").resolve()
        content = nodes.inline("", "", *node.children)
        if readme.exists():
            target = app.builder.get_relative_uri(here, str(readme.relative_to(ROOT).with_suffix("")))
            node.replace_self(nodes.reference("", "", content, refuri=target, internal=True))
        else:
            node.replace_self(content)


def names_that_break(app: Any, doctree: nodes.document) -> None:
    """Long names in tables may break within: else the last columns would be out of the page."""
    for entry in doctree.findall(nodes.entry):
        for text in list(entry.findall(nodes.Text)):
            if re.search(r"\S{25}", text) and text.parent is not None and not isinstance(text.parent, nodes.math):
                first, *others = re.split(r"(?<=[_/.:,=])(?=\w)(?!py\b)", text)
                pieces: list[nodes.Node] = [nodes.Text(first)]
                for part in others:
                    pieces += [nodes.raw("", "<wbr>", format="html"), nodes.Text(part)]
                text.parent.replace(text, pieces)


def formulas_keep_their_commas(app: Any, doctree: nodes.document) -> None:
    """A line does not begin with what stands behind a formula."""
    for formula in list(doctree.findall(nodes.math)):
        parent = formula.parent
        place = parent.index(formula)
        after = parent[place + 1] if place + 1 < len(parent) else None
        found = re.match(r"[.,:;)]+", after) if isinstance(after, nodes.Text) else None
        if found:
            together = nodes.inline("", "", formula.deepcopy(), nodes.Text(found[0]), classes=["together"])
            parent[place : place + 2] = [together, nodes.Text(after[found.end() :])]


def link_to_name(app: Any, env: Any, node: nodes.Element, content: nodes.Element) -> nodes.Element | None:
    """A name that Sphinx does not find where it is used: leads to the only thing, or else the only module, with it."""
    if node.get("refdomain") != "py":
        return None
    things = env.get_domain("py").objects
    full = [name for name, thing in things.items() if name.endswith("." + node["reftarget"]) and not thing.aliased]
    found = full if len(full) == 1 else [name for name in full if things[name].objtype == "module"]
    if len(found) != 1:
        return None
    thing = things[found[0]]
    return make_refnode(app.builder, node["refdoc"], thing.docname, thing.node_id, content, found[0])


def signature_as_written(
    app: Any, what: str, name: str, thing: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str, str] | None:
    """`Array`, not what it stands for; annotations are texts."""
    if what not in ("class", "function", "method") or signature is None:
        return None
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return None
    parameters = list(found.parameters.values())
    if what == "method" and parameters and parameters[0].name == "self":
        del parameters[0]
    text = stringify_signature(found.replace(parameters=parameters), unqualified_typehints=True)
    before, arrow, after = text.rpartition(") -> ")
    return (before + ")", "" if what == "class" else after) if arrow else (text, "")


def skip_fields(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Fields of named tuples: the docstring of the class says what they are."""
    return True if (getattr(thing, "__doc__", None) or "").startswith("Alias for field number") else None


def sections_as_lists(lines: list[str]) -> list[str]:
    """`Parameters:` and `Attributes:` with their indented entries, `name: what it is`, as lists of Markdown."""
    out: list[str] = []
    inside: int | None = None  # columns by which the section is indented
    for line in lines:
        depth = len(line) - len(line.lstrip())
        heading = re.fullmatch(r"\s*(Parameters|Attributes):\s*", line)
        if heading:
            inside = depth
            out += ["", f"{' ' * depth}**{heading[1]}**", ""]
            continue
        if inside is not None and line.strip() and depth <= inside:
            inside = None
            out.append("")
        entry = (
            re.match(r"\s*([\w*]+(?:, [\w*]+)*): (.*)", line) if inside is not None and depth == inside + 4 else None
        )
        if entry:
            out.append(f"{' ' * inside}- `{entry[1]}`: {entry[2]}")
        elif inside is not None and line.strip():
            out.append(" " * inside + "  " + line.strip())
        else:
            out.append(line)
    return out


def docstring_is_markdown(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    if lines:
        lines[:] = [".. markdown::", "", *(f"   {line}" for line in sections_as_lists(lines)), ""]


class NotebookParser(MystParser):
    """A notebook as the Markdown of its cells, with the outputs that are stored in it."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        spec = importlib.util.spec_from_file_location("notebooks", ROOT / "scripts" / "notebooks.py")
        assert spec is not None and spec.loader is not None
        notebooks = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(notebooks)
        super().parse(notebooks.as_markdown(json.loads(inputstring)), document)


class Markdown(Directive):
    """Markdown within what is not: docstrings."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        # "<collision> elements" is text, not a tag
        text = re.sub(r"(`[^`]*`)|<", lambda found: found[1] or "&lt;", "\n".join(self.content))
        document = new_document(self.state.document["source"], self.state.document.settings)
        MystParser().parse(text, document)
        for literal in list(document.findall(nodes.literal)):
            self.link_name(literal)
        return document.children

    def link_name(self, literal: nodes.literal) -> None:
        """`Robot`, `load_urdf`: leads to where it is documented, if it is."""
        name = literal.astext().removesuffix("()")
        env = self.state.document.settings.env
        public = getattr(sys.modules.get(env.ref_context.get("py:module")), "__all__", ())
        telling = name[:1].isupper() or "_" in name or name in public  # `model` and `time` are arguments
        if not telling or not re.fullmatch(r"[A-Za-z_]\w*(\.\w+)*", name):
            return
        reference = pending_xref("", refdomain="py", reftype="obj", reftarget=name, refwarn=False, refdoc=env.docname)
        reference["py:module"] = env.ref_context.get("py:module")
        reference["py:class"] = env.ref_context.get("py:class")
        literal.replace_self(reference)
        reference += literal


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("markdown", Markdown)
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
    app.connect("builder-inited", add_mathjax)
    app.connect("source-read", add_navigation)
    app.connect("doctree-read", links_to_folders)
    app.connect("doctree-read", names_that_break)
    app.connect("doctree-read", formulas_keep_their_commas)
    app.connect("missing-reference", link_to_name)
    app.connect("autodoc-process-signature", signature_as_written)
    app.connect("autodoc-skip-member", skip_fields)
    app.connect("autodoc-process-docstring", docstring_is_markdown)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
