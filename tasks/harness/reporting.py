"""How a command ends: its exit code and, if something went wrong, one sentence instead of a traceback."""

from __future__ import annotations

import contextlib
import shlex
import sys
import time
from collections.abc import Callable

from autograd import threads
from autograd.cupy_import import DeviceError
from minisets.checkpoint import CheckpointError
from minisets.distributed import MissingMPI
from tasks.harness.errors import Diverged, Interrupted, UsageError, printable
from tasks.harness.progress import discard_output

LATER = 3.0  # seconds that a quiet process leaves another to say what went wrong


def reported(work: Callable[[], int], command: list[str], *, quiet: bool = False, who: str = "") -> int:
    """Do the work and return the exit code, with a sentence on standard error if it fails.

    command is what the user typed, to say how to continue.  If quiet, another process reports the same failure.
    """

    def failed(sentence: object, code: int) -> int:
        if quiet:
            time.sleep(LATER)  # mpiexec ends the whole job with the first process that fails
            return code
        return fail(f"{who}{sentence}", code)

    try:
        code = work()
        sys.stdout.flush()
        return code
    except (UsageError, CheckpointError, DeviceError, MissingMPI, threads.SettingError) as error:
        return failed(error, 2)
    except Diverged as error:
        return failed(error, 1)
    except Interrupted as error:
        again = [*(word for word in command if word != "--resume"), "--resume"]
        return failed(f"{error}; to continue: {shlex.join(again)}", 130)
    except KeyboardInterrupt:
        return failed("interrupted; --resume continues a run from its last checkpoint", 130)
    except MemoryError as error:
        return failed(f"there is not enough memory ({error}); try a smaller --batch, or smaller sets", 1)
    except BrokenPipeError:  # the reader of our output, head for example, has closed it
        discard_output()
        return 0
    except OSError as error:
        discard_output()
        return failed(f"{error.filename or 'the output'}: {error.strerror or error}", 2)


def fail(sentence: object, code: int) -> int:
    with contextlib.suppress(OSError):  # a terminal that was closed
        print(f"minisets: {printable(sentence, 2_000)}", file=sys.stderr)
    return code
