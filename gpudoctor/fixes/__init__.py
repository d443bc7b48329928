"""The commands of a fix, for this distribution, this installer and this GPU."""
