"""Real environments, broken and repaired by typing what gpudoctor prints."""
