"""What messages tell of the model that a program was given: which release reads it."""

import re
from collections.abc import Sequence

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes.bounds import clash
from gpudoctor.fixes.by_message import pip
from gpudoctor.fixes.python import install
from gpudoctor.knowledge import onnxruntime
from gpudoctor.knowledge.release_names import added_in
from gpudoctor.queries.packages import answered, numbers, packages_of, release
from gpudoctor.symptoms.extractors import NOTHING, Extracted


def model_type(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """The release of Transformers that brought a kind of model, which the checkpoint's config.json names.

    A new major would remove what the program and other packages use: it is not taken along.
    """
    found = re.search(r"model type [`'\"]?(\w[\w-]*)", " ".join(lines[:2]))
    name = found[1].replace("-", "_") if found else ""
    came = added_in("transformers", name) if name else ""
    if not came:
        return NOTHING
    spec = f"transformers>={came},<{numbers(came)[0] + 1}"
    message = f"Install Transformers {came} or newer, the first release with {name}."
    for python in answered(facts):
        package = next((one for one in packages_of(python) if one.name == "transformers"), None)
        if package is not None:
            if numbers(package.version)[:2] >= numbers(came) or clash(python, spec):
                return NOTHING
            return Extracted(fixes=(Fix(message, (install(python, spec),), "reinstall-package"),), decided=True)
    return Extracted(fixes=(Fix(message, (pip(spec),), "reinstall-package"),)) if facts is None else NOTHING


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
