"""The colors, dark and light, and the look without any; each text has a contrast of 4.5 or more (WCAG 2.2, 1.4.3)."""

from __future__ import annotations

from textual.theme import Theme

# Warnings are amber and advice is teal, so that the two differ; textual's own themes have one color for both.
DARK = Theme(
    name="gpudoctor-dark",
    primary="#0b69b7",
    secondary="#004578",
    accent="#3fb8bd",
    warning="#ffa62b",
    error="#ba3c5b",
    success="#4ebf71",
    foreground="#e0e0e0",
    variables={
        "foreground-muted": "#9a9a9a",
        "text-primary": "#62a8e5",
        "text-accent": "#63c9cd",
        "text-error": "#e58a9f",
        "block-cursor-background": "#083e6c",
        "footer-key-foreground": "#ffb454",
    },
)
LIGHT = Theme(
    name="gpudoctor-light",
    dark=False,
    primary="#004578",
    secondary="#0178d4",
    accent="#00656b",
    warning="#834f00",
    error="#9c1f43",
    success="#1a6934",
    surface="#d8d8d8",
    panel="#d0d0d0",
    background="#e4e4e4",
    foreground="#1c1c1c",
    variables={
        "foreground-muted": "#545454",
        "text-primary": "#004578",
        "text-accent": "#00585d",
        "text-warning": "#744600",
        "text-error": "#8f1a3c",
        "text-success": "#175c2e",
        "block-cursor-background": "#003560",
        "footer-key-foreground": "#004578",
    },
)
# The terminal's own two colors; plain.py and style.tcss say how a cursor is told from the rest.
PLAIN = Theme(
    name="gpudoctor-plain",
    ansi=True,
    primary="ansi_default",
    secondary="ansi_default",
    accent="ansi_default",
    warning="ansi_default",
    error="ansi_default",
    success="ansi_default",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    boost="ansi_default",
    variables={
        "ansi-background": "ansi_default",
        "ansi-foreground": "ansi_default",
        "input-cursor-background": "ansi_white",
        "input-selection-background": "ansi_white",
        "input-selection-foreground": "ansi_black",
        "link-background-hover": "ansi_default",
        "footer-key-foreground": "ansi_default",
    },
)
THEMES = (DARK, LIGHT, PLAIN)
