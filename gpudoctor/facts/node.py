"""A device node, and what the kernel answers when the user opens it."""

import msgspec

from gpudoctor.maybe import Maybe, Unknown

NOT = Unknown()


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One file under /dev."""

    path: str
    mode: Maybe[str] = NOT  # "666"
    uid: Maybe[int] = NOT
    gid: Maybe[int] = NOT
    major: Maybe[int] = NOT
    minor: Maybe[int] = NOT
    error: Maybe[str | None] = NOT  # errno of open(O_RDWR): "EACCES", "EPERM"; None: it opens
