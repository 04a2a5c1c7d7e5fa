"""Two packages are named autograd: ours and a public one.  The error message when Python finds the wrong one."""

from __future__ import annotations

import json
import shlex
import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlparse


def error_message(found: ModuleType) -> str:
    """What was found instead of our autograd, and the commands that fix it on this machine."""
    location = getattr(found, "__file__", None) or ", ".join(getattr(found, "__path__", []))
    pip, installed = f"{shlex.quote(sys.executable)} -m pip", _is_installed("autograd")
    ours = f"{pip} install --force-reinstall --no-deps {pip_source()}"
    if installed:
        fix = f"run  {pip} uninstall -y autograd  and then  {ours}"
    elif Path(__file__).parent.parent in Path(location.split(", ")[0]).parents:  # ours, without its __init__.py
        fix = f"run  {ours}"
    else:
        fix = f"rename {location}, which shadows it, or remove its folder from Python's path"
    return (
        f"minisets has its own package named 'autograd', but Python found another one at {location}; {fix}  "
        "(the two can coexist in separate virtual environments)"
    )


def pip_source() -> str:
    """The argument of pip install that reinstalls this minisets: a checkout, a wheel, or a name and version."""
    try:
        minisets = metadata.distribution("minisets")
    except metadata.PackageNotFoundError:
        return f"-e {shlex.quote(str(Path(__file__).resolve().parent.parent))}"  # not installed: run from this folder
    text = minisets.read_text("direct_url.json")
    if text is None:
        return f"minisets=={minisets.version}"
    direct_url = json.loads(text)
    url = urlparse(direct_url["url"])
    location = shlex.quote(unquote(url.path)) if url.scheme == "file" else shlex.quote(direct_url["url"])
    return f"-e {location}" if direct_url.get("dir_info", {}).get("editable") else location


def _is_installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True
