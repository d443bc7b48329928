"""environment.yml for conda and mamba: Python by conda-forge, the wheels by pip in one solution."""

from gpudoctor.setup.exporters.common import head, of_group, remarks, yaml
from gpudoctor.setup.plan import Plan


def render(plan: Plan) -> str:
    """The file, for `conda env create --file`."""
    pip: list[object] = [f"--extra-index-url {index}" for index in dict.fromkeys(w.index for w in plan.wheels) if index]
    pip += [w.requirement for w in plan.wheels]
    toolkit = [f"cuda-toolkit={plan.toolkit}"] if plan.toolkit and "cuda-toolkit" in plan.requested else []
    toolkit += ["cudnn"] if plan.toolkit and "cudnn" in plan.requested else []
    data: dict[str, object] = {
        "name": plan.environment.rpartition("/")[2] or "gpu-env",
        "channels": ["conda-forge"],
        "dependencies": [f"python={plan.python or '3.12'}", "pip", *toolkit, *([{"pip": pip}] if pip else [])],
    }
    first = [line for step in of_group(plan, "driver") for line in remarks(f"First, on the machine: {step.title}")]
    return "\n".join([*head(plan, "environment.yml"), *first, *yaml(data)]) + "\n"
