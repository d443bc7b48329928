"""Whether the key that signed NVIDIA's module is one that the kernel trusts under Secure Boot."""

from gpudoctor.facts import DiskModule, Dkms, Host, NvidiaKernel
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown

# The certificates with which DKMS (Ubuntu's, everybody's) and akmods sign what they build.
_CERTIFICATES = (
    "/var/lib/shim-signed/mok/MOK.der",
    "/var/lib/dkms/mok.pub",
    "/etc/pki/akmods/certs/public_key.der",
)
_SUBJECT = pattern(r"Subject:(.*)")
_SERIAL = pattern(r"Serial Number:\s*((?:[0-9a-f]{2}:){7,}[0-9a-f]{2})")


def enrolled(machine: Machine, host: Host, now: NvidiaKernel) -> Maybe[bool | None]:
    """Return whether the kernel trusts the signer of the module that modprobe would load.

    The kernel looks for the certificate with the signature's issuer and serial number among its own keys, the Machine
    Owner Keys (MOK) and the firmware's (Documentation/admin-guide/module-signing.rst). mokutil lists the last two.

    Args:
        machine: where to look.
        host: whose Secure Boot is known.
        now: with the modules on disk and what DKMS built.

    Returns:
        None where nothing depends on it: the module is loaded or unsigned, or Secure Boot is off.
    """
    disk = now.on_disk if isinstance(now.on_disk, tuple) else ()
    first = disk[0] if disk else None
    if now.loaded is not None or host.kernel.secure_boot is not True or first is None or first.signer is None:
        return None
    if isinstance(first.signer, Unknown):
        return first.signer
    if "/kernel/nvidia-" in first.path:
        return True  # Ubuntu's prebuilt modules (linux-modules-nvidia-...): their key is built into its kernels
    listed = [machine.run(["mokutil", option]).out for option in ("--list-enrolled", "--db")]
    if any(_has(text, first.signer, first.serial) for text in listed):
        return True
    if not now.image_keys and not _built_here(machine, first, now.dkms):
        return Unknown(f"whether the kernel's own keys include that of {first.signer!r} is not known")
    if "[key " in listed[0] or "is empty" in listed[0] or _test_fails(machine):
        return False
    return Unknown("mokutil, which lists the enrolled keys, is missing or does not show them")


def is_pending(machine: Machine, now: NvidiaKernel) -> bool:
    """Whether the key of the module on disk, which is not enrolled, was imported: the next boot asks about it."""
    first = now.on_disk[0] if isinstance(now.on_disk, tuple) and now.on_disk else None
    if first is None or not isinstance(first.signer, str):
        return False
    return _has(machine.run(["mokutil", "--list-new"]).out, first.signer, first.serial)


def _has(text: str, signer: str, serial: str | None) -> bool:
    """Whether one of the listed certificates is the signer's: a key that was made again has the same name."""
    for block in text.split("[key ")[1:]:
        subject, number = _SUBJECT.search(block), _SERIAL.search(block)
        other = number is not None and serial is not None and len(serial) > 20 and number[1] != serial.lower()
        if subject is not None and signer in subject[1] and not other:
            return True
    return False


def _built_here(machine: Machine, module: DiskModule, dkms: Maybe[tuple[Dkms, ...] | None]) -> bool:
    """Whether DKMS or akmods built it on this machine, with a key of its own."""
    entries = dkms if isinstance(dkms, tuple) else ()
    akmods = any(name.startswith("nvidia") for name in machine.names("/var/cache/akmods"))
    return "/dkms/" in module.path or akmods or any(one.kernel == module.kernel for one in entries)


def _test_fails(machine: Machine) -> bool:
    """Whether mokutil reports that the certificate with which modules are signed here is not enrolled."""
    there = [path for path in _CERTIFICATES if machine.exists(path)]
    return bool(there) and all("is not enrolled" in machine.run(["mokutil", "--test-key", path]).out for path in there)
