"""What every test shares: the devices of this machine, and calm for Hypothesis on a busy one."""

import os

# Before NumPy is imported: the tests' matrices are tiny, and on a busy machine a second BLAS thread is mostly awaited.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import settings

from autograd import backend

settings.register_profile("minisets", deadline=None)  # machines are shared: a slow example is not a failure
settings.load_profile("minisets")


def devices() -> list[str]:
    """The CPU, and the GPU where there is one: a test that takes `device` runs on each without a word more."""
    try:
        backend.to_device(0.0, "cuda")
    except backend.DeviceError:
        return ["cpu"]
    return ["cpu", "cuda"]


@pytest.fixture(params=devices())
def device(request: pytest.FixtureRequest) -> str:
    return request.param
