"""Data-parallel training: several processes, each with a share of every batch, connected by MPI.

    world = distributed.world()                           # one process, or all that mpiexec started
    world.join(net, optimizer)                            # everybody starts from the state of process 0
    for step in range(steps):
        X, y = world.scatter(*sample(step))               # this process's rows of the whole batch
        loss = absolute_error(net(X), y)
        optimizer.zero_grad()
        loss.backward()
        world.average_gradients(optimizer.parameters)     # one Allreduce
        optimizer.step()

    mpiexec -n 4 python script.py

The result is that of one process with the same batch, up to rounding.  Without mpiexec the script runs as it is, in one
process, and needs no MPI.  world.join is needed by networks with batch norm or dropout, which depend on the whole batch
(layers.py), and where processes could start from different weights.
"""

from minisets.distributed.launcher import MissingMPI, launched_processes
from minisets.distributed.processes import World, world

__all__ = ["MissingMPI", "World", "launched_processes", "world"]
