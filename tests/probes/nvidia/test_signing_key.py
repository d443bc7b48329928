"""Whether the kernel trusts the key that signed NVIDIA's module: what mokutil lists, and who built the module."""

import msgspec
import pytest

from gpudoctor.facts import DiskModule, Dkms, Host, NvidiaKernel
from gpudoctor.facts.host import Kernel
from gpudoctor.maybe import Unknown
from gpudoctor.probes.nvidia import signing_key
from gpudoctor.recorded_machine import RecordedMachine

RELEASE = "6.14.0-33-generic"
SIGNER, SERIAL = "laptop Secure Boot Module Signature key", "4C:DF:12:34:56:78:9A:BC:DE:F0"
BUILT = DiskModule(
    kernel=RELEASE, path=f"/lib/modules/{RELEASE}/updates/dkms/nvidia.ko.zst", signer=SIGNER, serial=SERIAL
)
SECURE = Host(kernel=Kernel(release=RELEASE, secure_boot=True))
CANONICAL = "[key 1]\nSHA1 Fingerprint: 76:a0\n        Subject: C=GB, O=Canonical Ltd., CN=Canonical Ltd. Master CA\n"
OWN = f"[key 2]\n        Serial Number:\n            {SERIAL.lower()}\n        Subject: CN={SIGNER}\n"
AGAIN = OWN.replace("4c:df", "00:11")
LISTED, DB = "mokutil --list-enrolled", "mokutil --db"


def asked(module: DiskModule = BUILT, host: Host = SECURE, loaded: str | None = None, **machine: object) -> object:
    """What the probe returns on a machine with one module of NVIDIA's."""
    now = NvidiaKernel(loaded=loaded, on_disk=(module,), dkms=None)
    return signing_key.enrolled(RecordedMachine(**machine), host, now)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        (CANONICAL, False),
        (CANONICAL + OWN, True),
        (CANONICAL + AGAIN, False),  # the key was made again under the same name; the old one is enrolled
        ("MokListRT is empty\n", False),
    ],
)
def test_the_enrolled_keys_decide(listed: str, expected: bool) -> None:
    assert asked(commands={LISTED: listed}) is expected


@pytest.mark.parametrize(("listed", "expected"), [(OWN, True), (AGAIN, False), ("", False)])
def test_a_key_may_wait_for_the_next_boot(listed: str, expected: bool) -> None:
    now = NvidiaKernel(loaded=None, on_disk=(BUILT,), dkms=None)
    assert signing_key.is_pending(RecordedMachine(commands={"mokutil --list-new": listed}), now) is expected


def test_a_key_in_the_firmware_counts() -> None:
    assert asked(commands={LISTED: CANONICAL, DB: OWN}) is True


def test_nothing_depends_on_it() -> None:
    off = msgspec.structs.replace(SECURE, kernel=Kernel(release=RELEASE, secure_boot=False))
    assert asked(commands={LISTED: CANONICAL}, host=off) is None
    assert asked(commands={LISTED: CANONICAL}, loaded="580.95.05") is None
    assert asked(msgspec.structs.replace(BUILT, signer=None), commands={LISTED: CANONICAL}) is None


def test_ubuntus_own_modules_are_trusted() -> None:
    path = f"/lib/modules/{RELEASE}/kernel/nvidia-580-open/nvidia.ko"
    assert asked(msgspec.structs.replace(BUILT, path=path, signer="Canonical Ltd. Kernel Module Signing")) is True


def test_without_mokutil_and_of_a_foreign_module_it_is_unknown() -> None:
    assert isinstance(asked(), Unknown)
    foreign = msgspec.structs.replace(BUILT, path=f"/lib/modules/{RELEASE}/extra/nvidia.ko", signer="SUSE CA")
    assert isinstance(asked(foreign, commands={LISTED: CANONICAL}), Unknown)
    nameless = msgspec.structs.replace(BUILT, signer=Unknown("modinfo does not name the signer"))
    assert asked(nameless) == nameless.signer


def test_dkms_of_another_directory_and_its_certificate() -> None:
    extra = msgspec.structs.replace(BUILT, path=f"/lib/modules/{RELEASE}/extra/nvidia.ko.xz")
    entry = Dkms(module="nvidia", version="580.95.05", kernel=RELEASE, state="installed")
    now = NvidiaKernel(loaded=None, on_disk=(extra,), dkms=(entry,))
    test = {"mokutil --test-key /var/lib/dkms/mok.pub": "/var/lib/dkms/mok.pub is not enrolled\n"}
    machine = RecordedMachine(files={"/var/lib/dkms/mok.pub": b"0"}, commands=test)
    assert signing_key.enrolled(machine, SECURE, now) is False
