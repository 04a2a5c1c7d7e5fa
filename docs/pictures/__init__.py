"""The pictures of the book: drawing.py explains how to make one, `python -m docs.pictures` draws them all."""
