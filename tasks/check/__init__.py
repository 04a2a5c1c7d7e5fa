"""The command minisets check."""
