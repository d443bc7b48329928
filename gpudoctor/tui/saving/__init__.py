"""Saves the report: which form, under which name, and what can go wrong."""

from gpudoctor.tui.saving.screen import SaveScreen

__all__ = ["SaveScreen"]
