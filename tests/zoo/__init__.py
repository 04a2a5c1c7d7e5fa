"""Networks on sets that are wrong, each by a mistake that people make, and networks that are right.

`minisets.testing` must catch every wrong one and accuse no right one: test_zoo.py tries one seed, `make zoo` twenty,
and writes the table of docs/08-testing.md.  Every network here was written before the kit was tried on it; those of
held_out_*.py by somebody who knew neither the kit nor the others, when it seemed finished.
"""
