"""The entry point of the command `minisets`, also python -m tasks: imports the rest, and explains what is missing."""

from __future__ import annotations

import sys

NEEDED = {"matplotlib": "matplotlib", "tqdm": "tqdm", "PIL": "pillow"}  # module -> package, of the extra "tasks"


def main() -> int:
    try:
        from tasks.harness.cli import main as command

        return command()
    except ModuleNotFoundError as error:
        package = NEEDED.get((error.name or "").split(".")[0])
        if package is None:
            raise
        text = f"the experiments need {package}, which is not installed: pip install 'minisets[tasks]'"
        print(f"minisets: {text}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:  # while Python is still importing
        return 130


if __name__ == "__main__":
    sys.exit(main())
