"""Nodes for tests of ssh: each a network namespace of this machine with an sshd and host keys of its own."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

PROGRAMS = ("ip", "ssh", "ssh-keygen")
SSHD = "/usr/sbin/sshd"  # which wants to be started by its whole path
SECONDS = 30  # for what starts by itself
# RFC 2544 keeps 198.18.0.0/15 for trials like this one: no machine that somebody wants to reach is there.
NET = "198.18"
SSHD_CONFIG = """\
ListenAddress {address}:22
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
SetEnv PATH={folder}/bin:/usr/bin:/bin HOME={folder}
"""
SSH_CONFIG = """\
Host *
    User root
    IdentityFile {folder}/key
    IdentitiesOnly yes
    IdentityAgent none
    UserKnownHostsFile {folder}/known_hosts
    GlobalKnownHostsFile /dev/null
    StrictHostKeyChecking yes
"""


def why_not() -> str:
    """Why no such nodes can be made here; empty: they can."""
    if os.geteuid() != 0:
        return "network namespaces are made by root"
    if missing := [name for name in PROGRAMS if not shutil.which(name)] + [SSHD] * (not os.path.exists(SSHD)):
        return f"needs {', '.join(missing)}: apt-get install openssh-server openssh-client iproute2"
    trial = f"gd{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", trial], capture_output=True, text=True)
    if made.returncode == 0:
        pair = ("a" + trial, "type", "veth", "peer", "name", "b" + trial)
        made = subprocess.run(["ip", "link", "add", *pair], capture_output=True, text=True)
        subprocess.run(["ip", "link", "del", pair[0]], capture_output=True)
        subprocess.run(["ip", "netns", "del", trial], capture_output=True)
    return f"network namespaces cannot be made here: {made.stderr.strip()}" if made.returncode else ""


def ip(*words: str) -> None:
    """Configure the network.

    Raises:
        CalledProcessError: it refused.
    """
    subprocess.run(["ip", *words], check=True, capture_output=True)


class Nodes:
    """Several nodes on one bridge, and the files with which ssh reaches them.

    Args:
        folder: for keys and configuration; each node has a folder of its own in it.
        names: of the nodes; an ssh configuration (`config`) gives each its address.
    """

    def __init__(self, folder: Path, names: tuple[str, ...]) -> None:
        self.folder, self.names = folder, names
        self.mark = f"gd{os.getpid() % 100000}"
        self.config = folder / "ssh_config"
        self.known = folder / "known_hosts"
        self._net = f"{NET}.{os.getpid() % 250}"
        self._servers: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, known: bool = False) -> None:
        """Make the network, the keys and the nodes, and wait for every sshd.

        Args:
            known: whether the nodes know each other's names.
        """
        if known:
            self._introduce()
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd gives its rights up there
        self._key(self.folder / "key")
        self._key(self.folder / "other_key")
        ip("link", "add", self.mark, "type", "bridge")
        ip("address", "add", f"{self._net}.254/24", "dev", self.mark)
        ip("link", "set", self.mark, "up")
        for name in self.names:
            self._wire(name)
            self._serve(name)
        for name in self.names:
            self._await(name)
        hosts = [f"Host {name}\n    HostName {self.address(name)}\n" for name in self.names]
        self.config.write_text("".join(hosts) + SSH_CONFIG.format(folder=self.folder))
        self.known.write_text("".join(self.host_key(name, name) for name in self.names))

    def address(self, name: str) -> str:
        """The address of a node."""
        return f"{self._net}.{self.names.index(name) + 1}"

    def home(self, name: str) -> Path:
        """The folder of a node; what lies in its bin/ are the node's programs."""
        return self.folder / name

    def host_key(self, name: str, whose: str) -> str:
        """A line of known_hosts: `name` is known by the key of `whose`."""
        return f"{self.address(name)} {(self.home(whose) / 'host_key.pub').read_text()}"

    def program(self, name: str, program: str, text: str) -> None:
        """Give a node a program: a script with its first line."""
        file = self.home(name) / "bin" / program
        file.write_text(text)
        file.chmod(0o755)

    def lock(self, name: str) -> None:
        """From now on the node lets in another key than ours."""
        shutil.copy(self.folder / "other_key.pub", self.home(name) / "authorized_keys")

    def silence(self, name: str) -> None:
        """End the node's sshd: nobody listens there any more, and sessions live on."""
        self._servers[name].kill()
        self._servers[name].wait()

    def cut(self, name: str) -> None:
        """Pull the cable: what is sent to the node from now on is lost, and nobody says so."""
        ip("link", "set", self._cable(name), "down")

    def plug(self, name: str) -> None:
        """Put the cable back."""
        ip("link", "set", self._cable(name), "up")

    def slow(self, name: str, rate: str) -> None:
        """Let the node's cable carry less in both directions: "20mbit"."""
        limit = ("root", "tbf", "rate", rate, "burst", "64kb", "latency", "50ms")
        for where in (("dev", self._cable(name)), ("-n", self._space(name), "dev", "eth0")):
            netns, device = where[:-2], where[-2:]
            subprocess.run(["tc", *netns, "qdisc", "replace", *device, *limit], check=True, capture_output=True)

    def part(self, one: str, other: str) -> None:
        """Let two nodes find no way to each other."""
        for here, there in ((one, other), (other, one)):
            ip("-n", self._space(here), "route", "add", "unreachable", f"{self.address(there)}/32")

    def hang_up(self, name: str) -> None:
        """End the node's side of every session, but not its sshd."""
        for process in self.processes(name):
            with contextlib.suppress(OSError):  # it may end with another one
                if Path(f"/proc/{process}/cmdline").read_bytes().startswith(b"sshd: root@"):
                    os.kill(process, signal.SIGKILL)

    def processes(self, name: str) -> list[int]:
        """The processes that run on a node."""
        said = subprocess.run(["ip", "netns", "pids", self._space(name)], capture_output=True, text=True)
        return [int(one) for one in said.stdout.split()]

    def stop(self) -> None:
        """End every process of every node, and take the network away."""
        for name in self.names:
            for process in self.processes(name):
                subprocess.run(["kill", "-9", str(process)], capture_output=True)
        for server in self._servers.values():
            server.wait()
        for name in self.names:
            subprocess.run(["ip", "netns", "del", self._space(name)], capture_output=True)
            shutil.rmtree(Path("/etc/netns") / self._space(name), ignore_errors=True)
            subprocess.run(["ip", "link", "del", self._cable(name)], capture_output=True)
        subprocess.run(["ip", "link", "del", self.mark], capture_output=True)

    def _introduce(self) -> None:
        """Write the files that `ip netns exec` puts in the place of /etc/hosts."""
        lines = ["127.0.0.1 localhost", *(f"{self.address(name)} {name}" for name in self.names)]
        for name in self.names:
            place = Path("/etc/netns") / self._space(name)
            place.mkdir(parents=True)
            (place / "hosts").write_text("\n".join(lines) + "\n")

    def _space(self, name: str) -> str:
        return f"{self.mark}{name}"

    def _cable(self, name: str) -> str:
        return f"{self.mark}v{self.names.index(name)}"

    def _key(self, path: Path) -> None:
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", path.name, "-f", str(path)]
        subprocess.run(command, check=True, capture_output=True)

    def _wire(self, name: str) -> None:
        ip("netns", "add", self._space(name))
        ip("link", "add", self._cable(name), "type", "veth", "peer", "name", "eth0", "netns", self._space(name))
        ip("link", "set", self._cable(name), "master", self.mark, "up")
        ip("-n", self._space(name), "address", "add", f"{self.address(name)}/24", "dev", "eth0")
        ip("-n", self._space(name), "link", "set", "eth0", "up")
        ip("-n", self._space(name), "link", "set", "lo", "up")

    def _serve(self, name: str) -> None:
        home = self.home(name)
        (home / "bin").mkdir(parents=True)
        self._key(home / "host_key")
        shutil.copy(self.folder / "key.pub", home / "authorized_keys")
        (home / "sshd_config").write_text(SSHD_CONFIG.format(address=self.address(name), folder=home))
        command = ["ip", "netns", "exec", self._space(name), SSHD, "-D", "-e", "-f", str(home / "sshd_config")]
        with (home / "sshd.log").open("wb") as log:
            self._servers[name] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def _await(self, name: str) -> None:
        end = time.monotonic() + SECONDS
        while not self._answers(name):
            log = (self.home(name) / "sshd.log").read_text(errors="replace")
            assert time.monotonic() < end, f"{name} does not respond; its sshd says: {log}"
            time.sleep(0.05)

    def _answers(self, name: str) -> bool:
        try:
            with socket.create_connection((self.address(name), 22), 1):
                return True
        except OSError:
            return False
