"""The GPU path, proven without a GPU, rung by rung.  docs/23-gpu.md explains it; `make test-gpu` runs it.

double.py, ../test_double.py    1  a strict double of CuPy, on which every test that takes `device` runs as well
nvrtc.py, test_compile.py       2  every kernel compiles for eight architectures
emulation/, test_emulation.py   3  the real CuPy on the host ...
test_execution.py                  ... runs every kernel, op, block and trainer
test_assembly.py                   ... in the forms that are made of kernels
huge.py, test_devices.py           ... beyond 2^31 elements, and on two devices
mutants.py, test_mutants.py        ... and notices mistakes in kernels and launches
test_counts.py                  4  launches, bytes, copies
test_selftest.py                5  what a user with a GPU runs
"""
