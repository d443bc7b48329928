"""Another build of Ollama, as it was installed here: by its image, by the distribution's package, or by its installer.

https://docs.ollama.com/docker; https://docs.ollama.com/linux. Arch: the packages ollama-cuda and ollama-rocm.
"""

import msgspec

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes import driver, nixos, system
from gpudoctor.fixes.container import again, engine
from gpudoctor.knowledge.ollama import ollama
from gpudoctor.maybe import known_or, present
from gpudoctor.queries.packages import numbers
from gpudoctor.targets import in_container, in_system_container, on_wsl
from gpudoctor.tasks import Edit, Tasks, as_root, cmd, filtered, pipe, query, unset
from gpudoctor.tasks.placeholders import CONTAINER, REST

_IMAGE, _ENGINES = "ollama/ollama", ("docker", "podman")
_INSTALLER = "https://ollama.com/install.sh"
INSTALL = pipe(cmd("curl", "-fsSL", _INSTALLER), cmd("sh"))
_RELOAD = as_root("systemctl", "daemon-reload")
_DROP_INS = "/etc/systemd/system/ollama.service.d"
_PS = filtered(cmd("ollama", "ps"), query("grep", "GPU"))
RESTART = as_root("systemctl", "restart", "ollama")
_SHOWN = query("grep", "inference compute")
PROOF = filtered(query("journalctl", "-u", "ollama", "-n", "50"), _SHOWN)


def _is_packaged(facts: Facts, family: str) -> bool:
    """Whether a distribution has a package for each kind of GPU, and this Ollama is of one: the installer's is not."""
    here = "nixos" if nixos.is_nixos(facts) else system.family_of(facts)
    return here == family and not present(facts.ollama.program).startswith("/usr/local/")


def build_for(facts: Facts, backend: str) -> Fix | None:
    """Install the build with one library, where not the installer brings it.

    Args:
        facts: the machine, with Ollama.
        backend: the library, as ggml names it: cuda, hip.
    """
    kind = "rocm" if backend == "hip" else "cuda"
    if _is_of_image(facts):
        return _image(facts, backend, "has that library")
    name = f"ollama-{kind}"
    if _is_packaged(facts, "nixos"):
        release = known_or(facts.host.distribution.version, None) or ollama().nixos_packages
        by_package = numbers(release) >= numbers(ollama().nixos_packages)
        setting = f"package = pkgs.{name}" if by_package else f'acceleration = "{kind}"'
        message = "Set NixOS's Ollama with that library in the configuration."
        return nixos.rebuild(message, f"services.ollama.{setting};", "reinstall-package", PROOF)
    if not _is_packaged(facts, "arch"):
        return None
    # Arch's ollama-cuda 0.23.0 had none (ollama/ollama#15956, #15968).
    message = (
        f"Install {name}, the distribution's Ollama with that library. Where it is installed already, its release "
        "lacks the library: upgrade the system, or go back to the release before."
    )
    tasks: Tasks = (*system.install(facts, name), RESTART)
    return Fix(message, tasks, "reinstall-package", root=True, undo=system.remove(facts, name), verify=PROOF)


def with_vulkan(facts: Facts) -> Fix:
    """Let it compute with Vulkan, which needs no kernels for the GPU's target."""
    # The image with the tag rocm has no library for Vulkan.
    which = f" (image {_IMAGE})" if _is_of_image(facts) else ""
    newer = f"Upgrade Ollama to {ollama().vulkan} or newer{which}, and let it compute with Vulkan"
    if _is_packaged(facts, "arch"):
        tasks: Tasks = (*system.install(facts, "ollama-vulkan"), RESTART)
        message = "Install ollama-vulkan, the distribution's library for Vulkan."
        undo = system.remove(facts, "ollama-vulkan")
        return Fix(message, tasks, "reinstall-package", root=True, undo=undo, verify=PROOF)
    change = with_variable(facts, "OLLAMA_VULKAN", "1", newer, "services.ollama.package = pkgs.ollama-vulkan;")
    if _is_packaged(facts, "nixos"):
        return change
    if _is_of_image(facts):
        return msgspec.structs.replace(change, tasks=(*_pull(facts, _IMAGE), *change.tasks))
    return msgspec.structs.replace(change, tasks=(INSTALL, *change.tasks), action="reinstall-package", root=True)


def older(facts: Facts, release: str, message: str) -> Fix | None:
    """Install an older release by the installer, where it was it that installed this one.

    Args:
        facts: the machine, with Ollama.
        release: which.
        message: one sentence that starts with a verb.
    """
    if _is_of_image(facts):
        return again(message, *_pull(facts, f"{_IMAGE}:{release}-rocm"), verify=_PS)
    if not present(facts.ollama.program).startswith("/usr/local/"):
        return None
    install = pipe(cmd("curl", "-fsSL", _INSTALLER), cmd("sh", env=(("OLLAMA_VERSION", release),)))
    return Fix(message, (install,), "reinstall-package", root=True, undo=(INSTALL,), verify=PROOF)


def upgrade(facts: Facts, backend: str | None, release: str, effect: str) -> Fix:
    """Install a newer release.

    Args:
        facts: the machine, with Ollama.
        backend: the library for the GPU here, as ggml names it.
        release: the oldest that will do.
        effect: what it does.
    """
    if _is_of_image(facts):
        return _image(facts, backend, f"is newer than {release}: it {effect}")
    message = f"Upgrade Ollama to {release} or newer, which {effect}."
    if _is_packaged(facts, "nixos"):
        return nixos.upgrade(message, PROOF)
    arch = _is_packaged(facts, "arch")
    tasks: Tasks = (as_root("pacman", "-Syu"), RESTART) if arch else (INSTALL,)
    return Fix(message, tasks, "reinstall-package", root=True, verify=PROOF)


def with_variable(facts: Facts, name: str, value: str | None, message: str, nixos_option: str = "") -> Fix:
    """Start Ollama's server with a variable, or without: its service does not get those of a shell.

    Args:
        facts: the machine, with Ollama.
        name: the variable.
        value: what it is set to; None: it is taken away.
        message: what to do, without its end.
        nixos_option: the line of NixOS's configuration that does the same, where there is an option of its own.
    """
    if _is_of_image(facts):
        outside = f"{message}: on the host, recreate the container"
        if value is None:
            return again(f"{outside} without {name}.", verify=_PS)
        program, setting = engine(facts), f"{name}={value}"
        start: Tasks = (cmd(program, "run", "-e", setting, REST),) if program in _ENGINES else ()
        return again(f"{outside} with {setting}.", *start, verify=_PS)
    if nixos.is_nixos(facts):
        option = f"services.ollama.environmentVariables.{name}"
        text = f'{option} = "{value}";' if value is not None else f"# without {option}"
        return nixos.rebuild(f"{message}.", nixos_option or text, "change-environment", PROOF)
    if not known_or(facts.ollama.service.user, None):
        tasks: Tasks = (cmd("ollama", "serve", env=((name, value),)) if value is not None else unset(name),)
        where = "." if value is not None else " in the shell that starts `ollama serve`."
        return Fix(f"{message}{where}", tasks, "change-environment", needs="restart of the program", verify=_PS)
    path = f"{_DROP_INS}/{name.lower().replace('_', '-')}.conf"
    line = f'Environment="{name}={value}"' if value is not None else f"UnsetEnvironment={name}"
    write = Edit(path, text=f"[Service]\n{line}\n", root=True)
    tasks = (write, _RELOAD, RESTART)
    undo: Tasks = (Edit(path, gone=True, root=True), _RELOAD, RESTART)
    return Fix(f"{message}.", tasks, "change-environment", root=True, undo=undo, verify=PROOF)


def newer_driver(facts: Facts, branch: int) -> tuple[Fix, ...]:
    """Install a driver of this branch or a newer one; none where no such driver supports these GPUs.

    Args:
        facts: the machine.
        branch: the oldest branch.
    """
    best = driver.best_branch(facts, at_least=branch)
    if best is None:
        return ()
    if on_wsl(facts):
        message = f"Install a driver of branch {branch} or newer on Windows, not inside WSL, then run `wsl --shutdown`."
        return (Fix(message, action="reinstall-package", needs="a restart of WSL", verify=query("nvidia-smi")),)
    if in_container(facts):
        message = (
            f"Ask the host's administrator to install a driver of branch {branch} or newer on the host, {best} at "
            "best; a container takes its driver from there."
        )
        return (Fix(message, action="reinstall-package", needs="a restart of the container", place="outside"),)
    return (driver.install_driver(facts, best, message=f"Install a driver of branch {best}, then reboot."),)


def _is_of_image(facts: Facts) -> bool:
    """Whether Ollama is a part of an image: what the installer adds would be gone with the container."""
    return in_container(facts) and not in_system_container(facts)


def _image(facts: Facts, backend: str | None, what: str) -> Fix:
    """Take Ollama's own image: with the tag rocm for AMD GPUs."""
    name = f"{_IMAGE}:rocm" if backend == "hip" else _IMAGE
    message = f"On the host, recreate the container with its options from the image {name}, which {what}."
    pull = _pull(facts, name)
    proof = filtered(query(engine(facts), "logs", CONTAINER), _SHOWN) if pull else _PS
    return again(message, *pull, verify=proof)


def _pull(facts: Facts, image: str) -> Tasks:
    """Fetch an image with the engine that runs this container; none where that is not typed."""
    program = engine(facts)
    name = image if program == "docker" else f"docker.io/{image}"
    return (cmd(program, "pull", name),) if program in _ENGINES else ()
