"""Fixes for ROCm in WSL: a release that supports the card, in WSL and on Windows."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes import wsl
from gpudoctor.fixes.amd import PROOF
from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.rocm import rocm
from gpudoctor.maybe import known_or
from gpudoctor.tasks import Tasks, as_root, cmd

GUIDE = "https://rocm.docs.amd.com/projects/radeon/en/latest/docs/install/wsl/install-radeon.html"
CARDS = "https://rocm.docs.amd.com/projects/radeon/en/latest/docs/compatibility/wsl/wsl_compatibility.html"


def supporting_release(facts: Facts) -> tuple[Fix, ...]:
    """Install ROCm and Windows' driver in releases that support the card; the driver alone where ROCm is new enough."""
    have = known_or(facts.amd.rocm, None)
    return (_driver(),) if have and version(have) >= version(rocm().wsl.cards[-1].rocm) else (_newer(facts), _driver())


def first_release(facts: Facts) -> Fix:
    """Install ROCm for WSL where there is none yet."""
    return _newer(facts)


def _supported() -> str:
    cards = [
        f"{one.names} from ROCm {one.rocm}" + (f" and Adrenalin {one.adrenalin}" if one.adrenalin else "") + " on"
        for one in rocm().wsl.cards
    ]
    return f"WSL supports {'; '.join(cards)}."


def _newer(facts: Facts) -> Fix:
    table = rocm().wsl
    found = known_or(facts.host.distribution, None)
    codename = table.codenames.get(known_or(found.version, None) or "") if found and found.id == "ubuntu" else None
    which = table.release if codename else f"{table.cards[-1].rocm} or newer"
    verb = "Install ROCm for WSL in release" if facts.amd.rocm is None else "Update ROCm for WSL to"
    return Fix(
        f"{verb} {which}, install the PyTorch that AMD built for it ({GUIDE}), and on Windows the "
        f"current Adrenalin driver. {_supported()}",
        _install(facts, table.installer.format(codename=codename)) if codename else (),
        "reinstall-package",
        root=True,
        impact="persistent",
        verify=PROOF,
    )


def _install(facts: Facts, address: str) -> Tasks:
    return (
        *(() if facts.amd.rocm is None else (as_root("amdgpu-install", "-y", "--uninstall"),)),
        cmd("wget", address),
        as_root("apt-get", "install", "-y", f"./{address.rpartition('/')[2]}"),
        as_root("amdgpu-install", "-y", "--usecase=wsl,rocm", "--no-dkms"),
    )


def _driver() -> Fix:
    return Fix(
        f"On Windows, install the current Adrenalin driver, then restart WSL. A card that is not on AMD's list "
        f"({CARDS}) works with ROCm only on a Linux that runs without Windows; no variable changes that.",
        (wsl.SHUTDOWN,),
        "reinstall-package",
        needs="restart of Windows",
        verify=PROOF,
    )
