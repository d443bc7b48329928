"""What `compare` asks of a framework's data loader."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Loading:
    """Batches of pictures that the CPU prepares, each followed by a training step on the device."""

    batch = 0  # pictures
    most = 0  # workers that are worth trying

    def step(self) -> None:
        """Queue the training step on a batch that is on the device already."""
        raise NotImplementedError

    def loaded(
        self, workers: int, pinned: bool, non_blocking: bool, seconds: float, pause: Callable[[], None]
    ) -> list[float]:
        """Seconds of a batch that is loaded, copied and trained with, some times, once the first ones have come.

        Args:
            workers: processes that prepare batches; 0: this one.
            pinned: whether the loader copies batches to pinned memory.
            non_blocking: whether the copy to the device is only queued.
            seconds: for how long.
            pause: lets the run be ended here.
        """
        raise NotImplementedError
