"""Sphinx configuration. `tox -e docs` builds with warnings as errors and compares the pages with the code."""

import sys
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "ovnlb"
author = "the ovnlb authors"
copyright = "the ovnlb authors; Apache License 2.0"
release = metadata.version("ovnlb")
version = ".".join(release.split(".")[:2])

extensions = ["myst_parser", "ovnlb_reference"]
myst_enable_extensions = ["deflist", "fieldlist"]
myst_heading_anchors = 3
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "_ext"]
nitpicky = True
# Quotes in option texts and commands must stay what they are.
smartquotes = False

html_theme = "furo"
html_title = f"ovnlb {version}"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": False}
