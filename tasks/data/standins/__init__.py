"""Synthetic stand-ins for the data sets, made from a seed."""
