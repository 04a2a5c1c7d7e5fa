"""Where the tests of this folder run: on the GPU where there is one, otherwise on the real CuPy emulated on the host.

Where neither can be, they are skipped with the reason.  A test marked `emulated` looks at what only the emulation can
tell (schedules, counts, faults), and is skipped on a GPU; tests of compiling need CuPy and NVRTC alone.
"""

from __future__ import annotations

import importlib.util

import pytest

from tests.gpu import emulation


def _place() -> tuple[str, str]:
    """ "a GPU" or "the emulation"; or, if there is neither, "" and the reason."""
    if importlib.util.find_spec("cupy_backends") is None:
        return "", "CuPy is not installed: make test-gpu installs it"
    from cupy_backends.cuda.api import runtime

    try:
        if runtime.getDeviceCount():
            return "a GPU", ""
    except runtime.CUDARuntimeError:  # no driver
        pass
    try:
        emulation.install()
    except emulation.Unavailable as error:
        return "", f"neither a GPU nor its emulation: {error}"
    return "the emulation", ""


PLACE, REASON = _place()  # when pytest collects, which is before anything imports CuPy


def pytest_report_header() -> str:
    return f"tests/gpu run on {PLACE}" if PLACE else f"tests/gpu are skipped: {REASON}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("emulated") and PLACE == "a GPU":
            item.add_marker(pytest.mark.skip(reason="looks into the emulation, and this is a GPU"))
        if item.get_closest_marker("device") and not PLACE:
            item.add_marker(pytest.mark.skip(reason=REASON))
