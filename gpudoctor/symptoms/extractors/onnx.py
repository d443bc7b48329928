"""What messages of ONNX Runtime tell of the model that it was given."""

import re
from collections.abc import Sequence

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes.python import install
from gpudoctor.knowledge import onnxruntime
from gpudoctor.queries.packages import answered, numbers, packages_of, release
from gpudoctor.symptoms.extractors import NOTHING, Extracted


def onnx_version(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """The newest release that reads the model, among those for the CUDA of the installed one.

    A release for another major of CUDA would find none of the libraries that are here.
    """
    there = (
        (python, one)
        for python in answered(facts)
        for one in packages_of(python)
        if one.name in ("onnxruntime-gpu", "onnxruntime")
    )
    python, package = next(there, (None, None))
    if python is None or package is None:
        return NOTHING
    row = onnxruntime.release(package.version) if package.name == "onnxruntime-gpu" else None
    bound = onnxruntime.newest_for(int(row.cuda)) if row else None
    if bound and numbers(package.version)[:2] >= numbers(bound.lstrip("<")):
        return NOTHING
    spec = f"{package.name}>{release(package.version)}{f',{bound}' if bound else ''}"
    kept = f" for CUDA {row.cuda}, as the installed one" if row and bound else ""
    newer = Fix(f"Install a newer {package.name}{kept}.", (install(python, spec),), "reinstall-package")
    highest = re.search(r"max supported IR version: (\d+)", " ".join(lines[:2]))
    if highest is None:
        return Extracted(fixes=(newer,))
    older = Fix(
        f"Or save the model with an older IR version: in Python, `m = onnx.load(path); m.ir_version = {highest[1]}; "
        "onnx.save(m, path)`."
    )
    return Extracted(fixes=(newer, older), decided=True)
