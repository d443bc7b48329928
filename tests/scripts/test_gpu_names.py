"""The rows of the table of names, from lists in the shape of the public ones."""

from pathlib import Path

import pytest

from gpudoctor.toml import tomllib
from scripts import gpu_names

PCI_IDS = """\
# comment
1002  Advanced Micro Devices, Inc. [AMD/ATI]
\t73bf  Navi 21 [Radeon RX 6800/6800 XT / 6900 XT]
\t74a1  Aqua Vanjaram [Instinct MI300X]
\t\t1002 74a1  a subsystem
\tab28  Navi 21/23 HDMI/DP Audio Controller [x]
10de  NVIDIA Corporation
\t1b06  GP102 [GeForce GTX 1080 Ti]
\t20b2  GA100 [A100 SXM4 80GB]
\t20b7  GA100GL [A30 PCIe]
\t228e  GA106 High Definition Audio Controller [x]
8086  Intel Corporation
\t56a0  DG2 [Arc A770]
\t1572  Ethernet Controller X710 [for 10GbE]
8087  another
"""
AMDGPU_IDS = (
    "# List\n1.0.0\n73BF,\tC0,\tAMD Radeon RX 6900 XT\n73BF,\tC1,\tAMD Radeon RX 6800 XT\n164E,\tD8,\tAMD Radeon 610M\n"
)
README = """\
| Product Name | PCI ID |
| NVIDIA A100-SXM4-80GB | 20B2 10DE 1463 |
| NVIDIA A100-SXM4-80GB | 20B2 10DE 147F |
| NVIDIA PG509-210 | 20B2 10DE 1625 |
| NVIDIA A30 | 20B7 10DE 1532 |
| NVIDIA A30 | 20B7 10DE 1804 |
| Quadro RTX 6000 | 1E30 |
"""


def test_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "gpu_names.toml"
    table.write_text(gpu_names.TABLE.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(gpu_names, "TABLE", table)
    paths = [tmp_path / name for name in ("pci.ids", "amdgpu.ids", "README.md")]
    for path, text in zip(paths, (PCI_IDS, AMDGPU_IDS, README), strict=True):
        path.write_text(text, encoding="utf-8")
    gpu_names.main([str(path) for path in paths])
    written = tomllib.loads(table.read_text(encoding="utf-8"))
    assert {*written} == {"meta", "source", "names"}
    assert written["names"]["nvidia"].splitlines() == [
        "1b06 NVIDIA GeForce GTX 1080 Ti",
        "1e30 NVIDIA Quadro RTX 6000",
        "20b2 NVIDIA A100 SXM4 80GB",
        "20b2 10de:1463,10de:147f NVIDIA A100-SXM4-80GB",
        "20b2 10de:1625 NVIDIA PG509-210",
        "20b7 NVIDIA A30",
    ]
    assert written["names"]["amd"].splitlines() == [
        "164e AMD Radeon 610M",
        "73bf c0 AMD Radeon RX 6900 XT",
        "73bf c1 AMD Radeon RX 6800 XT",
        "74a1 AMD Instinct MI300X",
    ]
    assert written["names"]["intel"].splitlines() == ["56a0 Intel Arc A770"]
