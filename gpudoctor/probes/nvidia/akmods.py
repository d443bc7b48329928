"""Why akmods, which builds modules on Fedora and its relatives, failed; and the keys of a system that is an image."""

from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.parsers import build_log

_CACHE = "/var/cache/akmods"
_CERTIFICATES = "/etc/pki/akmods/certs"


def errors(machine: Machine, release: str) -> tuple[str | None, tuple[str, ...]]:
    """Return the log of the newest failed build for a kernel, and its telling lines; (None, ()) where there is none."""
    logs = [
        f"{_CACHE}/{folder}/{name}"
        for folder in machine.names(_CACHE)
        if folder.startswith("nvidia")
        for name in machine.names(f"{_CACHE}/{folder}")
        if name.endswith(f"-for-{release}.failed.log")
    ]
    for log in sorted(logs, key=_numbers, reverse=True):
        try:
            text = machine.text(log)
        except OSError:
            continue
        return log, build_log.errors(text)
    return None, ()


def image_keys(machine: Machine) -> tuple[str, ...] | None:
    """Return the certificates with which an image's modules are signed; None where /usr is no image.

    ostree makes /run/ostree-booted (https://ostreedev.github.io/ostree/adapting-existing/); images for Fedora Atomic
    put their certificate into the folder of akmods, beside the machine's own public_key.der.
    """
    if not machine.exists("/run/ostree-booted"):
        return None
    return tuple(f"{_CERTIFICATES}/{name}" for name in sorted(machine.names(_CERTIFICATES)) if name.endswith(".der"))


def _numbers(path: str) -> list[int]:
    return [int(n) for n in pattern(r"\d+").findall(path)]
