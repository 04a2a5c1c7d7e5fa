"""Oracles of autograd/ops/reduce.py."""

import math

from tests.helpers.oracles.cells import reducing
from tests.helpers.oracles.scalars import largest, log_sum_exp, mean_of, smallest, total, variance_of

sum_ = reducing("y = sum_i x_i", total)
mean = reducing("y = sum_i x_i / n", mean_of)
max_ = reducing("y = the largest x_i", largest)
min_ = reducing("y = the smallest x_i", smallest)
var = reducing("y = sum_i (x_i - mean)^2 / (n - ddof)", variance_of)
std = reducing("y = var^(1/2)", lambda values, ddof=0: math.sqrt(variance_of(values, ddof)))
logsumexp = reducing("y = log sum_i e^x_i, -inf for nothing", log_sum_exp)
