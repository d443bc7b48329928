"""What apt's preferences keep from being installed: packages of a negative priority (apt_preferences(5))."""

from collections.abc import Iterator

from gpudoctor.parsers.repositories import fields_of_stanzas


def negative(text: str) -> Iterator[tuple[tuple[str, ...], str, bool]]:
    """The pins of a file that are below 0: packages, what the pin is for, and whether the file has no other."""
    found = [fields for fields in fields_of_stanzas(text) if fields.get("Package")]
    for fields in found:
        if fields.get("Pin") and fields.get("Pin-Priority", "").startswith("-"):
            yield tuple(fields["Package"].split()), " ".join(fields["Pin"].split()), len(found) == 1
