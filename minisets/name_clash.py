"""Two packages are named autograd: ours, and a public one.  What to type when Python finds the wrong one."""

from __future__ import annotations

import json
import shlex
import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlparse


def error_message(found: ModuleType) -> str:
    """What was found instead of our autograd, and the commands that mend it on this machine."""
    place = getattr(found, "__file__", None) or ", ".join(getattr(found, "__path__", []))
    pip, installed = f"{shlex.quote(sys.executable)} -m pip", _is_installed("autograd")
    ours = f"{pip} install --force-reinstall --no-deps {pip_source()}"
    if installed:
        mend = f"run  {pip} uninstall -y autograd  and then  {ours}"
    elif Path(__file__).parent.parent in Path(place.split(", ")[0]).parents:  # what is left of ours
        mend = f"run  {ours}"
    else:
        mend = f"rename {place}, which stands in its way, or take its folder off Python's path"
    return (
        f"minisets brings its own package named 'autograd', but Python found another one at {place}; {mend}  "
        "(the two can be kept apart in virtual environments)"
    )


def pip_source() -> str:
    """What pip install takes to install this very minisets again: a checkout, a wheel, or a name."""
    try:
        minisets = metadata.distribution("minisets")
    except metadata.PackageNotFoundError:
        return f"-e {shlex.quote(str(Path(__file__).resolve().parent.parent))}"  # used as it lies there
    text = minisets.read_text("direct_url.json")
    if text is None:
        return f"minisets=={minisets.version}"
    about = json.loads(text)
    url = urlparse(about["url"])
    place = shlex.quote(unquote(url.path)) if url.scheme == "file" else shlex.quote(about["url"])
    return f"-e {place}" if about.get("dir_info", {}).get("editable") else place


def _is_installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True
