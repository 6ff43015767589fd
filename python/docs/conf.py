"""Sphinx's configuration of the package's reference."""

import undertone

project = "Undertone for Python"
author = "The authors of Undertone"
release = undertone.__version__
extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
autosummary_generate = False
autodoc_typehints = "none"  # numpydoc says them
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_validation_checks = {"GL03", "PR02", "YD01"}
numpydoc_validation_exclude = {r"\.jobs\.", r"\._", r"Error", r"Warning", r"RunFailed"}
html_theme = "alabaster"
html_show_sourcelink = False
nitpicky = False
