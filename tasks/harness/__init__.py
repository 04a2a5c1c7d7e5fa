"""What the experiments share: options, the training run, its folder on disk, tables, and the command line.

experiment.py   Experiment and Table: an experiment as one object
options.py      configurations whose fields describe themselves; parser.py makes a command line of them
run.py          what a training loop needs besides its mathematics; progress.py has the bar and the signals
run_folder.py   the files of a run: records.py has the JSON files, metrics_log.py the log, examples.py those of the
                figures, lock.py keeps other processes out
train.py        minisets train; planning.py decides which runs that means
tables.py       minisets table; paper.py has the paper's numbers
cli.py          minisets, the command
machine.py      what a run depends on: versions, machine, commit; memory and device helpers
errors.py       errors that are one sentence
"""

from tasks.harness.errors import UsageError
from tasks.harness.experiment import Experiment, Table
from tasks.harness.options import LearningRate, SampledSets, SetSizes, Settings, Stepping, Training, option
from tasks.harness.progress import report
from tasks.harness.run import TEST, TRAINING, VALIDATION, WEIGHTS, Run, rng_for
from tasks.harness.run_folder import RunFolder
