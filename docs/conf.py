"""The site that `make docs` builds from the pages of this folder."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import lookalike

project = "lookalike"
version = release = lookalike.__version__
copyright = "the authors of lookalike, Apache License 2.0"
html_title = f"lookalike {version}"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "made_pages"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
pygments_dark_style = "github-dark"
html_show_sourcelink = False
html_copy_source = False

myst_heading_anchors = 4
myst_fence_as_directive: list[str] = []

smartquotes = False  # options keep their two dashes
default_role = "code"  # docstrings put names in single backticks
add_module_names = True
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
maximum_signature_line_length = 110
