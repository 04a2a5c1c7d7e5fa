"""Fast forms on the CPU of the ops in which a training step spends its time.

rows        linear, layer_norm, products head by head, the two halves of a MAB: rows of a matrix, a piece at a time
attention   blocks of queries, so that the scores of a large set are never in memory all at once
images      convolution and batch normalisation, some images at a time
pieces      how arrays are cut
backward    the walk through the graph, without needless copies
attach      how they are attached to the ops (forms.py), which importing this package does
"""

from autograd.fast import attention, backward, images, rows
