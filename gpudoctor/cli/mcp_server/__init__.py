"""The server behind `gpudoctor mcp`: the protocol in `server`, each call in a process of its own (`answers`)."""
