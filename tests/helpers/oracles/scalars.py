"""Functions of scalars and of lists of scalars, as the equations say; wide decimals where float64 would fail."""

import decimal
import math
from decimal import Decimal

# 350 digits hold 1 + the smallest float64 without rounding, and exponents reach e^x for x up to 1e18.
# No traps: inf and nan propagate as in IEEE 754.
WIDE = decimal.Context(prec=350, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[])


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


def clip_of(x, low=None, high=None):
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
