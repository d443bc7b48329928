"""`docker info` is read in its old and its new layout, and without a daemon."""

import pytest

from gpudoctor.parsers.docker_info import docker_info

NEW = """Client: Docker Engine - Community
 Version:    26.1.4
 Context:    rootless
 Debug Mode: false
 Plugins:
  buildx: Docker Buildx (Docker Inc.)
    Version:  v0.14.1

Server:
 Containers: 3
  Running: 1
 Server Version: 26.1.4
 Storage Driver: overlay2
  Backing Filesystem: extfs
 Cgroup Driver: systemd
 Cgroup Version: 2
 Plugins:
  Volume: local
 CDI spec directories:
  /etc/cdi
  /var/run/cdi
 Runtimes: io.containerd.runc.v2 nvidia runc
 Default Runtime: runc
 containerd version: d2d58213f83a351ca8f528a95fbd145f5654e957
 runc version: v1.1.12-0-g51d5e94
 init version: de40ad0
 Security Options:
  apparmor
  seccomp
   Profile: builtin
  rootless
  cgroupns
 Operating System: Ubuntu 22.04.2 LTS
 Docker Root Dir: /var/lib/docker
 Insecure Registries:
  127.0.0.0/8

WARNING: No swap limit support
"""
OLD = """Containers: 0
 Running: 0
Server Version: 18.06.1-ce
Cgroup Driver: cgroupfs
Runtimes: nvidia runc
Default Runtime: nvidia
Security Options:
 seccomp
  Profile: default
Operating System: Boot2Docker 18.06.1-ce
Docker Root Dir: /mnt/sda1/var/lib/docker
"""


def test_new_layout() -> None:
    info = docker_info(NEW)
    assert info.server_version == "26.1.4"
    assert info.runtimes == ("io.containerd.runc.v2", "nvidia", "runc")
    assert (info.default_runtime, info.cgroup_driver, info.cgroup_version) == ("runc", "systemd", "2")
    assert (info.root_dir, info.operating_system) == ("/var/lib/docker", "Ubuntu 22.04.2 LTS")
    assert info.security_options == ("apparmor", "seccomp", "rootless", "cgroupns")
    assert info.cdi_spec_dirs == ("/etc/cdi", "/var/run/cdi")
    assert info.runc_version == "v1.1.12-0-g51d5e94"
    assert info.is_rootless
    assert info.error is None


def test_old_layout() -> None:
    info = docker_info(OLD)
    assert (info.server_version, info.default_runtime) == ("18.06.1-ce", "nvidia")
    assert info.cgroup_version is info.runc_version is None
    assert info.security_options == ("seccomp",)
    assert not info.is_rootless


@pytest.mark.parametrize(
    ("server", "error"),
    [
        (
            "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
            "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
        ),
        (
            "ERROR: permission denied while trying to connect to the Docker daemon socket at unix:///run/docker.sock\n"
            "errors pretty printing info",
            "permission denied while trying to connect to the Docker daemon socket at unix:///run/docker.sock",
        ),
    ],
)
def test_no_daemon(server: str, error: str) -> None:
    info = docker_info(f"Client:\n Version:    28.2.2\n Context:    default\n\nServer:\n{server}\n")
    assert info.server_version is None
    assert info.error == error


def test_nothing() -> None:
    info = docker_info("")
    assert (info.server_version, info.error, info.runtimes) == (None, None, ())
