"""One diagnosis over many machines: `running/` asks them, `reading/` sums up what they said, `faces/` tell it."""
