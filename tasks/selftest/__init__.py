"""minisets selftest: every kernel, op and block on this machine, against float64 on the CPU."""
