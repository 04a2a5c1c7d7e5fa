"""What the checks of all chapters share: no deadlines for Hypothesis, and a short message for an open exercise."""

from collections.abc import Generator

import pytest
from hypothesis import settings

settings.register_profile("exercises", deadline=None)
settings.load_profile("exercises")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if call.excinfo is not None and call.excinfo.errisinstance(NotImplementedError):
        report.longrepr = f"NotImplementedError: {call.excinfo.traceback[-1].name} is not answered yet"
    return report
