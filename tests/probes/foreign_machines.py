"""Recorded machines that are no Linux: a Mac, and a PC with Windows."""

import json
import os
from typing import Any

from gpudoctor.child import ChildResult
from gpudoctor.probes.frameworks.live import _SCRIPT, PREFIX
from gpudoctor.recorded_machine import RecordedMachine
from gpudoctor.workers.interpreter import MARK

SYSCTL = (
    "hw.optional.arm64: 1\nmachdep.cpu.brand_string: Apple M2 Pro\nhw.memsize: 34359738368\n"
    "hw.model: MacBookPro18,3\nhw.ncpu: 12\n"
)
INTEL_SYSCTL = (
    "machdep.cpu.brand_string: Intel(R) Core(TM) i7-9750H CPU @ 2.60GHz\nhw.memsize: 17179869184\n"
    "hw.model: MacBookPro16,1\nhw.ncpu: 12\n"
)
VERSION = """<?xml version="1.0"?><plist version="1.0"><dict><key>ProductName</key><string>macOS</string>
<key>ProductVersion</key><string>14.5</string></dict></plist>"""
RTX: dict[str, Any] = {
    "Name": "NVIDIA GeForce RTX 4070",
    "PNPDeviceID": "PCI\\VEN_10DE&DEV_2786&SUBSYS_40FE1458&REV_A1\\4&2283F625&0&0008",
    "DriverVersion": "32.0.15.5222",
    "ConfigManagerErrorCode": 0,
}
UHD: dict[str, Any] = {
    "Name": "Intel(R) UHD Graphics 770",
    "PNPDeviceID": "PCI\\VEN_8086&DEV_4680&SUBSYS_D0001458&REV_0C\\3&11583659&0&10",
    "DriverVersion": "31.0.101.4502",
    "ConfigManagerErrorCode": 0,
}
QUERY = "0, NVIDIA GeForce RTX 4070, GPU-4b2c, 00000000:01:00.0, 12282, 552.22"
SMI = "NVIDIA-SMI 552.22                 Driver Version: 552.22         CUDA Version: 12.4     |\n"


def interpreter(prefix: str, system: str, machine: str, **changes: Any) -> str:
    """What an interpreter answers of itself, with the paths of its own system."""
    slash = "\\" if system == "Windows" else "/"
    site = slash.join((prefix, "Lib", "site-packages") if slash == "\\" else (prefix, "lib/python3.12/site-packages"))
    said = {
        "executable": f"{prefix}{slash}python", "version": "3.12.4", "full_version": "3.12.4",
        "implementation": "cpython", "implementation_version": "3.12.4", "bits": 64, "prefix": prefix,
        "base_prefix": f"{prefix}-base", "sys_path": [site], "user_site": None, "sites": [site], "include": None,
        "purelib": site, "libraries": [None, None], "system": [system, "1", "1", machine], "spent": 0.0,
    }  # fmt: skip
    return f"\n{MARK}{json.dumps(said | changes)}\n"


def torch_files(site: str, version: str, cuda: str | None = None) -> dict[str, str | bytes]:
    """The files of a PyTorch that decide what it is."""
    text = f"__version__ = '{version}'\ncuda: Optional[str] = {cuda!r}\nhip: Optional[str] = None\n"
    return {
        f"{site}/torch/__init__.py": "",
        f"{site}/torch/version.py": text,
        f"{site}/torch-{version}.dist-info/METADATA": f"Name: torch\nVersion: {version}\n",
        f"{site}/torch-{version}.dist-info/INSTALLER": "pip\n",
    }


def reported(**facts: Any) -> str:
    """What the script that imports a framework tells."""
    return PREFIX + json.dumps({"stage": "done", "error": None, "archs": [], "cudnn": None} | facts) + "\n"


def mac(sysctl: str = SYSCTL, arch: str = "arm64", live: str | ChildResult = "", **more: Any) -> RecordedMachine:
    """A Mac with PyTorch 2.9.1 in an environment."""
    prefix = "/Users/kurt/env"
    files = {
        f"{prefix}/bin/python": "",
        f"{prefix}/pyvenv.cfg": "home = /opt/homebrew/bin\n",
        "/System/Library/CoreServices/SystemVersion.plist": VERSION,
        "/usr/sbin/sysctl": "",
        **torch_files(f"{prefix}/lib/python3.12/site-packages", "2.9.1"),
    }
    commands: dict[str, str | ChildResult] = {
        "sysctl": sysctl,
        "python": interpreter(prefix, "Darwin", arch),
        f"python {_SCRIPT} torch": live or reported(available=True, count=1, mps_built=True, devices=[]),
    }
    env = {"VIRTUAL_ENV": prefix, "HOME": "/Users/kurt", "PATH": "/usr/bin:/bin"}
    return RecordedMachine(
        files | more.pop("files", {}), env=env, commands=commands | more.pop("commands", {}), system="Darwin",
        architecture="x86_64" if arch == "x86_64" else "arm64", release="23.5.0", **more,
    )  # fmt: skip


def windows(
    adapters: tuple[dict[str, Any], ...] = (RTX, UHD),
    torch: tuple[str, str | None] = ("2.9.1+cpu", None),
    live: str | ChildResult = "",
    **more: Any,
) -> RecordedMachine:
    """A PC with Windows 11, an RTX 4070 and PyTorch as `pip install torch` brings it."""
    prefix, site = "C:\\Users\\kurt\\env", "/C:/Users/kurt/env/Lib/site-packages"
    files = {
        "/C:/Users/kurt/env/Scripts/python.exe": "",
        "/C:/Users/kurt/env/pyvenv.cfg": "home = C:\\Python312\n",
        **torch_files(site, *torch),
    }
    system = {
        "adapters": list(adapters), "caption": "Microsoft Windows 11 Pro", "memory": "33333333", "long_paths": 0,
        "vc_runtime": "v14.38.33130.00",
    }  # fmt: skip
    commands: dict[str, str | ChildResult] = {
        "powershell.exe": json.dumps(system | more.pop("system_says", {})),
        "python.exe": interpreter(prefix, "Windows", "AMD64"),
        f"python.exe {_SCRIPT} torch": live or reported(available=False, count=0, mps_built=None),
    }
    if RTX in adapters:
        files["/C:/Windows/System32/nvidia-smi.exe"] = ""
        fields = "index,name,uuid,pci.bus_id,memory.total,driver_version"
        commands["nvidia-smi.exe"] = SMI
        commands[f"nvidia-smi.exe --query-gpu={fields},compute_cap --format=csv,noheader,nounits"] = f"{QUERY}, 8.9\n"
        apps = "nvidia-smi.exe --query-compute-apps=gpu_uuid,pid,used_gpu_memory --format=csv,noheader,nounits"
        commands[apps] = f"GPU-4b2c, {os.getpid()}, [N/A]\nGPU-other, 5, 100\n"
        commands[f"nvidia-smi.exe --query-gpu={fields} --format=csv,noheader,nounits"] = f"{QUERY}\n"
    env = {"VIRTUAL_ENV": prefix, "PATH": "C:\\Windows\\System32;C:\\Windows", "USERPROFILE": "C:\\Users\\kurt"}
    return RecordedMachine(
        files | more.pop("files", {}), env=env | more.pop("env", {}), commands=commands | more.pop("commands", {}),
        system="Windows", architecture="AMD64", release="11", **more,
    )  # fmt: skip
