"""What an operator expects of a machine, in files of their own: a path through the facts, and an operator."""
