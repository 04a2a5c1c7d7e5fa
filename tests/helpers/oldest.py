"""The oldest versions that pyproject.toml allows, as requirements for pip: python -m tests.helpers.oldest

numpy>=2.2 becomes numpy==2.2.  `make test-oldest` installs exactly these and runs the suite with them.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"
EXTRAS = ("tasks", "interop", "modelnet", "test")  # what the suite needs; gpu and torch are not for every machine


def oldest() -> dict[str, str]:
    """Each package with the oldest version allowed."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    groups = [project["dependencies"], *(project["optional-dependencies"][extra] for extra in EXTRAS)]
    found = {}
    for requirement in (line for group in groups for line in group if not line.startswith("minisets[")):
        match = re.fullmatch(r"([\w-]+)>=([\d.]+)", requirement)
        if match is None:
            raise ValueError(f"pyproject.toml must name an oldest version, name>=version, given {requirement!r}")
        found[match[1]] = match[2]
    return found


if __name__ == "__main__":
    print(*(f"{name}=={version}" for name, version in oldest().items()), sep="\n")
