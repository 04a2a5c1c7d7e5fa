"""A marker for pytest: a test that returns a set function, to which all checks are applied.

    # conftest.py
    pytest_plugins = ["minisets.testing.plugin"]

    # test_net.py
    @pytest.mark.set_function(kind="invariant", d_in=3)
    def test_net():
        return MyNet()

The marker takes what check_set_function does.  Fixtures and parametrize work as in any test.
"""

from __future__ import annotations

import pytest

from minisets.testing.api import check_set_function


def pytest_configure(config: pytest.Config) -> None:
    text = "set_function(kind, **settings): the test returns a function on sets, which minisets.testing checks"
    config.addinivalue_line("markers", text)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Call the test as pytest does, and check what it returns."""
    __tracebackhide__ = True
    marker = pyfuncitem.get_closest_marker("set_function")
    if marker is None:
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    f = pyfuncitem.obj(**arguments)
    if f is None:
        pytest.fail(f"{pyfuncitem.name} returned nothing; return the set function that is to be checked", pytrace=False)
    check_set_function(f, *marker.args, **marker.kwargs)
    return True
