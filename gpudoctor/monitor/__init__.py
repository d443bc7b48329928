"""The GPUs over time: what the driver says of each, once a second, live, replayed, or as one recorded moment."""
