"""minisets bench: how long a training step takes, beside PyTorch's where it is installed."""
