"""What makes pip or uv ask further package indexes."""

import pytest

from gpudoctor.maybe import Unknown
from gpudoctor.probes.python.extra_index import extra_index
from gpudoctor.recorded_machine import RecordedMachine

HOME = {"HOME": "/home/me"}
SET = "[global]\nextra-index-url = https://a/simple\n"
LIST = "[install]\nextra-index-url =\n    https://a/simple\n    https://b/simple\n"
OTHER = "[global]\nindex-url = https://a/simple\n# extra-index-url = https://b/simple\n"
INDEX = '[[index]]\nurl = "https://a/simple"\n'
TOOL = INDEX.replace("index", "tool.uv.index")
APP = {"PWD": "/srv/app"}
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
        ({UV: INDEX}, {"UV_CONFIG_FILE": "/srv/uv.toml"}, "uv", None),
        ({UV: INDEX}, {"UV_NO_CONFIG": "1"}, "uv", None),
        # as configparser reads them, and only for what installs
        ({"/etc/pip.conf": "[global]\nExtra-Index-Url: https://a/simple\n"}, {}, "pip", "/etc/pip.conf"),
        ({"/etc/pip.conf": "[global]\nextra_index_url = https://a/simple\n"}, {}, "pip", "/etc/pip.conf"),
        ({"/etc/pip.conf": "[global]\nextra-index-url =\ntimeout = 60\n"}, {}, "pip", None),
        ({"/etc/pip.conf": "[global]\nextra-index-url =\n[install]\n"}, {}, "pip", None),
        ({"/etc/pip.conf": "[download]\nextra-index-url = https://a/simple\n"}, {}, "pip", None),
        ({UV: '[[ index ]]\nurl = "https://a/simple"\n'}, {}, "uv", UV),
        ({UV: 'index = [{ url = "https://a/simple" }]\n'}, {}, "uv", UV),
        ({UV: '"extra-index-url" = ["https://a/simple"]\n'}, {}, "uv", UV),
        ({UV: '[pip]\nextra-index-url = ["https://a/simple"]\n'}, {}, "uv", UV),
        ({UV: INDEX + "default = true\n"}, {}, "uv", None),
        ({UV: INDEX + 'name = "a"\nexplicit = true\n'}, {}, "uv", None),
        # of the project
        ({"/srv/app/uv.toml": INDEX}, APP, "uv", "/srv/app/uv.toml"),
        ({"/srv/app/pyproject.toml": TOOL}, APP, "uv", "/srv/app/pyproject.toml"),
        ({"/srv/pyproject.toml": TOOL, "/srv/app/pyproject.toml": "[project]\n"}, APP, "uv", "/srv/pyproject.toml"),
        ({"/srv/app/pyproject.toml": TOOL, "/srv/app/uv.toml": ""}, APP, "uv", None),  # which goes before it
        ({"/srv/app/pyproject.toml": INDEX + "[tool]\nuv = 1\n"}, APP, "uv", None),
        ({"/srv/app/pyproject.toml": TOOL}, APP, "pip", None),
        ({"/srv/app/pyproject.toml": TOOL}, {}, "uv", None),
    ],
)
def test_extra_index(files: dict[str, str], env: dict[str, str], installer: str, found: str | None) -> None:
    assert extra_index(RecordedMachine(files, env=HOME | env), "/opt/env", installer) == found


@pytest.mark.parametrize(
    ("path", "text", "installer"),
    [("/etc/pip.conf", "extra-index-url = https://a/simple\n", "pip"), (UV, "[[index]\n", "uv")],
)
def test_a_file_that_cannot_be_parsed(path: str, text: str, installer: str) -> None:
    machine = RecordedMachine({path: text}, env=HOME)
    assert extra_index(machine, "/opt/env", installer) == Unknown(f"{path} cannot be parsed")


def test_a_file_that_cannot_be_read() -> None:
    machine = RecordedMachine({"/etc/pip.conf/closed": ""}, env=HOME)  # a directory cannot be read, either
    assert extra_index(machine, "/opt/env", "pip") == Unknown("/etc/pip.conf cannot be read")
