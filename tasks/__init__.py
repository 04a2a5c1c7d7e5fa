"""Book III: the paper's experiments, each a page that reads top to bottom."""
