"""minisets bench: how long a training step takes, compared with PyTorch's if it is installed."""
