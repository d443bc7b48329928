"""Started as `PYTHON ddp_rank.py TASK` for each device: takes a training step with the others.

Its images are in the file batch-RANK of the task's `place`. In found-RANK it leaves its gradients, as
DistributedDataParallel averaged them, and its weights after the step: native float32, in the order of the weights. It
tells its stages and `seconds`, as rank.py does.
"""

from __future__ import annotations

import sys

# Python puts this directory first; nothing of ours may hide a module of the environment. Not so with PYTHONSAFEPATH.
if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]

import ctypes
import importlib.util

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType
    from typing import Any

WARM, TIMED = 5, 20  # steps
QUEUED = 5  # of each timed one, so that the host's clock and the launch do not count


def package() -> Callable[[str], ModuleType]:
    """What loads a module of gpudoctor/workers/smoke, as its worker.py does."""
    path = __file__[: -len("backends/pytorch/ddp_rank.py")] + "worker.py"
    spec = importlib.util.spec_from_file_location("_gpudoctor_worker", path)
    worker = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(worker)  # type: ignore[union-attr]
    load: Callable[[str], ModuleType] = worker.load
    return load


def main() -> None:
    """Step."""
    load = package()
    load("backends.pytorch.rank").conduct(lambda task: stepped(load, task))


def stepped(load: Callable[[str], ModuleType], task: dict[str, Any]) -> dict[str, Any]:
    """Join the others, take the step, and time some more where the task has images for them."""
    rank = load("backends.pytorch.rank")
    rank.tell({"stage": "import"})
    backend = load("backends.pytorch").PytorchBackend({"kind": task["kind"], "device": task["rank"]})
    backend.start()
    rank.tell({"stage": "join"})
    rank.join(backend.torch, task)
    rank.tell({"stage": "step"})
    with backend.precision("fp32"):
        replica = Replica(load, backend, task)
        # The first layer's gradient is the last to be there.
        ready = replica.parameters[0].register_hook(lambda _: rank.tell({"stage": "all-reduce"}))
        gradients = replica.step()
        ready.remove()
        _write("%s/found-%d" % (task["place"], task["rank"]), [*gradients, *replica.parameters])
        rank.tell({"stage": "timing"})
        return {"seconds": replica.timed(task["timed"]) if task["timed"] else []}


class Replica:
    """The network under DistributedDataParallel, with this rank's part of the batch."""

    def __init__(self, load: Callable[[str], ModuleType], backend: Any, task: dict[str, Any]) -> None:
        self.backend, torch = backend, backend.torch
        self.torch = torch
        with open("%s/batch-%d" % (task["place"], task["rank"]), "rb") as file:
            labels, images = file.read(task["images"]), file.read()
        network, weights = load("backends.pytorch.network"), load("weights")
        self.images, self.labels = (one.to(backend.device) for one in network.batch(torch, images, labels))
        leaves = network.parameters_of(torch, weights.Weights(weights.CNN, task["seed"]), backend.device, torch.float32)
        self.parameters = [torch.nn.Parameter(leaf.detach()) for leaf in leaves]
        module = _module(torch, self.parameters, network.logits)
        places = None if backend.kind == "cpu" else [backend.device.index]
        self.replica = torch.nn.parallel.DistributedDataParallel(module, device_ids=places)
        self.descent = torch.optim.SGD(self.parameters, lr=task["rate"])

    def step(self) -> list[Any]:
        """One step; the averaged gradients, copied."""
        self._step(self.images, self.labels)
        return [parameter.grad.clone() for parameter in self.parameters]

    def _step(self, images: Any, labels: Any) -> None:
        self.descent.zero_grad()
        self.torch.nn.functional.cross_entropy(self.replica(images), labels).backward()
        self.descent.step()

    def timed(self, count: int) -> list[float]:
        """Seconds of one of some steps on so many images, each time."""
        at = self.torch.arange(count, device=self.backend.device) % len(self.labels)
        images, labels = self.images[at], self.labels[at]

        def call() -> None:
            self._step(images, labels)

        self.backend.elapsed(call, WARM)
        return [self.backend.elapsed(call, QUEUED) for _ in range(TIMED // QUEUED)]


def _module(torch: Any, parameters: Sequence[Any], logits: Callable[..., Any]) -> Any:
    """These parameters as a module, which is what DistributedDataParallel takes."""

    class DdpClassifier(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.kept = torch.nn.ParameterList(parameters)

        def forward(self, images: Any) -> Any:
            return logits(torch, list(self.kept), images)

    return DdpClassifier()


def _write(path: str, tensors: Sequence[Any]) -> None:
    """The bytes of tensors, without NumPy, which may be missing."""
    with open(path, "wb") as file:
        for tensor in tensors:
            here = tensor.detach().cpu().contiguous()
            file.write(ctypes.string_at(here.data_ptr(), here.numel() * here.element_size()))


if __name__ == "__main__":
    main()
