"""What has changed in the world since the tables of gpudoctor/knowledge were collected.

Each module reads one public, machine-readable source and gives differences. Those that a machine may write are written
by `refresh_tables.py --write`; the others say what a person has to read.
"""
