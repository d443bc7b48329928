"""What changes with releases: tables with sources and dates, and typed access to them."""
