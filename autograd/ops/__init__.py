"""Every op: pure array functions, each with its derivative beside it, lifted to Tensors by @op.

    elementwise   + − × ÷, powers, exp, log, activations, where
    reduce        sum, mean, max, min, var, logsumexp
    shape         reshape, transpose, concatenate, x[index], pad ...
    linalg        matmul, einsum, linear
    nn            softmax, normalisation, pooling with masks, dropout
    attention     softmax(Q Kᵀ · scale) V, and the same summed over heads
    conv          conv2d
    loss          what training minimises

These are the plain forms, which say what is computed.  Some have a line that hands NumPy arrays over to a fast form of
the same in fast/; forms.py decides.

In docstrings, g is the gradient of the output and gx that of the input x; ⊙ multiplies element by element.
"""
