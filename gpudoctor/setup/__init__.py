"""The setup planner: from this machine's GPU, driver, distribution and Python to an ordered plan that fits."""
