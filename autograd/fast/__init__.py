"""CPU forms of the ops in which a training step spends most of its time.

rows        linear, layer_norm, per-head products and the two halves of a MAB, computed one piece of rows at a time
attention   attention in blocks of queries, so that the scores of a large set are never all in memory
images      convolution and batch normalization, a few images at a time
pieces      how arrays are split
backward    the backward pass without unnecessary copies
attach      how the forms are attached to the ops (forms.py), which happens when this package is imported
"""

from autograd.fast import attention, backward, images, rows
