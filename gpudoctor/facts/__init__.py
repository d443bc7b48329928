"""The typed tree of facts: everything a check may judge, and nothing else."""

from gpudoctor.facts.amd import Amd, Board, Repository
from gpudoctor.facts.apple import Apple
from gpudoctor.facts.cloud import Cloud
from gpudoctor.facts.cluster import Cluster
from gpudoctor.facts.docker import ContainerHost
from gpudoctor.facts.framework import Device, Framework, Live, Need
from gpudoctor.facts.gpu import Gpu, Process
from gpudoctor.facts.host import Distribution, Folder, Group, Host, Kernel, Shm, Thunderbolt, User
from gpudoctor.facts.intel import Intel
from gpudoctor.facts.log import Event, KernelLog
from gpudoctor.facts.node import Node
from gpudoctor.facts.nt import Adapter, Nt
from gpudoctor.facts.nvidia import Cuda, CudaDevice, DiskModule, Dkms, Library, Nvidia, NvidiaKernel, Nvml
from gpudoctor.facts.pci import PciDevice
from gpudoctor.facts.python import (
    CondaPackage,
    Extension,
    NotRun,
    Overlap,
    Package,
    Python,
    Remnant,
    Shadow,
    Unmet,
)
from gpudoctor.facts.smoke import During, Figure, Smoke, SmokeRun, SmokeTest
from gpudoctor.facts.toolkit import CudaHome, Nvcc, Toolkits
from gpudoctor.facts.tree import SCHEMA, Facts
from gpudoctor.facts.windows import Windows

__all__ = [
    "SCHEMA",
    "Adapter",
    "Amd",
    "Apple",
    "Board",
    "Cloud",
    "Cluster",
    "CondaPackage",
    "ContainerHost",
    "Cuda",
    "CudaDevice",
    "CudaHome",
    "Device",
    "DiskModule",
    "Distribution",
    "Dkms",
    "During",
    "Event",
    "Extension",
    "Facts",
    "Figure",
    "Folder",
    "Framework",
    "Gpu",
    "Group",
    "Host",
    "Intel",
    "Kernel",
    "KernelLog",
    "Library",
    "Live",
    "Need",
    "Node",
    "NotRun",
    "Nt",
    "Nvcc",
    "Nvidia",
    "NvidiaKernel",
    "Nvml",
    "Overlap",
    "Package",
    "PciDevice",
    "Process",
    "Python",
    "Remnant",
    "Repository",
    "Shadow",
    "Shm",
    "Smoke",
    "SmokeRun",
    "SmokeTest",
    "Thunderbolt",
    "Toolkits",
    "Unmet",
    "User",
    "Windows",
]
