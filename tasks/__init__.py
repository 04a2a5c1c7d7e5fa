"""Book III: the paper's experiments, each a page that reads from top to bottom.

The pages: max_regression, clustering, clustering_large, unique_characters, vgg, image_clustering, set_anomaly,
point_cloud, runtime.  What they share is in folders:

harness/     options, runs, run folders, tables, the command line
data/        the public data sets, and stand-ins for them
metrics/     mixtures of Gaussians with EM, and how well scores rank
plots/       figures
sweep/       minisets sweep: a grid of runs, on this machine or under mpiexec
bench/       minisets bench: how long a training step takes
selftest/    minisets selftest: whether everything is right on this machine
"""
