"""Faster forms of whole blocks: what is gained when several ops are seen at once.

    orders      the products of attention, multiplied in another order where that is cheaper
    blocks      MAB and rFF: an order of products, then residual, ReLU and norm in one pass
    images      convolution, batch norm and ReLU in fewer passes
    optim       all parameters of an optimizer as one

Importing this package attaches them (autograd/forms.py).
"""

from minisets.fast import blocks, images, optim
