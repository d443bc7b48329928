"""Asks ONNX Runtime for a real session on the GPU: the list of providers only tells what was built."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gpudoctor.workers.common import Teller

# In the order of preference; DirectML and the like are for other systems.
_ON_GPU = ("CUDAExecutionProvider", "MIGraphXExecutionProvider", "ROCMExecutionProvider")
_CPU = "CPUExecutionProvider"
_FLOAT = 1  # TensorProto.FLOAT of https://github.com/onnx/onnx/blob/main/onnx/onnx.proto


def ask(teller: Teller, onnxruntime: Any) -> None:
    """Ask which providers were built, and make a session on the first one for GPUs."""
    # It would note an id of the machine and send events; releases without telemetry lack the function.
    getattr(onnxruntime, "disable_telemetry_events", bool)()
    teller.stage("devices")
    listed = teller.fact("listed", lambda: [str(name) for name in onnxruntime.get_available_providers()])
    if listed is None:
        return
    provider = next((name for name in _ON_GPU if name in listed), None)
    if provider is None:
        teller.tell(available=False, providers=listed, error=None)
        return
    teller.stage("init")
    _session(teller, onnxruntime, provider)


def _session(teller: Teller, onnxruntime: Any, provider: str) -> None:
    """A provider that does not load is left out without an exception, so the session itself has to say."""
    try:
        session = onnxruntime.InferenceSession(identity_model(), providers=[provider, _CPU])
        taken = [str(name) for name in session.get_providers()]
    except Exception as error:
        teller.tell(error=teller.text(error), available=False, providers={"unknown": teller.full_text(error)})
        return
    teller.tell(providers=taken, available=provider in taken, error=None)


def identity_model() -> bytes:
    """An ONNX model of one Identity node, in the wire format of https://protobuf.dev/programming-guides/encoding/."""
    shape = _field(1, _number(1, 1))
    tensor = _field(1, _number(1, _FLOAT) + _field(2, shape))
    node = _field(1, b"x") + _field(2, b"y") + _field(4, b"Identity")
    ends = [_field(field, _field(1, name) + _field(2, tensor)) for field, name in ((11, b"x"), (12, b"y"))]
    graph = _field(1, node) + _field(2, b"g") + b"".join(ends)
    # IR version 7 and operator set 13 are read by every ONNX Runtime since 1.8.
    return _number(1, 7) + _field(7, graph) + _field(8, _field(1, b"") + _number(2, 13))


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2, len(content)]) + content


def _number(number: int, value: int) -> bytes:
    return bytes([number << 3, value])
