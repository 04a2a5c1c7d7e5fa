"""Functions with a mistake in their derivative."""

from autograd import OPS, Tensor, op


def mutant(function, mistake):
    """The function with a mistake in its derivative, which is added to every element (of the diagonal)."""

    @op
    def wrong(x):
        leaf = Tensor(x, requires_grad=True)
        y = function(leaf)

        def vjp(g):
            y.backward(g)
            return leaf.grad + mistake * g

        return y.data, vjp

    del OPS["wrong"]
    return wrong
