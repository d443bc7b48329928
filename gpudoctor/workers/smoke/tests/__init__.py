"""One file a smoke test, each written once for all backends."""
