"""The summary of a fleet in each form: one file a form."""
