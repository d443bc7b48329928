"""gpudoctor's own tables against the machine."""
