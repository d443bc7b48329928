"""What programs may rely on in `gpudoctor.report/1`, as a JSON Schema written by hand, not derived from the model."""

from typing import Any

TEXT, WHOLE = {"type": "string", "minLength": 1}, {"type": "integer", "minimum": 0}
TEXTS = {"type": "array", "items": TEXT}
MAYBE = {"type": ["string", "null"]}
CHECK = {"type": "string", "pattern": r"^([a-z0-9-]+\.[a-z0-9-]+|probe)$"}


def exactly(**fields: Any) -> dict[str, Any]:
    """An object with these fields and no others: a name that is given up or added shows here first."""
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def each(item: dict[str, Any]) -> dict[str, Any]:
    """A list of such things."""
    return {"type": "array", "items": item}


ACTIONS = [
    "restart-process", "relogin", "change-environment", "reinstall-package", "reload-module", "reset-gpu", "reboot",
    "power-cycle", "replace-hardware", "ask-vendor", None,
]  # fmt: skip
WORDS = {"type": "array", "items": {"type": "string"}}
BLANKS = each(exactly(name=TEXT, means=TEXT))
YES = {"const": True}


def task(kind: str, more: dict[str, Any], **always: Any) -> dict[str, Any]:
    """A task of a kind: what it always has, and what it has where that is not the usual."""
    found = exactly(kind={"const": kind}, **always)
    found["properties"] |= more
    return found


PACKAGES = exactly(python=TEXT, installer={"enum": ["pip", "uv"]})
PACKAGES["properties"] |= {"resolve": WORDS}
COMMAND = task(
    "command",
    {
        "root": YES, "lookup": YES, "placeholders": BLANKS, "env": each(WORDS), "packages": PACKAGES, "note": TEXT,
        "person": YES,
    },
    argv=WORDS,
)  # fmt: skip
TASK = {
    "anyOf": [
        COMMAND,
        task("pipe", {"lookup": YES}, stages=each(COMMAND)),
        task("shell", {"root": YES, "lookup": YES, "placeholders": BLANKS}, line=TEXT),
        task("variable", {"value": {"type": "string"}, "join": {"enum": ["before", "after"]}}, name=TEXT),
        task(
            "edit",
            {
                "text": TEXT, "add": TEXTS, "sections": each(exactly(header=TEXT, lines=TEXTS)), "word": TEXTS,
                "gone": YES, "root": YES,
            },
            path=TEXT,
        ),
        task("manual", {"where": {"enum": ["configuration", "program", "PowerShell"]}}, text=TEXT),
    ]
}  # fmt: skip
STATUS = {"enum": ["fail", "warn", "advice"]}
FIX = exactly(
    message=TEXT,
    commands=TEXTS,
    action={"enum": ACTIONS},
    root={"type": "boolean"},
    needs=MAYBE,
    impact={"enum": ["none", "reversible", "persistent", "irreversible", "data loss"]},
    undo=MAYBE,
    verify=MAYBE,
    place={"enum": ["here", "outside"]},
    as_root={"type": "boolean"},
    tasks=each(TASK),
    undo_tasks=each(TASK),
    verify_task={"anyOf": [TASK, {"type": "null"}]},
    later={"type": "boolean"},
)
FINDING = exactly(
    check=CHECK,
    status=STATUS,
    subject=TEXT,
    title=TEXT,
    message=TEXT,
    cause=TEXT,
    evidence=TEXTS,
    fixes={"type": "array", "items": FIX, "minItems": 1},
    run={
        "type": "string",
        "pattern": "^(gpudoctor fix [a-z0-9-]+\\.[a-z0-9-]+( --choice [0-9]+)?( --with-root)?( --reboot)?)?$",
    },
    consequences=each(exactly(check=CHECK, message=TEXT, status=STATUS, subject=TEXT)),
    affects={
        "type": "array",
        "items": {"enum": ["everything", "wheels", "extensions", "several-gpus", "containers", "display", "tools"]},
        "minItems": 1,
    },
    ruled_out=each(CHECK),
    references={"type": "array", "items": {"type": "string", "pattern": "^https://"}, "minItems": 1},
)
PYTHON = exactly(path=TEXT, found_by={"type": "string"}, version=MAYBE, kind=MAYBE, manager=MAYBE, error=MAYBE)
INSTALLED = exactly(
    path=TEXT,
    version=MAYBE,
    nvcc={"type": ["boolean", "null"]},
    on_path={"type": "boolean"},
    cuda_home={"type": "boolean"},
)
SEVERAL = {"anyOf": [each(INSTALLED), {"type": "null"}]}  # null: nobody looked
LIBRARY = exactly(name={"enum": ["cuDNN", "NCCL", "RCCL"]}, loaded=MAYBE, built_for=MAYBE, installed=MAYBE, path=MAYBE)
MACHINE = exactly(
    **dict.fromkeys(
        (
            "system", "distribution", "kernel", "architecture", "platform", "container", "product", "driver",
            "driver_flavor", "driver_libraries", "driver_cuda", "rocm", "amdgpu", "toolkit",
        ),
        MAYBE,
    ),
    **dict.fromkeys(("toolkits", "cudnn", "nccl", "rocm_releases"), SEVERAL),
)  # fmt: skip
GPU = exactly(
    index=WHOLE,
    vendor={"enum": ["nvidia", "amd", "intel"]},
    name=MAYBE,
    address=MAYBE,
    capability={"type": ["string", "null"], "pattern": r"^\d+\.\d+$"},
    gfx={"type": ["string", "null"], "pattern": "^gfx"},
    memory={"type": ["integer", "null"]},
    status=MAYBE,
)
NUMBER = {"type": ["number", "null"]}
FIGURE = exactly(
    name=TEXT,
    value={"type": "number"},
    unit={"enum": ["TFLOP/s", "GB/s", "images/s", "s", "ratio", "elements", "bytes", "MHz"]},
    samples=each({"type": "number"}),
    method={"type": "string"},
    limit=NUMBER,
    limit_source=MAYBE,
)
OUTCOME = {"enum": ["done", "unsupported", "failed", "hung", "died", "stopped", "not reached"]}
SMOKE = exactly(
    backend={"enum": ["pytorch", "tensorflow", "cupy", "jax", "driver", "cpu"]},
    device=TEXT,
    kind={"enum": ["cuda", "rocm", "cpu"]},
    python=TEXT,
    outcome=OUTCOME,
    message={"type": "string"},
    version=MAYBE,
    name=MAYBE,
    gpu=MAYBE,
    busy={"type": ["boolean", "null"]},
    import_seconds=NUMBER,
    start_seconds=NUMBER,
    digits=TEXT,
    tests=each(
        exactly(
            test=TEXT,
            variant={"type": "string"},
            outcome=OUTCOME,
            message={"type": "string"},
            seconds=NUMBER,
            figures=each(FIGURE),
            notes={"type": "object"},
            during={"type": "object"},
        )
    ),
)
SIZES = {"type": ["integer", "null"], "minimum": 0}
COMPARED = exactly(
    part={"enum": ["matmul", "training", "inference", "arrays", "loading"]},
    unit={"enum": ["s", "images/s"]},
    sizes=each(
        exactly(
            name=TEXT,
            size=SIZES,
            cpu=NUMBER,
            gpu=NUMBER,
            gpu_with_copies=NUMBER,
            speed_up=NUMBER,
            speed_up_with_copies=NUMBER,
            computing=NUMBER,
        )
    ),
    pays_from=SIZES,
    pays_from_with_copies=SIZES,
    knee_cpu=SIZES,
    knee_gpu=SIZES,
    summary=TEXTS,
    not_reached_cpu={"type": "string"},
    not_reached_gpu={"type": "string"},
    no_room_cpu={"type": "string"},
    no_room_gpu={"type": "string"},
)
CPU_GPU = exactly(
    backend=SMOKE["properties"]["backend"],
    cpu_backend=MAYBE,
    python={"type": "string"},
    version=MAYBE,
    gpu=MAYBE,
    gpu_name=MAYBE,
    cpu_name=MAYBE,
    no_gpu={"type": "string"},
    parts=each(COMPARED),
    rate=NUMBER,
    power=NUMBER,
    tflops_per_watt=NUMBER,
    dollars_per_hour=NUMBER,
    tflop_per_dollar=NUMBER,
    images_per_dollar=NUMBER,
    summary=TEXTS,
)
SYMPTOM = exactly(
    id={"type": "string"},
    role={"enum": ["root", "same", "also", "follows", "warning", "harmless"]},
    program=TEXT,
    message={"type": "string"},
    meaning=TEXT,
    line=WHOLE,
    times=WHOLE,
    rank={"type": ["integer", "null"]},
    details=TEXTS,
    explained_by=each(CHECK),
    ruled_out=each(CHECK),
    unknown=each(CHECK),
    fixes=each(FIX),
    nearest=TEXTS,
    advice={"type": "string"},
    notice={"type": "string"},
)
RANK = exactly(
    rank={"type": ["integer", "null"], "minimum": 0},
    log=TEXT,
    role={"enum": ["first", "failed", "behind", "waited", "silent", "ok"]},
    line=WHOLE,
    message={"type": "string"},
    lines=WHOLE,
)
LOG_ORIGIN = exactly(where={"enum": ["here", "elsewhere", "unknown"]}, evidence=TEXTS, typed={"type": "boolean"})
FRAMEWORK = exactly(
    name=TEXT,
    python=TEXT,
    version=MAYBE,
    variant=MAYBE,
    built_for=MAYBE,
    sees={"type": ["integer", "null"], "minimum": 0},
    error=MAYBE,
    libraries={"anyOf": [each(LIBRARY), {"type": "null"}]},
)
SCALAR = {"type": ["string", "number", "boolean", "null"]}
INVENTORY = exactly(
    machine={"type": "object", "additionalProperties": SCALAR},
    gpus=each({"type": "object", "additionalProperties": SCALAR}),
    packages={"type": "object", "additionalProperties": {"type": "object", "additionalProperties": TEXT}},
)
REPORT = exactly(
    schema={"const": "gpudoctor.report/1"},
    version=TEXT,
    status={"enum": ["fail", "incomplete", "no-gpu", "warn", "pass"]},
    created={"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"},
    seconds={"type": "number", "minimum": 0},
    summary=exactly(
        **dict.fromkeys(("fail", "warn", "advice", "consequences", "unknown", "pass", "skipped", "broken"), WHOLE)
    ),
    machine=MACHINE,
    python={"anyOf": [PYTHON, {"type": "null"}]},
    pythons=each(PYTHON),
    gpus=each(GPU),
    frameworks=each(FRAMEWORK),
    findings=each(FINDING),
    unknown=each(
        exactly(check=CHECK, subject=TEXT, reason=TEXT, essential={"type": "boolean"}, broken={"type": "boolean"})
    ),
    smoke=each(SMOKE),
    cpu_gpu=each(CPU_GPU),
    symptoms=each(SYMPTOM),
    log_origin={"anyOf": [LOG_ORIGIN, {"type": "null"}]},
    ranks=each(RANK),
    next=TEXTS,
    inventory=INVENTORY,
    not_tested=TEXTS,
    driver_asked={"type": "boolean"},
)
