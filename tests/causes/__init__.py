"""Which of several troubles is the root cause: whole machines, and pairs of troubles."""
