"""Naive oracles: a slow, obvious forward pass for every op, in the modules of autograd/ops.

Finite differences confirm a wrong forward pass (they check the gradient of whatever is computed), so each
operation's forward is also compared with the one here: plain loops over elements, one scalar at a time.
NumPy only holds the results and walks the indices. Where a float64 loop would overflow, underflow or cancel,
the equation is evaluated as written in wide decimal arithmetic rather than rearranged.

Inputs are float64 arrays (or None where optional), settings are keyword-only, results are float64 arrays.
"""

from autograd.cases import OPS
from tests.helpers.oracles import arithmetic, functions, images, linalg, loss, nn, pooling, reduce, shape, softmax

MODULES = (arithmetic, functions, images, linalg, loss, nn, pooling, reduce, shape, softmax)
ORACLES = {  # abs_, sum_, max_, min_: not to shadow Python's
    name: oracle
    for module in MODULES
    for name in OPS
    if (oracle := vars(module).get(name) or vars(module).get(f"{name}_"))
}
