"""What WSL's own configuration says of the GPU."""

import msgspec

from gpudoctor.maybe import Maybe, Unknown

NOT = Unknown()


class Wsl(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of this distribution in /etc/wsl.conf; each is None where this is not WSL 2."""

    gpu: Maybe[bool | None] = NOT  # [gpu] enabled: whether WSL mounts the Windows driver's files
    ldconfig: Maybe[bool | None] = NOT  # [automount] ldconfig: whether WSL tells the loader of /usr/lib/wsl/lib
    vendors: tuple[str, ...] = ()  # of AMD and Intel, whose display drivers Windows has by /usr/lib/wsl/drivers


NO_WSL = Wsl(gpu=None, ldconfig=None)  # on macOS and native Windows
