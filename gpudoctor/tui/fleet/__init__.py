"""Many machines at once: which nodes are unhealthy, of what, and where they are."""
