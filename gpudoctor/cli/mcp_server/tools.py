"""What an assistant can call, with which arguments, and what comes back; each Struct becomes a JSON Schema."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from gpudoctor.machine import TOTAL_SECONDS

QUICK_SECONDS = 30.0  # of a check that imports no framework: it takes one, unless something hangs
PATIENCE = 15.0  # seconds past a check's own deadline: start, verdicts, and children that have to be killed
LARGEST_LOG = 1 << 20  # characters of a text to explain: more than an assistant can write, and read in seconds

# What `gpudoctor setup` takes, and nothing that could be an option.
Framework = Annotated[str, Meta(pattern=r"^[A-Za-z][A-Za-z0-9_.\[\]=<>!~*+-]*$", max_length=60)]
Full = Annotated[
    bool,
    Meta(
        description="Also import the frameworks and ask them for their GPUs: up to 150 seconds. The default is quick: "
        "a second or two."
    ),
]
PythonPath = Annotated[
    str,
    Meta(
        description="An environment or interpreter to check (a path). Only environments that gpudoctor found itself, "
        "or that the user named when starting the server, are run. Default: the active one, else .venv of the working "
        "directory."
    ),
]


class CheckArguments(msgspec.Struct, forbid_unknown_fields=True):
    """Arguments of `check`."""

    full: Full = False
    python: PythonPath = ""
    only: Annotated[
        list[str],
        Meta(description='Run only these checks: IDs ("driver.not-loaded") or areas ("driver").', max_length=50),
    ] = []


class ExplainArguments(msgspec.Struct, forbid_unknown_fields=True):
    """Arguments of `explain`."""

    text: Annotated[
        str,
        Meta(
            description='A check ID ("driver.not-loaded"), an area ("driver"), an error code ("Xid 79", "803", '
            '"exit 137"), an error message, or the text of a log. Not a path: files are not read.'
        ),
    ]
    machine: Annotated[
        Literal["auto", "this", "other"],
        Meta(
            description="Which machine wrote it. auto: decided from what the log names. Where an answer mentions "
            "--here or --elsewhere, that is this argument: this or other."
        ),
    ] = "auto"
    full: Full = False
    python: PythonPath = ""


class SetupArguments(msgspec.Struct, forbid_unknown_fields=True):
    """Arguments of `setup_plan`."""

    frameworks: Annotated[
        list[Framework],
        Meta(
            description="Frameworks, and what belongs to them: torchvision, cuda-toolkit, cudnn.",
            min_length=1,
            max_length=5,
        ),
    ]
    manager: Literal["auto", "uv", "pip", "conda", "pixi", "poetry"] = "auto"
    into: Annotated[str, Meta(description="Install into this existing environment; same rule as `python`.")] = ""
    python_version: Annotated[str, Meta(description='Python of a new environment, such as "3.12".')] = ""
    driver: Annotated[
        Literal["auto", "yes", "no"], Meta(description="Plan a driver: if needed, the newest that fits, or never.")
    ] = "auto"
    container_toolkit: Annotated[bool, Meta(description="Also plan GPU access for containers.")] = False
    cpu: Annotated[bool, Meta(description="CPU wheels, whatever GPU there is.")] = False


class DiffArguments(msgspec.Struct, forbid_unknown_fields=True):
    """Arguments of `diff`."""

    a: Annotated[str, Meta(description="Path of a file written by `gpudoctor facts` or `gpudoctor check --json`.")]
    b: Annotated[str, Meta(description="Path of the other file.")]
    all: Annotated[bool, Meta(description="Also minor differences, and what is unknown on one side.")] = False


class FixAnswer(msgspec.Struct):
    """One way to solve a problem."""

    message: str
    commands: list[str]
    root: Annotated[bool, Meta(description="Needs root.")]
    needs: Annotated[str, Meta(description="What has to follow: relogin, restart, reboot; empty: nothing.")]
    verify: Annotated[str, Meta(description="The command that shows that it worked; empty: none.")]


class FindingAnswer(msgspec.Struct):
    """A root cause."""

    check: str
    status: Literal["fail", "warn", "advice"]
    subject: str
    message: str
    cause: str
    fixes: list[FixAnswer]


class CheckAnswer(msgspec.Struct):
    """What `check` found, for programs; the text says more."""

    status: Literal["pass", "warn", "fail", "incomplete", "no-gpu"]
    machine: Annotated[str, Meta(description="System, driver, GPUs, Python and frameworks, a line each.")]
    findings: Annotated[list[FindingAnswer], Meta(description="Root causes, worst first.")]
    notes: Annotated[list[str], Meta(description="What was seen to work, what was not tested, what to do next.")]
    unknown: Annotated[int, Meta(description="Checks that could not be answered.")]
    left_out: Annotated[list[str], Meta(description="IDs of findings left out: `only` with an ID shows one.")] = []


class ToolAnswer(msgspec.Struct):
    """What a call gives: a text, the same as data where the tool has a schema for it, or one sentence of an error."""

    text: str = ""
    data: dict[str, Any] | None = None
    error: str = ""


class AssistantTool(msgspec.Struct, frozen=True):
    """One tool.

    Attributes:
        name: by which it is called.
        title: for people.
        description: for the assistant: what it does, and when to use it.
        arguments: their Struct.
        answer: the Struct of its structured answer; None: text alone.
    """

    name: str
    title: str
    description: str
    arguments: type[msgspec.Struct]
    answer: type[msgspec.Struct] | None = None

    def seconds(self, arguments: dict[str, Any]) -> float:
        """The time that a call of it may take, whatever hangs."""
        return (TOTAL_SECONDS if arguments.get("full") is True else QUICK_SECONDS) + PATIENCE


TOOLS = {
    tool.name: tool
    for tool in (
        AssistantTool(
            "check",
            "Check this machine's GPUs",
            "Find out why PyTorch, TensorFlow, JAX, CuPy or ONNX Runtime cannot use this machine's GPUs, or whether "
            "they can: root causes with evidence and the commands that fix them. Use it first for any GPU, CUDA, ROCm "
            "or driver problem here. It changes nothing and runs no fix.",
            CheckArguments,
            CheckAnswer,
        ),
        AssistantTool(
            "explain",
            "Explain an error or a log",
            "Explain an error message, an error code, a log or a traceback about GPUs, or a check by its ID: what it "
            "means, what causes it on this machine, and what fixes it. Use it when you have the text of an error; "
            "pass the whole log rather than a summary.",
            ExplainArguments,
        ),
        AssistantTool(
            "setup_plan",
            "Plan a framework setup",
            "Plan how to install GPU frameworks on this machine: driver, matching wheels with their index, "
            "environment and verification, as commands in order. Use it before installing a framework or to choose "
            "versions. The plan is never run.",
            SetupArguments,
        ),
        AssistantTool(
            "diff",
            "Compare two machines",
            "Compare two saved facts files or JSON reports, relevant differences first: two machines, or one machine "
            "before and after a change. Use it when something worked before, or works elsewhere.",
            DiffArguments,
        ),
    )
}


def schema(of: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON Schema of a Struct, with an object at its root, as the protocol wants it."""
    (_,), parts = msgspec.json.schema_components([of], ref_template="#/$defs/{name}")
    root: dict[str, Any] = parts.pop(of.__name__)
    return root | ({"$defs": parts} if parts else {})
