"""gVisor: the driver versions that its runsc can pass on to sandboxes (nvproxy), where it is set up to do so.

runsc takes a driver only where it knows that very version: https://gvisor.dev/docs/user_guide/gpu/.
"""

import re
from collections.abc import Iterator

from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown

# The shim's options, by the name that gVisor's guide for containerd gives them, and where GKE has them.
_CONFIGS = ("/etc/containerd/runsc.toml", "/run/containerd/runsc/config.toml")
_CONTAINERD = "/etc/containerd/config.toml"
_DOCKER = "/etc/docker/daemon.json"
_CONFIG_PATH = pattern(r"""^\s*ConfigPath\s*=\s*["']([^"']+)["']""", re.MULTILINE)
_ON = pattern(r"""^\s*nvproxy\s*=\s*["']?true\b|--nvproxy(?:=true)?["'\s,]""", re.MULTILINE)
# The user chose another version, or any.
_CHOSEN = pattern(r"nvproxy-(?:driver-version|allow-unsupported-driver)")
_VERSION = pattern(r"^[0-9]+(?:\.[0-9]+){1,2}$", re.MULTILINE)
_SECONDS = 5.0


def probe(machine: Machine) -> tuple[Maybe[tuple[str, ...] | None], str | None]:
    """Ask the runsc of this host.

    Return the versions, and the file that turns nvproxy on; None: it is off, or leaves no version out.
    """
    texts = [(path, text) for path in _files(machine) if (text := machine.line(path))]
    on = next((path for path, text in texts if _ON.search(text)), None)
    if on is None or any(_CHOSEN.search(text) for _, text in texts):
        return None, None
    ended = machine.run(["runsc", "nvproxy", "list-supported-drivers"], _SECONDS)
    found = tuple(_VERSION.findall(ended.out))
    return found or Unknown("runsc nvproxy list-supported-drivers lists none"), on


def _files(machine: Machine) -> Iterator[str]:
    yield from _CONFIGS
    yield from _CONFIG_PATH.findall(machine.line(_CONTAINERD) or "")
    yield _DOCKER
