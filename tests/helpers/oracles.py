"""Naive oracles: a slow, obvious forward pass for every array operation.

Finite differences happily confirm a wrong forward (they check the gradient of whatever is computed), so each
operation's forward is also compared with the one here: plain loops over elements, one scalar at a time.
NumPy only holds the results and walks the indices. Where a float64 loop would overflow, underflow or cancel,
the equation is evaluated as written in wide decimal arithmetic rather than rearranged.

Inputs are float64 arrays (or None where optional), settings are keyword-only, results are float64 arrays.
"""

import decimal
import itertools
import math
from decimal import Decimal

import numpy as np

# 350 digits hold 1 + the smallest float64 without rounding, and exponents reach e^x for x up to 1e18.
# No traps: inf and nan propagate as in IEEE 754.
WIDE = decimal.Context(prec=350, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[])


# ---- scalars and lists of scalars ----


def total(values):
    """Correctly rounded sum; falls back to the plain one when that meets infinities or overflows."""
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):
        return sum(values)


def largest(values):
    """Largest value, nan if any value is."""
    return math.nan if any(math.isnan(value) for value in values) else max(values)


def smallest(values):
    """Smallest value, nan if any value is."""
    return math.nan if any(math.isnan(value) for value in values) else min(values)


def quotient(x, y):
    """x / y with the IEEE answer for y = 0."""
    if y != 0:
        return x / y
    return math.nan if x == 0 or math.isnan(x) else math.copysign(math.inf, x) * math.copysign(1.0, y)


def power_of(x, y):
    """x^y with the IEEE answer where math.pow raises."""
    try:
        return math.pow(x, y)
    except (OverflowError, ValueError):
        if x < 0 and y % 1 != 0:
            return math.nan
        return math.copysign(math.inf, x) if y % 2 == 1 else math.inf


def exp_of(x):
    """e^x, inf on overflow."""
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def log_of(x):
    """log x, -inf at 0 and nan below."""
    if x == 0:
        return -math.inf
    return math.nan if x < 0 else math.log(x)


def sigmoid_of(x):
    """1 / (1 + e^-x)"""
    with decimal.localcontext(WIDE):
        return float(1 / (1 + (-Decimal(x)).exp()))


def clip_of(x, *, low=None, high=None):
    """x moved up to low, then down to high."""
    if low is not None and x < low:
        x = low
    return high if high is not None and x > high else x


def mean_of(values):
    """sum_i v_i / n"""
    return quotient(total(values), len(values))


def variance_of(values, ddof=0):
    """sum_i (v_i - mean)^2 / (n - ddof)"""
    mean = mean_of(values)
    return quotient(total([(value - mean) * (value - mean) for value in values]), max(len(values) - ddof, 0))


def log_sum_exp(values):
    """log sum_i e^v_i"""
    with decimal.localcontext(WIDE):
        return float(sum((Decimal(value).exp() for value in values), Decimal(0)).ln())


def softmax_of(values):
    """e^v_i / sum_j e^v_j"""
    with decimal.localcontext(WIDE, prec=40):
        exponentials = [Decimal(value).exp() for value in values]
        normalizer = sum(exponentials)
        return [float(exponential / normalizer) for exponential in exponentials]


def log_softmax_of(values):
    """v_i - log sum_j e^v_j"""
    with decimal.localcontext(WIDE):
        normalizer = sum((Decimal(value).exp() for value in values), Decimal(0)).ln()
        return [float(Decimal(value) - normalizer) for value in values]


# ---- walking indices ----


def broadcast_shape(*shapes):
    """Right-aligned shapes; each output extent is the one extent that is not 1."""
    rank = max(len(shape) for shape in shapes)
    result = []
    for extents in zip(*[(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes], strict=True):
        others = {extent for extent in extents if extent != 1}
        if len(others) > 1:
            raise ValueError(f"shapes {shapes} do not broadcast")
        result.append(others.pop() if others else 1)
    return tuple(result)


def pick(x, cell):
    """x at a cell of a shape it broadcasts to: drop leading indices, stay at 0 along extents of 1."""
    own = cell[len(cell) - x.ndim :]
    return float(x[tuple(0 if extent == 1 else index for index, extent in zip(own, x.shape, strict=True))])


def from_front(axis, rank):
    """An axis counted from the front."""
    return axis + rank if axis < 0 else axis


def axes_of(axis, rank):
    """The axes meant by None (all), an int or a tuple, counted from the front."""
    if axis is None:
        return list(range(rank))
    return [from_front(a, rank) for a in (axis if isinstance(axis, (tuple, list)) else (axis,))]


def groups(shape, axes):
    """For each cell of `shape` with extent 1 along `axes`: the list of cells of `shape` it gathers."""
    for kept in np.ndindex(*[1 if a in axes else extent for a, extent in enumerate(shape)]):
        ranges = [range(extent) if a in axes else [kept[a]] for a, extent in enumerate(shape)]
        yield list(itertools.product(*ranges))


def reduce_cells(x, function, axes, keepdims=False, present=lambda cell: True):
    """function(list of the present values) for each group of cells along the axes."""
    shape = [1 if a in axes else extent for a, extent in enumerate(x.shape) if keepdims or a not in axes]
    present_cells = ([cell for cell in cells if present(cell)] for cells in groups(x.shape, axes))
    return filled(shape, (function([float(x[cell]) for cell in cells]) for cells in present_cells))


def map_cells(x, function, axes, present=lambda cell: True):
    """function(list of the present values) -> list, for each group of cells along the axes; 0 if absent."""
    result = np.zeros(x.shape, dtype=np.float64)
    for group in groups(x.shape, axes):
        cells = [cell for cell in group if present(cell)]
        for cell, value in zip(cells, function([float(x[cell]) for cell in cells]), strict=True):
            result[cell] = value
    return result


def filled(shape, values):
    """An array of the shape holding the values in row-major order."""
    result = np.empty(tuple(shape), dtype=np.float64)
    for cell, value in zip(np.ndindex(*result.shape), values, strict=True):
        result[cell] = value
    return result


def elementwise(equation, function):
    """An operation on arrays that broadcast, from a function of scalars."""

    def apply(*arrays, **settings):
        arrays = [np.asarray(array) for array in arrays]
        shape = broadcast_shape(*[array.shape for array in arrays])
        cells = np.ndindex(*shape)
        return filled(shape, (function(*[pick(x, cell) for x in arrays], **settings) for cell in cells))

    apply.__doc__ = equation
    return apply


def reducing(equation, function):
    """A reduction over axes, from a function of a list of scalars."""

    def apply(x, *, axis=None, keepdims=False, **settings):
        return reduce_cells(x, lambda values: function(values, **settings), axes_of(axis, x.ndim), keepdims)

    apply.__doc__ = equation
    return apply


# ---- elementwise and reductions ----

add = elementwise("z = x + y", lambda x, y: x + y)
subtract = elementwise("z = x - y", lambda x, y: x - y)
multiply = elementwise("z = x y", lambda x, y: x * y)
divide = elementwise("z = x / y", quotient)
power = elementwise("z = x^y", power_of)
maximum = elementwise("z = the larger of x and y", lambda x, y: largest([x, y]))
minimum = elementwise("z = the smaller of x and y", lambda x, y: smallest([x, y]))
negative = elementwise("y = -x", lambda x: -x)
exp = elementwise("y = e^x", exp_of)
log = elementwise("y = log x", log_of)
sqrt = elementwise("y = x^(1/2)", lambda x: math.nan if x < 0 else math.sqrt(x))
abs_ = elementwise("y = |x|", abs)
tanh = elementwise("y = tanh x", math.tanh)
sigmoid = elementwise("y = 1 / (1 + e^-x)", sigmoid_of)
softplus = elementwise("y = log(1 + e^x)", lambda x: log_sum_exp([0.0, x]))
relu = elementwise("y = the larger of x and 0", lambda x: largest([x, 0.0]))
where = elementwise("z = x if condition else y", lambda condition, x, y: x if condition else y)
clip = elementwise("y = x moved to the nearest point of [low, high]", clip_of)
astype = elementwise("y = x", lambda x, *, dtype: x)
to_device = elementwise("y = x", lambda x, *, device: x)

sum_ = reducing("y = sum_i x_i", total)
mean = reducing("y = sum_i x_i / n", mean_of)
max_ = reducing("y = the largest x_i", largest)
min_ = reducing("y = the smallest x_i", smallest)
var = reducing("y = sum_i (x_i - mean)^2 / (n - ddof)", variance_of)
logsumexp = reducing("y = log sum_i e^x_i, -inf for nothing", log_sum_exp)


# ---- shapes ----


def reshape(x, *, shape):
    """The same values in row-major order under another shape."""
    shape = list(shape) if isinstance(shape, (tuple, list)) else [shape]
    if -1 in shape:
        shape[shape.index(-1)] = x.size // math.prod(extent for extent in shape if extent != -1)
    return filled(shape, (x[cell] for cell in np.ndindex(*x.shape)))


def transpose(x, *, axes=None):
    """y[i_axes[0], i_axes[1], ...] = x[i_0, i_1, ...], axes reversed by default"""
    axes = list(range(x.ndim))[::-1] if axes is None else axes_of(tuple(axes), x.ndim)
    result = np.empty(tuple(x.shape[a] for a in axes), dtype=np.float64)
    for cell in np.ndindex(*x.shape):
        result[tuple(cell[a] for a in axes)] = x[cell]
    return result


def swapaxes(x, *, axis1, axis2):
    """y[.., j, .., i, ..] = x[.., i, .., j, ..]"""
    axis1, axis2 = axes_of((axis1, axis2), x.ndim)
    axes = list(range(x.ndim))
    axes[axis1], axes[axis2] = axis2, axis1
    return transpose(x, axes=axes)


def broadcast_to(x, *, shape):
    """y[..., i, j] = x[i, j], and x[0, j] along an extent of 1"""
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    return filled(shape, (pick(x, cell) for cell in np.ndindex(*shape)))


def concatenate(*xs, axis=0):
    """y[.., offset_k + i, ..] = x_k[.., i, ..]"""
    axis = from_front(axis, xs[0].ndim)
    shape = list(xs[0].shape)
    shape[axis] = sum(x.shape[axis] for x in xs)
    result = np.empty(tuple(shape), dtype=np.float64)
    offset = 0
    for x in xs:
        for cell in np.ndindex(*x.shape):
            result[(*cell[:axis], offset + cell[axis], *cell[axis + 1 :])] = x[cell]
        offset += x.shape[axis]
    return result


def stack(*xs, axis=0):
    """y[.., k, ..] = x_k[.., ..]"""
    axis = from_front(axis, xs[0].ndim + 1)
    shape = (*xs[0].shape[:axis], 1, *xs[0].shape[axis:])
    return concatenate(*[reshape(x, shape=shape) for x in xs], axis=axis)


def split(x, *, sections, axis=0):
    """part_k[.., i, ..] = x[.., cut_k + i, ..]"""
    axis = from_front(axis, x.ndim)
    extent = x.shape[axis]
    if isinstance(sections, (int, np.integer)):
        if extent % sections:
            raise ValueError(f"{extent} does not split into {sections} equal parts")
        cuts = [k * (extent // sections) for k in range(1, sections)]
    else:
        cuts = [int(cut) for cut in sections]
    parts = []
    for start, stop in zip([0, *cuts], [*cuts, extent], strict=True):
        positions = range(extent)[start:stop]
        part = np.empty((*x.shape[:axis], len(positions), *x.shape[axis + 1 :]), dtype=np.float64)
        for cell in np.ndindex(*part.shape):
            part[cell] = x[(*cell[:axis], positions[cell[axis]], *cell[axis + 1 :])]
        parts.append(part)
    return parts


def getitem(x, *, index):
    """y[cell] = x at the flat position that the index leaves in that cell"""
    values = [float(x[cell]) for cell in np.ndindex(*x.shape)]
    positions = np.asarray(np.arange(x.size).reshape(x.shape)[index])
    return filled(positions.shape, (values[positions[cell]] for cell in np.ndindex(*positions.shape)))


def pad(x, *, widths, value=0.0):
    """y[before + i] = x[i] along each axis, the value elsewhere"""
    shape = [before + extent + after for extent, (before, after) in zip(x.shape, widths, strict=True)]
    result = np.full(tuple(shape), value, dtype=np.float64)
    for cell in np.ndindex(*x.shape):
        result[tuple(before + i for i, (before, _) in zip(cell, widths, strict=True))] = x[cell]
    return result


# ---- products ----


def matmul(x, y):
    """z[..., r, c] = sum_i x[..., r, i] y[..., i, c]; a vector has no r or c"""
    rows = x.shape[-2:-1]
    columns = y.shape[-1:] if y.ndim > 1 else ()
    batch = broadcast_shape(x.shape[:-2], y.shape[:-2])
    result = np.empty(batch + rows + columns, dtype=np.float64)
    for cell in np.ndindex(*result.shape):
        lead, row = cell[: len(batch)], cell[len(batch) : len(batch + rows)]
        column = cell[len(batch + rows) :]
        inner = range(x.shape[-1])
        result[cell] = total([pick(x, (*lead, *row, i)) * pick(y, (*lead, i, *column)) for i in inner])
    return result


def einsum(subscripts, x, y):
    """z[output letters] = sum over the other letters of x[its letters] y[its letters]"""
    operands, arrow, output = subscripts.replace(" ", "").partition("->")
    x_letters, y_letters = operands.split(",")
    letters = sorted(set(x_letters + y_letters))
    if not arrow:
        output = "".join(letter for letter in letters if (x_letters + y_letters).count(letter) == 1)
    extents = {}
    for letter, extent in [*zip(x_letters, x.shape, strict=True), *zip(y_letters, y.shape, strict=True)]:
        extents[letter] = extent if extent != 1 else extents.get(letter, 1)
    summed = [letter for letter in letters if letter not in output]
    results = []
    for cell in np.ndindex(*[extents[letter] for letter in output]):
        terms = []
        for inner in np.ndindex(*[extents[letter] for letter in summed]):
            at = dict(zip([*output, *summed], [*cell, *inner], strict=True))
            terms.append(pick(x, [at[i] for i in x_letters]) * pick(y, [at[i] for i in y_letters]))
        results.append(total(terms))
    return filled([extents[letter] for letter in output], results)


def linear(x, weight, bias=None):
    """y[..., o] = sum_i x[..., i] weight[i, o] + bias[o]"""
    d_in, d_out = weight.shape
    result = np.empty((*x.shape[:-1], d_out), dtype=np.float64)
    for *lead, o in np.ndindex(*result.shape):
        terms = [float(x[(*lead, i)]) * float(weight[i, o]) for i in range(d_in)]
        result[(*lead, o)] = total(terms if bias is None else [*terms, float(bias[o])])
    return result


def pair(setting):
    """(rows, columns) from an int for both or a pair."""
    return (setting, setting) if isinstance(setting, (int, np.integer)) else tuple(setting)


def conv2d(x, weight, bias=None, *, stride=1, padding=0):
    """y[n, o, r, c] = bias[o] + sum_kij weight[o, k, i, j] x[n, k, r stride + i - pad, c stride + j - pad]"""
    (count, _, height, width), (d_out, d_in, *kernel) = x.shape, weight.shape
    stride, padding = pair(stride), pair(padding)
    rows, columns = [
        (extent + 2 * p - k) // s + 1 for extent, p, k, s in zip((height, width), padding, kernel, stride, strict=True)
    ]
    result = np.empty((count, d_out, rows, columns), dtype=np.float64)
    for n, o, r, c in np.ndindex(*result.shape):
        terms = [] if bias is None else [float(bias[o])]
        for k, i, j in np.ndindex(d_in, *kernel):
            row, column = r * stride[0] + i - padding[0], c * stride[1] + j - padding[1]
            if 0 <= row < height and 0 <= column < width:
                terms.append(float(weight[o, k, i, j]) * float(x[n, k, row, column]))
        result[n, o, r, c] = total(terms)
    return result


# ---- normalisation, pooling, attention ----


def softmax(x, *, axis=-1, mask=None):
    """y_i = e^x_i / sum_j e^x_j over the allowed j, exactly 0 where not allowed"""
    mask = np.asarray(True if mask is None else mask)
    return map_cells(x, softmax_of, axes_of(axis, x.ndim), present=lambda cell: pick(mask, cell))


def log_softmax(x, *, axis=-1):
    """y_i = x_i - log sum_j e^x_j"""
    return map_cells(x, log_softmax_of, axes_of(axis, x.ndim))


def standardized(values, eps):
    """(v_i - mean) / sqrt(var + eps)"""
    mean, deviation = mean_of(values), math.sqrt(variance_of(values) + eps)
    return [quotient(value - mean, deviation) for value in values]


def scaled_and_shifted(x, gamma, beta, axis):
    """x gamma_c + beta_c, c the index along the axis"""
    result = np.empty(x.shape, dtype=np.float64)
    for cell in np.ndindex(*x.shape):
        scale = 1.0 if gamma is None else float(gamma[cell[axis]])
        result[cell] = float(x[cell]) * scale + (0.0 if beta is None else float(beta[cell[axis]]))
    return result


def layer_norm(x, gamma=None, beta=None, *, eps=1e-5):
    """y_i = (x_i - mean) / sqrt(var + eps) gamma_i + beta_i over the last axis of x"""
    unit = map_cells(x, lambda values: standardized(values, eps), [x.ndim - 1])
    return scaled_and_shifted(unit, gamma, beta, x.ndim - 1)


def batch_norm(x, gamma=None, beta=None, *, axis=1, eps=1e-5, statistics=None, frozen=False):
    """y = (x - mean_c) / sqrt(var_c + eps) gamma_c + beta_c for the cells of each channel c"""
    axis = from_front(axis, x.ndim)
    if statistics is None:
        others = [a for a in range(x.ndim) if a != axis]
        unit = map_cells(x, lambda values: standardized(values, eps), others)
    else:
        unit = np.empty(x.shape, dtype=np.float64)
        for cell in np.ndindex(*x.shape):
            mean, variance = [float(statistic[cell[axis]]) for statistic in statistics]
            unit[cell] = quotient(float(x[cell]) - mean, math.sqrt(variance + eps))
    return scaled_and_shifted(unit, gamma, beta, axis)


def pool(x, function, axis, mask):
    """function(present values) along the axis, 0 if there are none"""
    axis = from_front(axis, x.ndim)
    return reduce_cells(
        x,
        lambda values: function(values) if values else 0.0,
        [axis],
        present=lambda cell: mask is None or mask[cell[: axis + 1]],
    )


def max_pool(x, *, axis=-2, mask=None):
    """y = the largest present x_i, 0 for nothing"""
    return pool(x, largest, axis, mask)


def mean_pool(x, *, axis=-2, mask=None):
    """y = mean of the present x_i, 0 for nothing"""
    return pool(x, mean_of, axis, mask)


def dropout(x, *, p, rng):
    """y = x / (1 - p) where a uniform draw is at least p, else 0"""
    if p == 0:
        return filled(x.shape, (x[cell] for cell in np.ndindex(*x.shape)))
    keep = rng.random(x.shape, dtype=x.dtype) >= p
    return filled(x.shape, (float(x[c]) / (1 - p) if pick(keep, c) else 0.0 for c in np.ndindex(*x.shape)))


def attention(q, k, v, *, mask=None, scale=None):
    """y_i = sum_j softmax_j(scale <q_i, k_j>) v_j over the present keys j, zeros if there are none"""
    scores_lead = broadcast_shape(q.shape[:-2], k.shape[:-2])
    lead_shape = broadcast_shape(scores_lead, v.shape[:-2])
    (queries, width), keys, features = q.shape[-2:], k.shape[-2], v.shape[-1]
    scale = 1 / math.sqrt(width) if scale is None else scale
    per_batch = mask is not None and mask.ndim == 2 and max(q.ndim, k.ndim) > 2

    def present(lead, i, j):
        if mask is None:
            return True
        scores_cell = lead[len(lead_shape) - len(scores_lead) :]
        return pick(mask, (scores_cell[0], j) if per_batch else (*scores_cell, i, j))

    result = np.zeros((*lead_shape, queries, features), dtype=np.float64)
    for *lead, i in np.ndindex(*lead_shape, queries):
        chosen = [j for j in range(keys) if present(lead, i, j)]
        scores = [
            scale * total([pick(q, (*lead, i, e)) * pick(k, (*lead, j, e)) for e in range(width)]) for j in chosen
        ]
        weights = softmax_of(scores)
        for f in range(features):
            terms = [w * pick(v, (*lead, j, f)) for w, j in zip(weights, chosen, strict=True)]
            result[(*lead, i, f)] = total(terms)
    return result


def split_heads(x, *, heads):
    """y[..., j, i, f] = x[..., i, j e + f] for heads of e features"""
    *lead, n, d = x.shape
    e = d // heads
    result = np.empty((*lead, heads, n, e), dtype=np.float64)
    for *cell, j, i, f in np.ndindex(*result.shape):
        result[(*cell, j, i, f)] = x[(*cell, i, j * e + f)]
    return result


def join_heads(x):
    """y[..., i, j e + f] = x[..., j, i, f]"""
    *lead, heads, n, e = x.shape
    result = np.empty((*lead, n, heads * e), dtype=np.float64)
    for *cell, j, i, f in np.ndindex(*x.shape):
        result[(*cell, i, j * e + f)] = x[(*cell, j, i, f)]
    return result


# ---- losses ----


def reduced(losses, reduction):
    """The losses themselves, their sum or their mean (0 for nothing)."""
    if reduction == "none":
        return losses
    values = [float(losses[cell]) for cell in np.ndindex(*losses.shape)]
    if reduction == "sum":
        return filled((), [total(values)])
    if reduction == "mean":
        return filled((), [mean_of(values) if values else 0.0])
    raise ValueError(f"unknown reduction {reduction!r}")


def absolute_error(x, y, *, reduction="mean"):
    """|x - y|"""
    return reduced(elementwise("|x - y|", lambda x, y: abs(x - y))(x, y), reduction)


def squared_error(x, y, *, reduction="mean"):
    """(x - y)^2"""
    return reduced(elementwise("(x - y)^2", lambda x, y: (x - y) * (x - y))(x, y), reduction)


def cross_entropy(logits, *, labels, reduction="mean"):
    """-log softmax(logits)[label]"""
    labels = np.asarray(labels)
    losses = np.empty(labels.shape, dtype=np.float64)
    for cell in np.ndindex(*labels.shape):
        row = [float(logits[(*cell, c)]) for c in range(logits.shape[-1])]
        losses[cell] = -log_softmax_of(row)[int(labels[cell])]
    return reduced(losses, reduction)


def binary_cross_entropy_with_logits(x, target, *, reduction="mean"):
    """-(t log s(x) + (1 - t) log s(-x)), s the sigmoid, so that 1 - s(x) = s(-x)"""

    def loss(x, t):
        with decimal.localcontext(WIDE):
            x, t = Decimal(x), Decimal(t)
            return -float(t * (1 / (1 + (-x).exp())).ln() + (1 - t) * (1 / (1 + x.exp())).ln())

    return reduced(elementwise("loss", loss)(x, target), reduction)


def poisson_negative_log_likelihood(rate, *, count, reduction="mean"):
    """rate - count log rate + log count!, with 0 log 0 = 0"""

    def loss(rate, count):
        if count == 0:
            return rate
        return math.inf if rate == 0 else rate - count * math.log(rate) + math.lgamma(count + 1)

    return reduced(elementwise("loss", loss)(rate, count), reduction)


def gaussian_mixture_log_likelihood(x, log_pi, mu, sigma):
    """log sum_k e^log_pi_k prod_d e^(-((x_d - mu_kd) / sigma_kd)^2 / 2) / (sigma_kd sqrt(2 pi))"""
    result = np.empty(x.shape[:-1], dtype=np.float64)
    for *lead, n in np.ndindex(*result.shape):
        with decimal.localcontext(WIDE, prec=40):
            density, root = Decimal(0), Decimal(2 * math.pi).sqrt()
            for k in range(log_pi.shape[-1]):
                term = Decimal(float(log_pi[(*lead, k)])).exp()
                for d in range(x.shape[-1]):
                    cell = (*lead, k, d)
                    value = Decimal(float(x[(*lead, n, d)]))
                    center, width = Decimal(float(mu[cell])), Decimal(float(sigma[cell]))
                    term *= (-(((value - center) / width) ** 2) / 2).exp() / (width * root)
                density += term
            result[(*lead, n)] = float(density.ln())
    return result


ORACLES = {
    "add": add,
    "subtract": subtract,
    "multiply": multiply,
    "divide": divide,
    "power": power,
    "maximum": maximum,
    "minimum": minimum,
    "negative": negative,
    "exp": exp,
    "log": log,
    "sqrt": sqrt,
    "abs": abs_,
    "tanh": tanh,
    "sigmoid": sigmoid,
    "softplus": softplus,
    "relu": relu,
    "where": where,
    "clip": clip,
    "astype": astype,
    "to_device": to_device,
    "sum": sum_,
    "mean": mean,
    "max": max_,
    "min": min_,
    "std": lambda x, **settings: np.sqrt(var(x, **settings)),
    "var": var,
    "logsumexp": logsumexp,
    "reshape": reshape,
    "transpose": transpose,
    "swapaxes": swapaxes,
    "broadcast_to": broadcast_to,
    "concatenate": concatenate,
    "stack": stack,
    "split": split,
    "getitem": getitem,
    "pad": pad,
    "matmul": matmul,
    "einsum": einsum,
    "linear": linear,
    "softmax": softmax,
    "log_softmax": log_softmax,
    "layer_norm": layer_norm,
    "batch_norm": batch_norm,
    "conv2d": conv2d,
    "max_pool": max_pool,
    "mean_pool": mean_pool,
    "dropout": dropout,
    "attention": attention,
    "split_heads": split_heads,
    "join_heads": join_heads,
    "absolute_error": absolute_error,
    "squared_error": squared_error,
    "cross_entropy": cross_entropy,
    "binary_cross_entropy_with_logits": binary_cross_entropy_with_logits,
    "poisson_negative_log_likelihood": poisson_negative_log_likelihood,
    "gaussian_mixture_log_likelihood": gaussian_mixture_log_likelihood,
}
