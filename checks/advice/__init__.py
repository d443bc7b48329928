"""What works but could be better on this machine: never a failure, and no advice that applies to every machine."""
