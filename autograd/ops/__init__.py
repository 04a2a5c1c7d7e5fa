"""Every op: pure array functions, each with its derivative beside it, lifted to Tensors by @op.

    arithmetic    + − × ÷, powers, maximum, where
    functions     exp, log, tanh ... of each element
    reduce        sum, mean, max, min, var, logsumexp
    shape         reshape, transpose, concatenate, x[index], pad ...
    linalg        matmul, einsum
    nn            linear, relu, layer_norm, attention
    softmax       softmax, log_softmax
    pooling       the mean and the maximum of a set, with masks; dropout
    images        conv2d, batch_norm
    loss          what training minimises

In docstrings, g is the gradient of the output and gx that of the input x; ⊙ multiplies element by element.
"""
