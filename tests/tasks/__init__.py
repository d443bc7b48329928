"""What fixes and plans are made of."""
