"""MAB and rFF: the cheapest order of products, then residual, ReLU and norm in one pass over the rows.

On a GPU the textbook order is kept, and kernels replace its ops.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd import Tensor, attention, join_heads, split_heads
from autograd.backend import Array, on_gpu
from autograd.fast import rows
from autograd.fast.attach import with_one_blas_thread
from autograd.fast.backward import new_gradients
from autograd.forms import form_of
from autograd.kernels import norm
from autograd.kernels import ops as kernels
from autograd.kernels.registry import DTYPES
from autograd.tape import apply
from minisets.attention import Multihead
from minisets.blocks import MAB, rFF
from minisets.fast.product_orders import cheapest, multihead
from minisets.nn import Identity, LayerNorm, Linear

_residual_norm, _linear = new_gradients(rows.residual_norm), new_gradients(rows.linear)


def residual_norm(x: Tensor, *others: Any, relu: bool, eps: float) -> Tensor:
    """LN(x + z W + b), or LN(x + max(z W + b, 0)): each half of a MAB, as one op"""
    compute = kernels.residual_norm if on_gpu(x.data) else _residual_norm
    return apply("residual_norm", compute, (x, *others), {"relu": relu, "eps": eps})


def sum_norm(x: Tensor, *others: Any, eps: float) -> Tensor:
    """LN(x + z), for x, γ, β, z"""
    return apply("layer_norm", (kernels if on_gpu(x.data) else rows).layer_norm, (x, *others), {"eps": eps})


def linear(x: Tensor, weight: Tensor, bias: Tensor | None, relu: bool) -> Tensor:
    """x W + b, or max(x W + b, 0)"""
    compute = kernels.linear if on_gpu(x.data) else _linear
    return apply("linear", compute, (x, weight, bias), {"relu": relu})


def serves_mab(self: MAB, X: Tensor, Y: Tensor, mask: Array | None = None, mask_x: Array | None = None) -> bool:
    """Whether this is softmax attention between nonempty sets, with no part replaced or wrapped.

    (record_attention, for example, wraps the `forward` of a part by setting it on the instance.)
    """
    style, block = self.style, self.attention
    return (
        type(block) is Multihead
        and "forward" not in vars(block)
        and _unmodified(block.q, block.k, block.v)
        and (type(block.o) is Identity or _unmodified(block.o))
        and style.omega == "softmax"
        and (style.residual == "input" or not style.output)
        and _is_supported(X)
        and _is_supported(Y)
    )


def _unmodified(*layers: Any) -> bool:
    """Whether all are Linear layers with the original forward, not replacements by a user."""
    return all(type(layer) is Linear and "forward" not in vars(layer) for layer in layers)


def _is_supported(X: Tensor) -> bool:
    x = X.data if isinstance(X, Tensor) else None  # an array that was passed to forward: the plain form takes it
    return x is not None and x.size > 0 and x.dtype.name in DTYPES and (type(x) is np.ndarray or on_gpu(x))


@form_of(MAB, "forward", serves=serves_mab)
@with_one_blas_thread
def mab(self: MAB, X: Tensor, Y: Tensor, mask: Array | None = None, mask_x: Array | None = None) -> Tensor:
    x, y = self.norm_x(X, mask_x), self.norm_y(Y, mask)
    adds_queries = self.style.residual == "query"
    A, output = attend(self.attention, x, y, mask, adds_queries)
    R = None if adds_queries else self.skip(X)
    parts: tuple[Any, ...] = self.norm_h, self.norm_out, self.rff, self.norm_rff
    first, second, ff, inner = parts
    fits_kernel = self.attention.d <= norm.WIDEST or not on_gpu(X.data)
    post_norm = type(first) is LayerNorm and type(second) is LayerNorm and type(inner) is Identity
    one_layer = type(ff) is rFF and len(ff.layers) == 1 and _unmodified(*ff.layers)
    if not (post_norm and one_layer and fits_kernel):
        H = A if isinstance(output, Identity) else output(A)
        H = first(H if R is None else R + H, mask_x)
        return second(H + ff.forward(inner(H, mask_x)), mask_x)
    eps, affine = first.eps, (first.gamma, first.beta)
    if R is None:
        H = first(A)
    elif isinstance(output, Identity):
        H = sum_norm(R, *affine, A, eps=eps) if R.shape == A.shape else first(R + A)
    else:
        H = residual_norm(R, A, output.weight, output.bias, *affine, relu=False, eps=eps)
    fc = ff.layers[0]
    return residual_norm(H, H, fc.weight, fc.bias, second.gamma, second.beta, relu=True, eps=second.eps)


def attend(
    block: Multihead, X: Tensor, Y: Tensor, mask: Array | None, residual: bool
) -> tuple[Tensor, Linear | Identity]:
    """concat(O₁, …, O_h), and the layer still to be applied to it; residual=True adds the projected queries."""
    q, k, v = block.q, block.k, block.v
    if on_gpu(X.data) or on_gpu(Y.data):
        projected = q(X)
        heads = (split_heads(z, heads=block.heads) for z in (projected, k(Y), v(Y)))
        A = join_heads(attention(*heads, mask=mask, scale=block.scale))
        return projected + A if residual else A, block.o
    parameters = q.weight, q.bias, k.weight, k.bias, v.weight, v.bias
    settings = {"heads": block.heads, "scale": block.scale}
    order = cheapest(block, X, Y, mask, residual)
    if order == "few keys" and isinstance(block.o, Linear):
        return multihead(order, X, Y, *parameters, block.o.weight, block.o.bias, **settings), Identity()
    keys = None if Y is X and order == "textbook" else Y
    return multihead(order, X, keys, *parameters, **settings, mask=mask, residual=residual), block.o


def serves_rff(self: rFF, X: Tensor, mask: Array | None = None) -> bool:
    return _is_supported(X) and _unmodified(*self.layers)


@form_of(rFF, "forward", serves=serves_rff)
@with_one_blas_thread
def rff(self: rFF, X: Tensor, mask: Array | None = None) -> Tensor:
    *layers, final = self.layers
    for layer in layers:
        X = linear(X, layer.weight, layer.bias, relu=True)
    return linear(X, final.weight, final.bias, relu=bool(self.last))
