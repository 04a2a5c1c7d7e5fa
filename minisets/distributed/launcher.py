"""What starts the processes of a job: mpiexec or srun, and mpi4py, which connects them."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from typing import Any

INSTALL = "pip install 'minisets[mpi]' (Open MPI and mpi4py; on a cluster with its own MPI: pip install mpi4py)"
SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")  # as launchers set them
RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID")
LOCAL_RANKS = ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID")
PREFIXES = ("OMPI_", "PMIX_", "PMI_", "PRTE_", "MPI_LOCAL", "MV2_", "HYDRA_", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS")


class MissingMPI(RuntimeError):
    """mpi4py, or the MPI library that it loads, is not installed."""


def launched_processes() -> int:
    """How many processes the launcher of this one started: 1 without a launcher."""
    return _from_environment(SIZES, 1)


def launched_rank() -> int:
    """The number of this process among them, known before MPI is."""
    return _from_environment(RANKS, 0)


def launched_local_rank() -> int:
    """Its number among those on the same machine."""
    return _from_environment(LOCAL_RANKS, 0)


def without_launcher(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment for a child process that is not one of the launcher's."""
    return {name: value for name, value in environment.items() if not name.startswith(PREFIXES)}


def _from_environment(names: tuple[str, ...], otherwise: int) -> int:
    found = (os.environ[name] for name in names if os.environ.get(name, "").isdecimal())
    return int(next(found, otherwise))


def import_mpi() -> Any:
    """The module mpi4py.MPI; importing it is what starts MPI in this process."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:  # RuntimeError: mpi4py found no MPI library
        reason = "mpi4py is not installed" if isinstance(error, ModuleNotFoundError) else f"MPI cannot be used: {error}"
        raise MissingMPI(f"{reason}; install it with {INSTALL}") from None
    return MPI


def takes_device_memory(MPI: Any) -> bool:
    """Whether this MPI says that it is CUDA-aware: that it can be given arrays in a GPU's memory."""
    try:
        return bool(ctypes.CDLL(MPI.__file__).MPIX_Query_cuda_support())  # of Open MPI and MPICH; also finds libmpi's
    except (OSError, AttributeError):
        return False
