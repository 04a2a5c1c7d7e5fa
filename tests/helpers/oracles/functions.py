"""Oracles of autograd/ops/functions.py."""

import math

from tests.helpers.oracles.cells import elementwise
from tests.helpers.oracles.scalars import clip_of, exp_of, log_of, log_sum_exp, sigmoid_of

exp = elementwise("y = e^x", exp_of)
log = elementwise("y = log x", log_of)
sqrt = elementwise("y = x^(1/2)", lambda x: math.nan if x < 0 else math.sqrt(x))
abs_ = elementwise("y = |x|", abs)
tanh = elementwise("y = tanh x", math.tanh)
sigmoid = elementwise("y = 1 / (1 + e^-x)", sigmoid_of)
softplus = elementwise("y = log(1 + e^x)", lambda x: log_sum_exp([0.0, x]))
clip = elementwise("y = x moved to the nearest point of [low, high]", clip_of)
astype = elementwise("y = x", lambda x, *, dtype: x)
to_device = elementwise("y = x", lambda x, *, device: x)
