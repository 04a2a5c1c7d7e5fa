"""Faster forms of whole blocks: what can be gained by optimizing several ops together.

    product_orders      the matrix products of attention, in whichever order is cheapest
    blocks              MAB and rFF: the cheapest order of products, then residual, ReLU and norm in one pass
    images              convolution, batch norm and ReLU in fewer passes
    optim               all parameters of an optimizer as one array

Importing this package attaches them (autograd/forms.py).
"""

from minisets.fast import blocks, images, optim
