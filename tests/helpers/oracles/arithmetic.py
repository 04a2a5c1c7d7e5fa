"""Oracles of autograd/ops/arithmetic.py."""

from tests.helpers.oracles.cells import elementwise
from tests.helpers.oracles.scalars import largest, power_of, quotient, smallest

add = elementwise("z = x + y", lambda x, y: x + y)
subtract = elementwise("z = x - y", lambda x, y: x - y)
multiply = elementwise("z = x y", lambda x, y: x * y)
divide = elementwise("z = x / y", quotient)
negative = elementwise("y = -x", lambda x: -x)
power = elementwise("z = x^y", power_of)
maximum = elementwise("z = the larger of x and y", lambda x, y: largest([x, y]))
minimum = elementwise("z = the smaller of x and y", lambda x, y: smallest([x, y]))
where = elementwise("z = x if condition else y", lambda condition, x, y: x if condition else y)
