"""Checks of GPUs under the Windows Subsystem for Linux and in Hyper-V guests."""
