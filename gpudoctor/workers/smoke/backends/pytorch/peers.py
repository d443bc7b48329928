"""Copies from one GPU to another."""

from __future__ import annotations

from ..base import Peer
from .copies import differing, randomised

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class PeerBuffers(Peer):
    """A buffer on each of two devices, and on the target what should arrive, which came from the host."""

    def __init__(self, torch: Any, source: int, target: int, size: int) -> None:
        self.torch, self.devices = torch, (source, target)
        self.can_access = bool(torch.cuda.can_device_access_peer(source, target))
        pattern = torch.empty(size, dtype=torch.uint8)
        randomised(torch, pattern, 1 + source)
        self.here = pattern.to("cuda:%d" % source)
        self.expected = pattern.to("cuda:%d" % target)
        self.there = torch.zeros_like(self.expected)
        self.wait()

    def copy(self) -> None:
        """Queued; PyTorch puts it on the source's stream, and lets the target's wait for it."""
        self.there.copy_(self.here, non_blocking=True)

    def wait(self) -> None:
        """For both devices."""
        for device in self.devices:
            self.torch.cuda.synchronize(device)

    def differing(self) -> int:
        """On the target, by its own CPUs."""
        self.wait()
        return differing(self.torch, self.there, self.expected)
