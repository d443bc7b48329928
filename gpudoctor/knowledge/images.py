"""Images of operating systems that bring NVIDIA's driver."""

from functools import cache

import msgspec

from gpudoctor.knowledge.table import KnowledgeTable, load


class ProprietaryImages(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The driver branch of those with the proprietary modules."""

    branch: int


class ImageFamily(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Images with one desktop.

    Attributes:
        names: the images.
        open: the one with the newest driver and the open modules.
        proprietary: the one with the proprietary modules, perhaps of another project.
        former: the last one of the project itself with those, which is no longer built; empty: none is named.
    """

    names: tuple[str, ...]
    open: str
    proprietary: str
    former: str = ""


class ImageTable(KnowledgeTable, frozen=True):
    """The table ``images.toml``."""

    proprietary: ProprietaryImages
    image: tuple[ImageFamily, ...]


@cache
def images() -> ImageTable:
    """The table."""
    return load("images", ImageTable)


def family_of_image(name: str) -> ImageFamily | None:
    """Return the images among which one is; None where its name is not known.

    Args:
        name: the image's name, "bazzite-nvidia-open".
    """
    return next((row for row in images().image if name in row.names), None)
