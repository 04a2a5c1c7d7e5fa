"""The book's web site: conf.py is Sphinx's, the other files are extensions of it, one thing each."""
