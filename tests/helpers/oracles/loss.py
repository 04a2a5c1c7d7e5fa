"""Oracles of autograd/ops/loss.py."""

import decimal
import math
from decimal import Decimal

import numpy as np

from tests.helpers.oracles.cells import elementwise, filled
from tests.helpers.oracles.scalars import WIDE, log_softmax_of, mean_of, total


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
