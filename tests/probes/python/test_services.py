"""Units of systemd that start programs of an environment."""

import pytest

from gpudoctor.probes.python import services
from gpudoctor.recorded_machine import RecordedMachine

START = "ExecStart=/opt/env/bin/vllm serve model\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"[Service]\n{START}", True),  # systemd's own PATH
        (f"[Service]\nEnvironment=PATH=/usr/local/cuda/bin:/usr/bin\n{START}", True),
        (f'[Service]\nEnvironment="A=b" "PATH=/opt/env/bin:/usr/bin"\n{START}', False),
        (f"[Service]\nEnvironmentFile=/etc/default/vllm\n{START}", False),
        ("[Service]\nExecStart=/usr/bin/other\n", False),
    ],
)
def test_units(text: str, found: bool) -> None:
    files = {"/etc/systemd/system/vllm.service": text, "/opt/env/bin/ninja": "", "/etc/systemd/system/x.timer": START}
    assert services.without(RecordedMachine(files=files), "/opt/env", "ninja") == (("vllm.service",) if found else ())
