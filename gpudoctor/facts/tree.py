"""The root of the tree of facts."""

import msgspec

from gpudoctor.facts.amd import Amd
from gpudoctor.facts.apple import AppleFacts
from gpudoctor.facts.cloud import Cloud
from gpudoctor.facts.cluster import Cluster
from gpudoctor.facts.container_host import ContainerHost
from gpudoctor.facts.gpu import Gpu
from gpudoctor.facts.history import ChangeHistory
from gpudoctor.facts.host import Host
from gpudoctor.facts.intel import IntelFacts
from gpudoctor.facts.kernel_log import KernelLog
from gpudoctor.facts.llama_cpp import LlamaCpp
from gpudoctor.facts.nvidia import Nvidia
from gpudoctor.facts.ollama import Ollama
from gpudoctor.facts.pci import PciDevice
from gpudoctor.facts.python import Python
from gpudoctor.facts.service_log import ServiceLog
from gpudoctor.facts.smoke import Smoke
from gpudoctor.facts.text_types import Duration, Moment, is_moment, moment
from gpudoctor.facts.toolkit import Toolkits
from gpudoctor.facts.windows import Windows
from gpudoctor.facts.wsl import Wsl
from gpudoctor.maybe import Maybe, Unknown

SCHEMA = "gpudoctor.facts/1"


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was found out about one machine."""

    schema: str = SCHEMA
    version: str = ""  # of gpudoctor
    created: Moment = ""  # ISO 8601, UTC
    seconds: Duration = 0.0  # that gathering took
    quick: bool = False  # frameworks were not imported
    failed: tuple[tuple[str, str], ...] = ()  # parts whose probe failed or did not end, and why: a fault of ours
    host: Host = Host()
    pci: Maybe[tuple[PciDevice, ...]] = Unknown()
    nvidia: Nvidia = Nvidia()
    amd: Amd = Amd()
    intel: IntelFacts = IntelFacts()
    apple: AppleFacts = AppleFacts()
    windows: Windows = Windows()
    gpus: Maybe[tuple[Gpu, ...]] = Unknown()  # NVML's and KFD's
    log: KernelLog = KernelLog()
    services: ServiceLog = ServiceLog()
    containers: ContainerHost = ContainerHost()
    cluster: Cluster = Cluster()
    cloud: Cloud = Cloud()
    wsl: Wsl = Wsl()
    ollama: Ollama = Ollama()
    llama_cpp: LlamaCpp = LlamaCpp()
    toolkits: Toolkits = Toolkits()
    pythons: tuple[Python, ...] = ()
    smoke: Smoke = Smoke()
    history: ChangeHistory = ChangeHistory()

    def __post_init__(self) -> None:
        """Hold that the moment is one: the 30th of February has its form, too."""
        if self.created and not is_moment(self.created):
            moment(self.created)
