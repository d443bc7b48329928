"""Releases with known vulnerabilities, by the vendors' bulletins: advice, and only where somebody asks for it."""
