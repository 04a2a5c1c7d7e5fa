"""Synthetic stand-ins for the data sets, each a function of a seed."""
