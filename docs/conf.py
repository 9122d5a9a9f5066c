"""Sphinx settings; pages are built and read offline, and every warning is an error."""

import re
import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "kernsemble"
author = "The kernsemble developers"
copyright = author
release = version = version_of(project)

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "mathml",  # in _extensions
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
html_math_renderer = "mathml"
templates_path = ["_templates"]
default_role = "py:obj"  # single backticks in docstrings name objects or arguments

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # the numpydoc sections describe types
numpydoc_show_class_members = False  # the class template lists them

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"demo\.py$",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = f"kernsemble {release}"
html_show_sourcelink = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["kernsemble.css"]
html_sidebars = {name: [] for name in ("index", "changelog")}  # no pages of their own to list
html_theme_options = {
    "logo": {"text": "kernsemble"},
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "show_toc_level": 2,
    "header_links_before_dropdown": 7,
    "check_switcher": False,  # no connection while building
}
if tags.has("hosted"):  # noqa: F821, defined by Sphinx; CONTRIBUTING, "Publish the documentation"
    html_theme_options |= {
        "navbar_start": ["navbar-logo", "version-switcher"],
        "switcher": {
            "json_url": "../switcher.json",  # beside the folders of the versions
            "version_match": "dev" if "dev" in release else ".".join(release.split(".")[:2]),
        },
    }


def setup(app):
    app.connect("source-read", trim_examples)
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("autodoc-process-docstring", drop_foreign_references)


def skip_foreign(_app, what, _name, item, _skip, _options):
    """Leave methods inherited from other libraries to the list of all methods."""
    function = getattr(item, "fget", item)
    module = getattr(function, "__module__", None) or "kernsemble"
    return True if what == "class" and not module.startswith("kernsemble") else None


def drop_foreign_references(_app, _what, _name, _item, _options, lines):
    """Keep the words of references to pages of scikit-learn, which inherited methods contain."""
    lines[:] = [re.sub(r":ref:`([^<`]+?)\s*<[^>]+>`", r"\1", line) for line in lines]


def trim_examples(_app, _name, source):
    """Drop the blank line that doctest needs before the end of a block."""
    source[0] = re.sub(r"\n+(?=\n```\n)", "", source[0])
