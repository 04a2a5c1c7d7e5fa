"""Naive oracles: a slow, obvious forward pass for every op, in the modules of autograd/ops.

Finite differences confirm a wrong forward pass (they check the gradient of whatever is computed), so each
operation's forward is also compared with the one here: plain loops over elements, one scalar at a time.
NumPy only holds the results and walks the indices. Where a float64 loop would overflow, underflow or cancel,
the equation is evaluated as written in wide decimal arithmetic rather than rearranged.

Inputs are float64 arrays (or None where optional), settings are keyword-only, results are float64 arrays.
"""

from tests.helpers.oracles import arithmetic, functions, images, linalg, loss, nn, pooling, reduce, shape, softmax

OPS = {  # module -> its ops
    arithmetic: "add subtract multiply divide negative power maximum minimum where",
    functions: "exp log sqrt abs tanh sigmoid softplus clip astype to_device",
    reduce: "sum mean max min var std logsumexp",
    shape: "reshape transpose swapaxes broadcast_to concatenate stack split getitem pad",
    linalg: "matmul einsum",
    softmax: "softmax log_softmax",
    nn: "linear relu layer_norm attention split_heads join_heads",
    images: "conv2d batch_norm",
    pooling: "max_pool mean_pool dropout",
    loss: "absolute_error squared_error cross_entropy binary_cross_entropy_with_logits "
    "poisson_negative_log_likelihood gaussian_mixture_log_likelihood",
}
ORACLES = {
    name: getattr(module, name, None) or getattr(module, f"{name}_")  # abs_, sum_, max_, min_: not to hide Python's
    for module, names in OPS.items()
    for name in names.split()
}
