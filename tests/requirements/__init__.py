"""What a script demands of a machine."""
