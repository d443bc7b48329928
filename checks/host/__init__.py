"""Checks of what a machine needs besides its GPUs: shared memory, disks, memory."""
