"""CUDA is configured to share the GPU through MPS, and MPS does not respond."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.container import again
from gpudoctor.knowledge.errors import cuda_error as meaning_of
from gpudoctor.maybe import known, known_or
from gpudoctor.targets import in_container, nvidia_machine
from gpudoctor.tasks import cmd, export, pipe, query
from gpudoctor.tasks.placeholders import REST

VARIABLE = "CUDA_MPS_PIPE_DIRECTORY"
DEFAULT = "/tmp/nvidia-mps"
FULL = (808, 809)  # too many clients, too many connections
CODES = (805, 806, 807, *FULL, 810)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    folder = facts.host.environment.get(VARIABLE, DEFAULT)
    if facts.nvidia.cuda.code in FULL:
        message = "Stop some of the programs that share this GPU: MPS supports 48 clients per GPU, fewer before Volta."
        return (
            Fix(
                message,
                (pipe(cmd("echo", "get_server_list"), cmd("nvidia-cuda-mps-control")), query("nvidia-smi")),
                "restart-process",
            ),
        )
    daemon = Fix(
        "Restart the control daemon as the user whose programs use it; programs that compute through it are stopped.",
        (pipe(cmd("echo", "quit"), cmd("nvidia-cuda-mps-control")), cmd("nvidia-cuda-mps-control", "-d")),
        "restart-process",
        verify=pipe(cmd("echo", "get_server_list"), cmd("nvidia-cuda-mps-control")),
    )
    without = Fix(
        "Compute without MPS: set a directory that does not exist.",
        (export(VARIABLE, "/nonexistent"),),
        "change-environment",
        needs="restart of the program",
        undo=(export(VARIABLE, folder),),
    )
    if in_container(facts):
        message = (
            "Share the host's pipe directory and its IPC namespace with the container, where the host runs the daemon."
        )
        inside = again(
            message,
            cmd(
                "docker",
                "run",
                "--gpus",
                "all",
                "--ipc=host",
                "-v",
                f"{folder}:{folder}",
                "-e",
                f"{VARIABLE}={folder}",
                REST,
            ),
        )
        return (inside, without)
    return (daemon, without)


@check(
    title="CUDA Multi-Process Service (MPS) does not respond",
    severity=Severity.ERROR,
    cause="Where a control daemon listens in the pipe directory (CUDA_MPS_PIPE_DIRECTORY, default /tmp/nvidia-mps), "
    "CUDA computes only through the server that it starts. If that server died, is recovering, serves another user, "
    "or is only partly reachable from a container, cuInit fails. nvidia-smi does not use MPS.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deploy/mps/index.html",
        "https://manpages.ubuntu.com/manpages/noble/man1/nvidia-cuda-mps-control.1.html",
        "https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html",
    ),
    targets=nvidia_machine,
    caused_by=("device.xid-hardware", "device.fallen-off-the-bus"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def mps_unreachable(facts: Facts) -> Problem | None:
    """Look for one of the codes that only MPS returns."""
    code = known(facts.nvidia.cuda.code)
    if code not in CODES:
        return None
    found, name = meaning_of(code), known_or(facts.nvidia.cuda.name, None)
    folder = facts.host.environment.get(VARIABLE)
    where = f"{VARIABLE} is {folder}" if folder else f"{VARIABLE} is not set, so {DEFAULT} is used"
    what = found.meaning if found else "MPS failed"
    return Problem(f"cuInit returns {code}: {what}. {where}.", (name,) if name else ())
