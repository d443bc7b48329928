"""Questions to the facts that several checks ask, one subject a file: they read facts, and never look or mend."""
