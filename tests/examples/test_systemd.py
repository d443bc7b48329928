"""The timer and its service, held by systemd's own verifier, and the line of the service run."""

import shlex
import shutil
import subprocess
from configparser import RawConfigParser
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.examples import BIN, EXAMPLES, ILL, stand_in

FOLDER = EXAMPLES / "systemd"
TEXTFILES = "/var/lib/prometheus/node-exporter"


def unit(suffix: str) -> RawConfigParser:
    read = RawConfigParser()
    read.optionxform = str  # type: ignore[assignment,method-assign]
    read.read_string((FOLDER / f"gpudoctor-textfile.{suffix}").read_text())
    return read


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
def test_systemd_takes_them(tmp_path: Path) -> None:
    for path in FOLDER.iterdir():
        (tmp_path / path.name).write_text(path.read_text().replace(BIN, "/bin/true"))
    argv = ["systemd-analyze", "verify", "--man=no", *map(str, sorted(tmp_path.iterdir()))]
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    said = [line for line in ended.stderr.splitlines() if "gpudoctor-textfile" in line or str(tmp_path) in line]
    assert (ended.returncode, said) == (0, [])
    service = tmp_path / "gpudoctor-textfile.service"
    service.write_text(service.read_text().replace("NoNewPrivileges", "NoPrivileges"))
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert "NoPrivileges" in ended.stderr


def test_the_service_writes_what_prometheus_reads(tmp_path: Path) -> None:
    service = unit("service")["Service"]
    line = service["ExecStart"]
    assert TEXTFILES in line
    assert service["ReadWritePaths"] == TEXTFILES
    words = shlex.split(line.replace(BIN, str(stand_in(tmp_path, ILL))).replace(TEXTFILES, str(tmp_path)))
    subprocess.run(words, check=True, timeout=60)  # a finding is no failure of the service
    families = {one.name for one in text_string_to_metric_families((tmp_path / "gpudoctor.prom").read_text())}
    assert {"gpudoctor_finding", "gpudoctor_checks"} <= families
    assert int(service["TimeoutStartSec"]) > int(words[words.index("--timeout") + 1])


def test_the_timer_starts_again_and_again() -> None:
    assert {"OnBootSec", "OnUnitActiveSec"} <= set(unit("timer")["Timer"])
    assert unit("timer")["Install"]["WantedBy"] == "timers.target"
