"""What slows a working GPU down."""
