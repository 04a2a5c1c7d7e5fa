"""minisets sweep: a grid of runs, several at a time, that may be killed at any moment and goes on where it stood.

command.py    the options, and what they ask for
grid.py       the cells of the grid: ordinary run folders, the ones that minisets train would use
store.py      what is on disk: the run folders, and OUT/sweeps with requests, failures and costs
manager.py    which cell runs next, and what to do when it ends
worker.py     one cell, in a child process; child.py is the inside of it
ranks.py      workers that are the ranks of mpiexec
costs.py      how long the cells will take
view.py       what is printed: a block of lines on a terminal, quiet lines elsewhere; status.py is for other terminals
"""
