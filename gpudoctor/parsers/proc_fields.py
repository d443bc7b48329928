"""Fields of the files under /proc: lines of a name, a colon and a value."""


def field(text: str, name: str) -> str | None:
    """Return the value of the first line of this name, without blanks around it; None where there is none.

    A regular expression would be compiled in each run, for each name.
    """
    text = f"\n{text}\n"
    at = text.find(f"\n{name}")
    while at >= 0:
        end = text.index("\n", at + 1)
        label, colon, value = text[at + 1 : end].partition(":")
        if colon and label.rstrip() == name:
            return value.strip()
        at = text.find(f"\n{name}", end)
    return None
