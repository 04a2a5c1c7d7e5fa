"""The ops: pure functions of arrays, each with its derivative, turned into functions of Tensors by @op.

    arithmetic    + − × ÷, powers, maximum, where
    functions     elementwise exp, log, tanh ...
    reduce        sum, mean, max, min, var, logsumexp
    shape         reshape, transpose, concatenate, x[index], pad ...
    linalg        matmul, einsum
    nn            linear, relu, layer_norm, attention
    softmax       softmax, log_softmax
    pooling       the mean and maximum of a set, with masks; dropout
    images        conv2d, batch_norm
    loss          the losses that training minimizes

In docstrings, g is the gradient of the output and gx that of the input x; ⊙ is elementwise multiplication.
"""
