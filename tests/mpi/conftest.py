"""tests/mpi starts real processes with mpiexec; where mpi4py or mpiexec is missing, nothing here is collected."""

from tests.helpers import requirements

if "mpi" in requirements.missing():
    collect_ignore_glob = ["test_*.py"]
