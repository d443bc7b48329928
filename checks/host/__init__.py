"""Checks of what a machine needs beside its GPUs: shared memory, disks, memory."""
