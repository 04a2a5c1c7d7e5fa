"""Python imports this file when it starts: process 1 of a job sends itself SIGUSR1 during the step STOP_AT."""

import os
import signal

if os.environ.get("OMPI_COMM_WORLD_RANK") == "1" and "STOP_AT" in os.environ:
    last = int(os.environ["STOP_AT"])
    from tasks.harness.distributed import Follower

    steps = Follower.steps

    def stopping_steps(self, model, optimizer):
        for step in steps(self, model, optimizer):
            if step + 1 == last:
                os.kill(os.getpid(), signal.SIGUSR1)
            yield step

    Follower.steps = stopping_steps
