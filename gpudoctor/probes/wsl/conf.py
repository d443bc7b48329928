"""The settings of a WSL distribution that decide over the GPU."""

from gpudoctor.facts import Host, Wsl
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown

# https://learn.microsoft.com/windows/wsl/wsl-config#configuration-settings-for-wslconf, and for ldconfig
# https://github.com/microsoft/WSL/blob/master/src/linux/init/WslDistributionConfig.h
PATH = "/etc/wsl.conf"
INSIDE = Unknown("the distribution's: not visible from the container")


def probe(machine: Machine, host: Host) -> Wsl:
    """Read what /etc/wsl.conf switches off; without the file, or without the key, both are on."""
    if host.wsl != 2:
        why = host.wsl if isinstance(host.wsl, Unknown) else None
        return Wsl(gpu=why, ldconfig=why)
    if isinstance(host.container, str):
        return Wsl(gpu=INSIDE, ldconfig=INSIDE)
    try:
        settings = _settings(machine.text(PATH, 1 << 20))
    except (FileNotFoundError, NotADirectoryError):
        settings = {}
    except OSError as error:
        why = Unknown(f"{PATH}: {error.strerror}")
        return Wsl(gpu=why, ldconfig=why)
    from gpudoctor.probes.wsl import files

    return Wsl(
        gpu=_is_on(settings, "gpu.enabled"),
        ldconfig=_is_on(settings, "automount.ldconfig"),
        vendors=files.vendors(machine),
    )


def _settings(text: str) -> dict[str, str]:
    """The keys with their sections; WSL ignores the case of both."""
    found, section = {}, ""
    for line in text.splitlines():
        line = line.partition("#")[0].strip()
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1].strip()
        elif "=" in line:
            key, _, value = line.partition("=")
            found[f"{section}.{key.strip()}".lower()] = value.strip().strip('"').lower()
    return found


def _is_on(settings: dict[str, str], key: str) -> Maybe[bool | None]:
    return settings.get(key, "true") not in ("false", "0")
