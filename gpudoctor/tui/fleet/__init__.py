"""Many machines at once: which nodes are ill, of what, and where they are."""
