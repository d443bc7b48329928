"""The single file of a release: built by pex, it runs on a node without a network and without anything installed."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.build_release import ROOT, single_file

pytestmark = pytest.mark.realenv
UV = Path(sys.executable).with_name("uv")
OWN = f"{sys.version_info[0]}{sys.version_info[1]}"
OFFLINE = ["unshare", "--net", "--map-root-user"]


def test_one_file_runs_without_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("unshare") is None:
        pytest.skip("no unshare to take the network away")
    builder = tmp_path / "builder"
    subprocess.run([UV, "venv", "-q", "--python", sys.executable, builder], check=True)
    python = builder / "bin" / "python"
    subprocess.run([UV, "pip", "install", "-q", "--python", python, "build", "pex"], check=True)
    subprocess.run([python, "-m", "build", "-q", "--wheel", "-o", tmp_path, ROOT], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    monkeypatch.setattr(sys, "executable", str(python))
    single_file(wheel, "x86_64", tmp_path / "gpudoctor.pyz", (OWN,))
    monkeypatch.undo()
    bare = tmp_path / "bare"
    subprocess.run([UV, "venv", "-q", "--python", sys.executable, bare], check=True)
    command = [*OFFLINE, str(bare / "bin" / "python"), str(tmp_path / "gpudoctor.pyz"), "check", "--quick", "--json"]
    ran = subprocess.run(
        command, env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, timeout=120
    )
    assert ran.stderr == ""
    assert '"schema":"gpudoctor.report/1"' in ran.stdout.replace(" ", "")
