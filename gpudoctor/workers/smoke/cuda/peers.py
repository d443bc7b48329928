"""Copies from one device to another."""

from __future__ import annotations

from ..backends.base import Peer
from .library import PEER_ALREADY_ENABLED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .device import CudaContext


class DevicePeer(Peer):
    """A buffer on each of two devices; the bytes that arrive are compared on the host.

    Args:
        source, target: the devices; each stays current no longer than a method runs.
        home: the device that is current otherwise.
        numpy: the module.
        size: bytes.
    """

    def __init__(self, source: CudaContext, target: CudaContext, home: CudaContext, numpy: Any, size: int) -> None:
        self._source, self._target, self._home, self._numpy, self._size = source, target, home, numpy, size
        self.can_access = bool(source.cuda.number("cuDeviceCanAccessPeer", source.handle, target.handle))
        self._from = self._to = 0
        if self.can_access:
            _enable(source, target)
        self._pattern = numpy.frombuffer(numpy.random.default_rng(10).bytes(size), "uint8")
        try:
            source.make_current()
            self._from = source.allocate(size)
            source.upload(self._from, self._pattern)
            target.make_current()
            self._to = target.allocate(size)
            target.upload(self._to, ~self._pattern)
        finally:
            home.make_current()

    def copy(self) -> None:
        """Queue it on the source's stream."""
        source, target = self._source, self._target
        source.make_current()
        try:
            source.cuda.call(
                "cuMemcpyPeerAsync", self._to, target.context, self._from, source.context, self._size, source.stream
            )
        finally:
            self._home.make_current()

    def wait(self) -> None:
        """Wait for it."""
        self._source.cuda.call("cuStreamSynchronize", self._source.stream)

    def differing(self) -> int:
        """Bytes that arrived wrong, or not at all; what arrived is spoilt afterwards."""
        self.wait()
        found = self._numpy.empty_like(self._pattern)
        self._target.make_current()
        try:
            self._target.download(found, self._to)
            self._target.upload(self._to, ~self._pattern)
        finally:
            self._home.make_current()
        return int((found != self._pattern).sum())

    def __del__(self) -> None:
        for device, address in ((self._source, self._from), (self._target, self._to)):
            if address and device.open:
                device.cuda.code("cuCtxSetCurrent", device.context)
                device.give_back(address)
        self._home.cuda.code("cuCtxSetCurrent", self._home.context)


def _enable(source: CudaContext, target: CudaContext) -> None:
    """Let the source's engines write to the target's memory."""
    source.make_current()
    code = source.cuda.code("cuCtxEnablePeerAccess", target.context, 0)
    if code not in (0, PEER_ALREADY_ENABLED):
        raise source.cuda.error("cuCtxEnablePeerAccess", code)
