"""Questions to the facts that several checks ask, one subject per file: they read facts, and never probe or fix."""
