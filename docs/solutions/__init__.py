"""Solutions to the exercises.  Each docstring says why; the module's docstring answers those done on paper."""
