"""Fleets for real: Slurm, ssh, Ray, kubectl, and their pages."""
