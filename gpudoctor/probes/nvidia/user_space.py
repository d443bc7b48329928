"""The user's half of NVIDIA's driver: its libraries, and what libcuda and NVML answer in children."""

from threading import Thread

from gpudoctor.facts import Cuda, Gpu, Host, Nvidia, NvidiaKernel, Nvml
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.probes.nvidia import cuda, libraries, nvml


def probe(
    machine: Machine,
    host: Host,
    before: NvidiaKernel | None,  # noqa: ARG001 - waited for: NVML and libcuda may run nvidia-modprobe, which changes it
) -> tuple[Nvidia, Maybe[tuple[Gpu, ...]]]:
    """Find the libraries, then ask both at the same time, so that one that hangs costs no more than itself."""
    cuda_libraries, nvml_libraries, others, links = libraries.probe(machine, host)
    said: Nvml
    gpus: Maybe[tuple[Gpu, ...]]
    if cuda_libraries == ():  # nothing is asked, so nothing can hang
        answer = cuda.probe(machine, cuda_libraries)
        said, gpus = nvml.probe(machine, nvml_libraries, host)
    else:
        asked: list[Cuda] = []
        ask = Thread(target=lambda: asked.append(cuda.probe(machine, cuda_libraries)), daemon=True)
        ask.start()
        said, gpus = nvml.probe(machine, nvml_libraries, host)
        ask.join()
        answer = asked[0] if asked else Cuda(libraries=cuda_libraries, code=Unknown("the probe failed"))
    return Nvidia(cuda=answer, nvml=said, other_libraries=others, link_libraries=links), gpus
