"""The entry point of the command `minisets`, also python -m tasks: imports the rest, and explains what is missing."""

from __future__ import annotations

import os
import signal
import sys

NEEDED = {"matplotlib": "matplotlib", "tqdm": "tqdm", "PIL": "pillow"}  # module -> package, of the extra "tasks"


def main() -> int:
    try:
        heeds_interrupts = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if heeds_interrupts:  # Ctrl-C while Python imports ends the process, without a traceback
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.environ["MPLBACKEND"] = "agg"  # figures are only written to files, whatever the user's windows need
        from tasks.harness.cli import main as command

        if heeds_interrupts:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return command()
    except ModuleNotFoundError as error:
        package = NEEDED.get((error.name or "").split(".")[0])
        if package is None:
            raise
        text = f"the experiments need {package}, which is not installed: pip install 'minisets[tasks]'"
        print(f"minisets: {text}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
