"""The application in the terminal: a diagnosis one can walk through."""
