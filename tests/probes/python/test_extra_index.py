"""What makes pip or uv ask further package indexes."""

import pytest

from gpudoctor.maybe import Unknown
from gpudoctor.probes.python.extra_index import extra_index
from gpudoctor.recorded_machine import RecordedMachine

HOME = {"HOME": "/home/me"}
SET = "[global]\nextra-index-url = https://a/simple\n"
LIST = "[install]\nextra-index-url =\n    https://a/simple\n    https://b/simple\n"
OTHER = "[global]\nindex-url = https://a/simple\n# extra-index-url = https://b/simple\n"
UV = "/home/me/.config/uv/uv.toml"


@pytest.mark.parametrize(
    ("files", "env", "installer", "found"),
    [
        ({}, {}, "pip", None),
        ({"/etc/pip.conf": SET}, {}, "pip", "/etc/pip.conf"),
        ({"/etc/pip.conf": SET}, {"PIP_CONFIG_FILE": "/dev/null"}, "pip", None),
        ({"/etc/pip.conf": SET}, {}, "uv", None),
        ({"/home/me/.config/pip/pip.conf": LIST}, {}, "pip", "/home/me/.config/pip/pip.conf"),
        ({"/opt/env/pip.conf": SET}, {}, "poetry", "/opt/env/pip.conf"),
        ({"/etc/pip.conf": OTHER}, {}, "pip", None),
        ({}, {"PIP_EXTRA_INDEX_URL": "https://a/simple"}, "pip", "PIP_EXTRA_INDEX_URL"),
        ({}, {"PIP_EXTRA_INDEX_URL": ""}, "pip", None),
        ({}, {"PIP_EXTRA_INDEX_URL": "https://a/simple"}, "uv", None),
        ({}, {"UV_INDEX": "https://a/simple"}, "uv", "UV_INDEX"),
        ({UV: '[[index]]\nurl = "https://a/simple"\n'}, {}, "uv", UV),
        ({UV: 'extra-index-url = ["https://a/simple"]\n'}, {}, "uv", UV),
        ({UV: "extra-index-url = []\n"}, {}, "uv", None),
        ({UV: SET}, {"UV_CONFIG_FILE": "/srv/uv.toml"}, "uv", None),
    ],
)
def test_extra_index(files: dict[str, str], env: dict[str, str], installer: str, found: str | None) -> None:
    assert extra_index(RecordedMachine(files, env=HOME | env), "/opt/env", installer) == found


def test_a_file_that_cannot_be_read() -> None:
    machine = RecordedMachine({"/etc/pip.conf/closed": ""}, env=HOME)  # a directory cannot be read, either
    assert extra_index(machine, "/opt/env", "pip") == Unknown("/etc/pip.conf cannot be read")
