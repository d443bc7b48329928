"""The GPU itself: its power, its bus, its memory, its state."""
