"""The user's name as programs find it, and directories from which no code is loaded."""

from typing import Any

import pytest

from gpudoctor.child import ChildResult
from gpudoctor.machine import Space
from gpudoctor.maybe import Unknown
from gpudoctor.probes.host.directories import folders
from gpudoctor.probes.host.user import user
from gpudoctor.recorded_machine import RecordedMachine

PASSWD = {"/etc/passwd": "root:x:0:0:root:/root:/bin/bash\nada:x:1000:1000::/home/ada:/bin/bash\n"}
ASKED = "getent passwd 1042"


def answer(**changes: Any) -> dict[str, ChildResult]:
    return {ASKED: ChildResult(argv=tuple(ASKED.split()), **changes)}


@pytest.mark.parametrize(
    ("uid", "env", "commands", "login"),
    [
        (1000, {}, {}, True),
        (1042, {"USER": "gpu"}, {}, True),
        (1042, {"LOGNAME": ""}, answer(code=2), False),
        (1042, {}, answer(code=0, out="ada:x:1042:1042::/home/ada:/bin/sh"), True),  # of a directory service
        (1042, {}, answer(code=1, err="getent: Unknown database"), Unknown(f"{ASKED}: getent: Unknown database")),
        (1042, {}, answer(missing="No such file or directory"), Unknown(f"{ASKED}: No such file or directory")),
    ],
)
def test_a_user_has_a_name(uid: int, env: dict[str, str], commands: dict[str, ChildResult], login: object) -> None:
    machine = RecordedMachine(PASSWD, commands=commands, ids=(uid, 0, (0,)), env=env)
    assert user(machine).login == login
    assert machine.ran == ([] if (login is True and uid == 1000) or env.get("USER") else [ASKED])


def test_a_directory_that_is_mounted_noexec() -> None:
    spaces = {"/tmp": Space(9, 9, noexec=True), "/": Space(9, 9)}
    machine = RecordedMachine({}, folders=("/tmp",), spaces=spaces, env={"TORCHINDUCTOR_CACHE_DIR": "/data/inductor"})
    there = {directory.purpose: directory.executable for directory in folders(machine, "/home/ada")}
    assert (there["temporary files"], there["torch.compile"], there["Triton"]) == (False, True, True)
    assert {directory.executable for directory in folders(machine, None) if directory.path[0] == "~"} == {
        Unknown("HOME is not set, and /etc/passwd names no home for this user")
    }
