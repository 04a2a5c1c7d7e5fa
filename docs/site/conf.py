"""Sphinx's settings.  `make docs` collects the pages (prepare.py) and calls Sphinx with these."""

from pathlib import Path

from autograd import __version__

project = "Set Transformer from scratch"
author = "the authors of minisets"
version = release = __version__
root_doc = "index"
language = "en"

extensions = ["myst_parser", "docs.site.mathematics", "docs.site.figures"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4  # links to headings work as on GitHub
myst_dmath_double_inline = True
smartquotes = False  # Markdown on GitHub has none either
html_math_renderer = "mathml"
nitpicky = True

html_theme = "furo"
html_title = project
html_css_files = ["pictures.css", "book.css"]
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"
pygments_dark_style = "monokai"
exclude_patterns = ["static"]
