"""From the symptom."""
