"""The set-up planner."""
