"""Fast forms on the CPU of the ops in which a training step spends its time; forms.py says when they are used.

rows        linear, products head by head, layer_norm and the two halves of a MAB: rows of a matrix, a piece at a time
images      convolution and batch normalisation, some images at a time
attention   blocks of queries, so that the scores of a large set are never in memory all at once
"""
