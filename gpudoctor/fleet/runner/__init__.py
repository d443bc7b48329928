"""Asks many machines: an engine starts the same command on each, and a ledger accounts for every one."""
