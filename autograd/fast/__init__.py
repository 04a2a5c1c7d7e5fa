"""Fast forms on the CPU of the ops in which a training step spends its time; forms.py says when they are used.

rows        linear, layer_norm and the feed-forward half of a block: rows of a matrix, a piece at a time
attention   blocks of queries, with no more than a block of the scores in memory
"""
