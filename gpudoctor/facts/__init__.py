"""The typed tree of facts: everything a check may judge, and nothing else."""

from gpudoctor.facts.amd import Amd, AmdRepository, Board, Rocminfo, RocrAgent
from gpudoctor.facts.apple import AppleFacts
from gpudoctor.facts.cloud import Cloud
from gpudoctor.facts.cluster import Cluster
from gpudoctor.facts.container_host import ContainerHost
from gpudoctor.facts.device_node import DeviceNode
from gpudoctor.facts.framework import Framework, FrameworkDevice, LiveFramework, Need
from gpudoctor.facts.gpu import Gpu, GpuProcess
from gpudoctor.facts.host import (
    ConfigLine,
    Distribution,
    Host,
    IgnoredPreload,
    Kernel,
    NcclSetting,
    NegativePin,
    PackageSource,
    Shm,
    Thunderbolt,
    User,
    UserGroup,
    WritableDirectory,
)
from gpudoctor.facts.intel import IntelFacts
from gpudoctor.facts.kernel_log import KernelLog, LogEvent
from gpudoctor.facts.llama_cpp import LlamaCpp
from gpudoctor.facts.nvidia import Cuda, CudaDevice, DiskModule, Dkms, DriverLibrary, Nvidia, NvidiaKernel, Nvml
from gpudoctor.facts.ollama import Ollama
from gpudoctor.facts.pci import PciDevice
from gpudoctor.facts.python import (
    CondaPackage,
    Extension,
    FileMix,
    FileOverlap,
    JitKernel,
    LostCheckout,
    MissingLibrary,
    MissingVersion,
    NotebookKernel,
    NotRun,
    Overwritten,
    Package,
    PackageImport,
    Python,
    Remnant,
    Shadow,
    UnmetRequirement,
)
from gpudoctor.facts.service_log import ServiceLine, ServiceLog
from gpudoctor.facts.smoke import During, Figure, Smoke, SmokeRun, SmokeTest
from gpudoctor.facts.toolkit import CudaHome, LibraryHeader, NamedPath, Nvcc, Toolkits
from gpudoctor.facts.tree import SCHEMA, Facts
from gpudoctor.facts.windows import Adapter, Windows
from gpudoctor.facts.wsl import Wsl

__all__ = [
    "SCHEMA",
    "Adapter",
    "Amd",
    "AmdRepository",
    "AppleFacts",
    "Board",
    "Cloud",
    "Cluster",
    "CondaPackage",
    "ConfigLine",
    "ContainerHost",
    "Cuda",
    "CudaDevice",
    "CudaHome",
    "DeviceNode",
    "DiskModule",
    "Distribution",
    "Dkms",
    "DriverLibrary",
    "During",
    "Extension",
    "Facts",
    "Figure",
    "FileMix",
    "FileOverlap",
    "Framework",
    "FrameworkDevice",
    "Gpu",
    "GpuProcess",
    "Host",
    "IgnoredPreload",
    "IntelFacts",
    "JitKernel",
    "Kernel",
    "KernelLog",
    "LibraryHeader",
    "LiveFramework",
    "LlamaCpp",
    "LogEvent",
    "LostCheckout",
    "MissingLibrary",
    "MissingVersion",
    "NamedPath",
    "NcclSetting",
    "Need",
    "NegativePin",
    "NotRun",
    "NotebookKernel",
    "Nvcc",
    "Nvidia",
    "NvidiaKernel",
    "Nvml",
    "Ollama",
    "Overwritten",
    "Package",
    "PackageImport",
    "PackageSource",
    "PciDevice",
    "Python",
    "Remnant",
    "Rocminfo",
    "RocrAgent",
    "ServiceLine",
    "ServiceLog",
    "Shadow",
    "Shm",
    "Smoke",
    "SmokeRun",
    "SmokeTest",
    "Thunderbolt",
    "Toolkits",
    "UnmetRequirement",
    "User",
    "UserGroup",
    "Windows",
    "WritableDirectory",
    "Wsl",
]
