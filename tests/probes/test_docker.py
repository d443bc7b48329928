"""Tests of the probe of container engines."""

import pytest

from gpudoctor.child import ChildResult
from gpudoctor.facts import ContainerHost, Host
from gpudoctor.maybe import Unknown
from gpudoctor.probes import docker
from gpudoctor.recorded_machine import RecordedMachine

BARE = Host(container=None, wsl=None)
CLIENT = "/usr/bin/docker"
ENV = {"PATH": "/usr/bin", "HOME": "/home/u"}
INFO = """Client: Docker Engine - Community
 Version:    27.3.1
 Context:    default

Server:
 Containers: 2
 Server Version: 27.3.1
 Cgroup Driver: systemd
 Cgroup Version: 2
 Runtimes: io.containerd.runc.v2 nvidia runc
 Default Runtime: runc
 Security Options:
  apparmor
{option} cgroupns
 Operating System: {system}
 Docker Root Dir: {root}
"""


def info(option: str = "", system: str = "Ubuntu 24.04 LTS", root: str = "/var/lib/docker") -> str:
    return INFO.format(option=option, system=system, root=root)


def look(machine: RecordedMachine, host: Host = BARE, wanted: bool = True) -> ContainerHost:
    return docker.probe(machine, host, wanted)


def test_a_daemon_that_answers() -> None:
    files = {CLIENT: "", "/etc/docker/daemon.json": '{"runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}}'}
    seen = look(RecordedMachine(files, env=ENV, commands={"docker info": info()}))
    assert (seen.docker, seen.docker_version) == (CLIENT, "27.3.1")
    assert seen.docker_runtimes == ("io.containerd.runc.v2", "nvidia", "runc")
    assert (seen.docker_default_runtime, seen.docker_cgroup_driver) == ("runc", "systemd")
    assert (seen.docker_snap, seen.docker_rootless, seen.docker_desktop) == (False, False, False)
    assert seen.runc_version == Unknown("docker info does not print runc version")
    assert (seen.docker_config_runtimes, seen.docker_config_error) == (("nvidia",), None)


def test_no_docker_is_none_everywhere() -> None:
    seen = look(RecordedMachine())
    assert (seen.docker, seen.docker_version, seen.docker_runtimes, seen.docker_snap) == (None,) * 4
    assert (seen.docker_rootless, seen.podman, seen.toolkit, seen.no_cgroups, seen.cdi_driver) == (None,) * 5
    assert seen.cdi == ()


def test_the_daemon_is_not_asked_without_a_gpu() -> None:
    files = {CLIENT: "", "/usr/bin/nvidia-ctk": ""}
    machine = RecordedMachine(files, env=ENV, commands={"docker info": info()})
    seen = look(machine, wanted=False)
    assert machine.ran == []
    assert isinstance(seen.docker_version, Unknown)
    assert (seen.docker, seen.toolkit) == (CLIENT, "installed")


def test_a_container_does_not_see_its_hosts_engines() -> None:
    seen = look(RecordedMachine({CLIENT: ""}, env=ENV), Host(container="podman"))
    assert seen.docker == seen.toolkit == seen.cdi == Unknown("the host's: not visible from the container")


@pytest.mark.parametrize(
    ("ended", "why"),
    [
        (
            ChildResult(
                argv=(), code=1, err="permission denied while trying to connect to the Docker daemon socket at unix"
            ),
            "docker info: permission denied: the user may not use the Docker daemon (root or the group docker may)",
        ),
        (
            ChildResult(argv=(), code=1, out="Client:\n Version: 27.3.1\n\nServer:\n", err="ERROR: Cannot connect to "
                  "the Docker daemon at unix:///run/docker.sock. Is it running?\n"),
            "docker info: Cannot connect to the Docker daemon at unix:///run/docker.sock. Is it running?",
        ),
        (ChildResult(argv=(), timed_out=True), "docker info did not respond within 3 seconds"),
    ],
)  # fmt: skip
def test_a_daemon_that_cannot_be_asked(ended: ChildResult, why: str) -> None:
    seen = look(RecordedMachine({CLIENT: ""}, env=ENV, commands={"docker": ended}))
    assert seen.docker_version == seen.docker_runtimes == seen.docker_rootless == Unknown(why)


@pytest.mark.parametrize(
    ("machine", "snap"),
    [
        (RecordedMachine({"/snap/bin/docker": ""}, env={"PATH": "/snap/bin"}, commands={"docker info": info()}), True),
        (RecordedMachine({CLIENT: ""}, env=ENV, commands={"docker": info(root="/var/snap/docker/common/x")}), True),
        (RecordedMachine({CLIENT: ""}, env=ENV, commands={"docker": info()}), False),
    ],
)
def test_docker_from_the_snap(machine: RecordedMachine, snap: bool) -> None:
    assert look(machine).docker_snap is snap


def test_a_rootless_daemon_has_its_own_configuration() -> None:
    own = {"/home/u/.config/docker/daemon.json": '{"runtimes": {"nvidia": {}}}', "/etc/docker/daemon.json": "{}"}
    commands = {"docker": info(option="  rootless\n ")}
    seen = look(RecordedMachine({CLIENT: "", **own}, env=ENV, commands=commands))
    assert (seen.docker_rootless, seen.docker_config_runtimes) == (True, ("nvidia",))


def test_a_dead_rootless_daemon_is_known_by_its_address() -> None:
    env = {**ENV, "DOCKER_HOST": "unix:///run/user/1000/docker.sock"}
    dead = ChildResult(argv=(), code=1, err="Cannot connect to the Docker daemon at unix:///run/user/1000/docker.sock.")
    assert look(RecordedMachine({CLIENT: ""}, env=env, commands={"docker": dead})).docker_rootless is True


def test_docker_desktop_by_its_system_or_by_its_context() -> None:
    answer = look(RecordedMachine({CLIENT: ""}, env=ENV, commands={"docker": info(system="Docker Desktop")}))
    assert answer.docker_desktop is True
    files = {CLIENT: "", "/home/u/.docker/config.json": '{"currentContext": "desktop-linux"}'}
    assert look(RecordedMachine(files, env=ENV), wanted=False).docker_desktop is True


def test_podmans_script_named_docker_is_not_docker() -> None:
    files = {CLIENT: '#!/bin/sh\nexec /usr/bin/podman "$@"\n', "/usr/bin/podman": ""}
    seen = look(RecordedMachine(files, env=ENV))
    assert (seen.docker, seen.podman) == (None, "/usr/bin/podman")


def test_a_broken_configuration_is_told() -> None:
    path = "/etc/docker/daemon.json"
    seen = look(RecordedMachine({path: '{"runtimes": '}))
    assert seen.docker_config_error == f"{path}: Expecting value: line 1 column 14 (char 13)"
    assert isinstance(seen.docker_config_runtimes, Unknown)
    assert look(RecordedMachine({path: ""})).docker_config_runtimes == ()
    assert look(RecordedMachine({path: "{}"}, errors={path: "EACCES"})).docker_config_runtimes == Unknown(
        f"{path}: Permission denied"
    )


@pytest.mark.parametrize(
    ("program", "out", "version"),
    [
        ("nvidia-ctk", "NVIDIA Container Toolkit CLI version 1.17.4\ncommit: 9b69590c7428\n",
         "1.17.4"),
        ("nvidia-container-cli", "cli-version: 1.17.4\nlib-version: 1.17.4\nbuild date: 2025-01-23\n", "1.17.4"),
        ("nvidia-container-runtime", "", "installed"),
    ],
)  # fmt: skip
def test_the_toolkits_version(program: str, out: str, version: str) -> None:
    machine = RecordedMachine({f"/usr/bin/{program}": ""}, env=ENV, commands={program: out})
    assert look(machine).toolkit == version


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("", True),
        ("accept-nvidia-visible-devices-envvar-when-unprivileged = true", True),
        ("accept-nvidia-visible-devices-envvar-when-unprivileged = false", False),
        ("  accept-nvidia-visible-devices-envvar-when-unprivileged=false # hardened", False),
        ("#accept-nvidia-visible-devices-envvar-when-unprivileged = false", True),
    ],
)
def test_whether_the_variable_counts_in_unprivileged_containers(line: str, value: bool) -> None:
    path = "/etc/nvidia-container-runtime/config.toml"
    assert look(RecordedMachine({path: f"{line}\n[nvidia-container-cli]\n"})).envvar_unprivileged is value
    assert look(RecordedMachine()).envvar_unprivileged is None
    operator = RecordedMachine({path: line, "/usr/local/nvidia/toolkit/nvidia-container-runtime": ""})
    assert isinstance(look(operator).envvar_unprivileged, Unknown)


@pytest.mark.parametrize(
    ("line", "value"), [("no-cgroups = true", True), ("#no-cgroups = true", False), ("  no-cgroups=false", False)]
)
def test_no_cgroups_counts_only_uncommented(line: str, value: bool) -> None:
    path = "/etc/nvidia-container-runtime/config.toml"
    assert look(RecordedMachine({path: f"[nvidia-container-cli]\n{line}\n"})).no_cgroups is value


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ('[nvidia-container-runtime]\nmode = "cdi"\n', "cdi"),
        ('[nvidia-container-runtime]\n#mode = "cdi"\n', "auto"),
        ("[nvidia-container-cli]\n", "auto"),
        ("[nvidia-container-runtime]\n  mode='legacy'\n[nvidia-container-runtime.modes.cdi]\n", "legacy"),
    ],
)
def test_the_mode_of_nvidias_runtime(text: str, mode: str) -> None:
    assert look(RecordedMachine({"/etc/nvidia-container-runtime/config.toml": text})).runtime_mode == mode


def test_the_service_that_writes_the_specification() -> None:
    unit = "systemd/system/nvidia-cdi-refresh.service"
    assert look(RecordedMachine()).cdi_service is False
    assert look(RecordedMachine({f"/usr/lib/{unit}": "[Unit]\n"})).cdi_service is True
    assert look(RecordedMachine({f"/etc/{unit}": "[Unit]\n"})).cdi_service is True


def test_the_driver_that_cdi_specifications_name() -> None:
    text = "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\n- hostPath: /usr/lib/x86_64-linux-gnu/libcuda.so.570.133.20\n"
    files = {"/etc/cdi/nvidia.yaml": text, "/var/run/cdi/other.json": "{}", "/etc/cdi/README": ""}
    seen = look(RecordedMachine(files))
    assert seen.cdi == ("/etc/cdi/nvidia.yaml", "/var/run/cdi/other.json")
    assert seen.cdi_driver == "570.133.20"


def test_docker_in_a_system_container_is_looked_at() -> None:
    files = {CLIENT: "", "/usr/bin/nvidia-ctk": "", "/proc/self/uid_map": "         0     100000      65536\n"}
    machine = RecordedMachine(files, env=ENV, commands={"docker info": info()})
    seen = look(machine, Host(container="lxc"))
    assert (seen.docker, seen.user_namespace) == (CLIENT, True)
    assert isinstance(look(machine, Host(container="docker")).docker, Unknown)


@pytest.mark.parametrize(("text", "mapped"), [("0 0 4294967295", False), ("0 1000 1\n1 100000 65536", True)])
def test_whether_users_are_mapped(text: str, mapped: bool) -> None:
    assert look(RecordedMachine({"/proc/self/uid_map": text})).user_namespace is mapped
    assert isinstance(look(RecordedMachine()).user_namespace, Unknown)


def test_the_hook_of_older_podmans() -> None:
    hook = "/usr/share/containers/oci/hooks.d/oci-nvidia-hook.json"
    assert look(RecordedMachine({hook: "{}"})).hook is True
    assert look(RecordedMachine()).hook is False


def test_a_toolkit_from_before_nvidia_ctk_is_asked_by_its_own_tool() -> None:
    tools = {"/usr/bin/nvidia-container-runtime": "", "/usr/bin/nvidia-container-cli": ""}
    said = {"nvidia-container-cli --version": "version: 1.3.3\nbuild date: 2021-02-05T13:29+00:00\n"}
    seen = look(RecordedMachine(tools, env=ENV, commands=said))
    assert (seen.toolkit, seen.toolkit_path) == ("1.3.3", "/usr/bin/nvidia-container-cli")


def test_a_program_of_the_toolkit_that_cannot_start() -> None:
    line = "/usr/bin/nvidia-container-cli: error while loading shared libraries: libelf.so.1: cannot open shared object"
    lost = ChildResult(argv=(), code=127, err=f"{line}\n")
    tools = {"/usr/bin/nvidia-ctk": "", "/usr/bin/nvidia-container-cli": ""}
    said: dict[str, str | ChildResult] = {"nvidia-ctk --version": "version 1.17.4\n"}
    said["nvidia-container-cli --version"] = lost
    machine = RecordedMachine(tools, env=ENV, commands=said)
    both = look(machine)
    assert (both.toolkit, both.toolkit_error) == ("1.17.4", line)
    quick = docker.probe(machine, BARE, True, quick=True)
    assert quick.toolkit_error == Unknown("nvidia-container-cli was not started (--quick)")
    assert isinstance(look(RecordedMachine({"/usr/bin/nvidia-ctk": ""}, env=ENV)).toolkit_error, Unknown)
    said.pop("nvidia-ctk --version")
    alone = RecordedMachine({"/usr/bin/nvidia-container-cli": ""}, env=ENV, commands=said)
    assert docker.probe(alone, BARE, True, quick=True).toolkit_error == line
    assert look(RecordedMachine()).toolkit_error is None


def test_the_fields_that_older_engines_refuse_and_the_version_of_podman() -> None:
    text = "cdiVersion: 0.7.0\nkind: nvidia.com/gpu\ndevices:\n- containerEdits:\n    additionalGids:\n    - 44\n"
    files = {"/usr/bin/podman": "", "/etc/cdi/nvidia.yaml": text}
    machine = RecordedMachine(files, commands={"podman --version": "podman version 4.9.3\n"})
    seen = look(machine)
    assert (seen.cdi_fields, seen.podman_version) == ({"additionalGids": "0.7.0"}, "4.9.3")
    older = RecordedMachine(files | {"/etc/cdi/nvidia.yaml": "kind: nvidia.com/gpu\n"})
    assert look(older).cdi_fields == {}
    assert isinstance(look(older).podman_version, Unknown)


VAR = {"/usr/bin/podman": "", "/var/run/cdi/nvidia.yaml": "kind: nvidia.com/gpu\n"}
USERS = "/home/u/.config/containers/containers.conf"


@pytest.mark.parametrize(
    ("files", "dirs", "asked"),
    [
        (VAR, None, True),
        (VAR | {"/etc/cdi/nvidia.yaml": "kind: nvidia.com/gpu\n"}, None, True),
        (VAR | {"/etc/containers/containers.conf": '[engine]\n#cdi_spec_dirs = ["/opt"]\n'}, None, True),
        (VAR | {"/etc/containers/containers.conf": '[engine]\ncdi_spec_dirs = [\n "/opt",\n]\n'}, ("/opt",), True),
        (
            VAR
            | {
                "/etc/containers/containers.conf": 'cdi_spec_dirs = ["/opt"]\n',
                "/etc/containers/containers.conf.d/a.conf": 'cdi_spec_dirs = ["/run/cdi", {append=true}]\n',
            },
            ("/opt", "/run/cdi"),
            True,
        ),
        (
            VAR | {"/etc/containers/containers.conf": 'cdi_spec_dirs = ["/opt"]\n', USERS: "cdi_spec_dirs=['/u']\n"},
            ("/u",),
            True,
        ),
        ({"/usr/bin/podman": "", "/var/run/cdi/amd.yaml": ""}, None, False),
    ],
)
def test_where_podman_looks_for_specifications(files: dict[str, str], dirs: object, asked: bool) -> None:
    machine = RecordedMachine(files, env=ENV, commands={"podman --version": "podman version 5.5.1\n"})
    seen = look(machine)
    assert seen.podman_cdi_dirs == dirs
    assert (seen.podman_version == "5.5.1") is asked
    quick = docker.probe(machine, BARE, True, quick=True)
    assert isinstance(quick.podman_version, Unknown)


def test_whether_the_daemon_reads_cdi_specifications() -> None:
    commands = {"docker info": info() + " CDI spec directories:\n  /etc/cdi\n  /var/run/cdi\n"}
    assert look(RecordedMachine({CLIENT: ""}, env=ENV, commands=commands)).docker_cdi is True
    assert look(RecordedMachine({CLIENT: ""}, env=ENV, commands={"docker info": info()})).docker_cdi is False
    assert look(RecordedMachine()).docker_cdi is None


def test_the_hook_of_enroot() -> None:
    path = "/etc/enroot/hooks.d/98-nvidia.sh"
    assert look(RecordedMachine({path: "#!/usr/bin/env bash\n"})).enroot_hook == path
    assert look(RecordedMachine()).enroot_hook is None
    assert isinstance(look(RecordedMachine(), Host(container="docker")).enroot_hook, Unknown)
