"""Python imports this file when it starts: what tests change in the processes of a job, as the environment says.

STOP_AT=5      process 1 gets SIGUSR1 during step 5, as srun sends it before the time is up
EMULATE=1      CuPy computes on the emulation of a GPU
"""

import os
import signal

if os.environ.get("OMPI_COMM_WORLD_RANK") == "1" and "STOP_AT" in os.environ:
    from tasks.harness.distributed import Follower

    last, steps = int(os.environ["STOP_AT"]), Follower.steps

    def stopping_steps(self, model, optimizer):
        for step in steps(self, model, optimizer):
            if step + 1 == last:
                os.kill(os.getpid(), signal.SIGUSR1)
            yield step

    Follower.steps = stopping_steps

if "EMULATE" in os.environ:
    from tests.gpu import emulation

    emulation.install()
