"""minisets reproduce: which rows of the paper's tables there are runs for, and how to get the others.

rows.py         the paper's 64 rows, and the state of each: at its protocol, reduced, on a stand-in, or not run
plan.py         what to run, most valuable first
costs.py        what a run costs, in hours and gigabytes, estimated for this machine
measure.py      measures what costs.json holds
report.py       the state as text and as the page docs/results/rows.md
store.py        copies finished runs into docs/results
command.py      the command line
"""
