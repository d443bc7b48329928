"""Checks of machines in a cluster: batch jobs, and nodes of Kubernetes."""
