"""What the smoke tests measured: right or wrong numbers, speeds, and tests that did not end well."""
