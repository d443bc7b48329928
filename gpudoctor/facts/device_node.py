"""A device node, and what the kernel answers when the user opens it."""

import msgspec

from gpudoctor.facts.text_types import Small
from gpudoctor.maybe import Maybe, Unknown

NOT = Unknown()


class DeviceNode(msgspec.Struct, frozen=True, kw_only=True):
    """One file under /dev."""

    path: str
    mode: Maybe[str] = NOT  # "666"
    uid: Maybe[Small] = NOT
    gid: Maybe[Small] = NOT
    major: Maybe[Small] = NOT
    minor: Maybe[Small] = NOT
    error: Maybe[str | None] = NOT  # errno of open(O_RDWR): "EACCES", "EPERM"; None: it opens
