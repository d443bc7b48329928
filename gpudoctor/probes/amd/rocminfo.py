"""What ROCm's own `rocminfo` says: whether its runtime (ROCr) starts, and which GPUs it then lists."""

from collections.abc import Sequence

from gpudoctor.child import ChildResult
from gpudoctor.facts.amd import Rocminfo, RocrAgent
from gpudoctor.facts.pci import PciDevice
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.parsers.rocminfo import Listing, parse
from gpudoctor.probes.amd import KFD, rocm

# It ends within a second, on a node with many GPUs within three.
SECONDS = 20.0
_WHY = 200
# By which a program ends itself, or the kernel a program that misbehaves; others are sent from outside.
_CRASHES = ("SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV", "SIGSYS", "SIGTRAP")
_DXG = "/dev/dxg"  # which stands for it in WSL


def probe(machine: Machine, cards: Sequence[PciDevice]) -> Maybe[tuple[Rocminfo, ...]]:
    """Run it where it is installed; empty: it is not.

    Args:
        machine: where to run it.
        cards: AMD's devices on the bus.
    """
    # AMD's wheels have one too, of their own runtime: the one of the ROCm whose release becomes a fact goes first.
    path = machine.which("rocminfo", before=[f"{folder}/bin" for folder in rocm.folders(machine)])
    if path is None:
        return ()
    asleep = next((card.address for card in cards if card.runtime_status == "suspended"), None)
    if not machine.exists(KFD) and not machine.exists(_DXG):
        return Unknown(f"rocminfo was not run: there is no {KFD}")
    if asleep:
        return Unknown(f"rocminfo was not run: the GPU at {asleep} sleeps, and it would wake it")
    ended = machine.run([path], SECONDS)
    listing = parse(f"{ended.out}\n{ended.err}")
    if ended.timed_out and ended.seconds >= SECONDS:
        return (Rocminfo(path=path, hung=True, lines=listing.lines),)
    if ended.timed_out or ended.cancelled or ended.missing:
        return Unknown(f"rocminfo: {ended.missing or 'it had less than its full time'}")
    if ended.signal and ended.signal not in _CRASHES:
        return Unknown(f"rocminfo was ended by {ended.signal}")
    return _read(path, ended, listing)


def _read(path: str, ended: ChildResult, listing: Listing) -> Maybe[tuple[Rocminfo, ...]]:
    """What it found, or why it failed.

    Before it starts the runtime, it looks whether the module is loaded, in old releases by lsmod, which may be missing:
    that it refuses then says nothing of the runtime.
    """
    last = next(
        (line.strip()[:_WHY] for line in reversed(f"{ended.out}\n{ended.err}".splitlines()) if line.strip()), ""
    )
    if ended.signal or listing.status or (listing.gpus is None and any(KFD in line for line in listing.lines)):
        lines = listing.lines or tuple(filter(None, (last,)))
        return (Rocminfo(path=path, status=listing.status, died=ended.signal, lines=lines),)
    if listing.gpus is None or not ended.ok:
        return Unknown(f"rocminfo ended with {ended.code}: {last or 'it printed nothing'}")
    agents = tuple(RocrAgent(gfx=gfx, name=name) for gfx, name in listing.gpus)
    return (Rocminfo(path=path, agents=agents, lines=listing.lines),)
