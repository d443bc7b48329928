"""What works and could be better on this machine: never a failure, and nothing that fits every machine."""
