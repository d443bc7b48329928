"""What is wrong with the Python environment itself."""

from gpudoctor.checks.python.bits_32 import bits_32
from gpudoctor.checks.python.half_removed import half_removed
from gpudoctor.checks.python.interpreter_broken import interpreter_broken
from gpudoctor.checks.python.numpy_2 import numpy_2
from gpudoctor.checks.python.shadowed_module import shadowed_module
from gpudoctor.checks.python.user_site_leaks import user_site_leaks
from gpudoctor.child import ChildResult
from gpudoctor.facts import Remnant, Shadow
from gpudoctor.machine import OUT_OF_TIME
from gpudoctor.maybe import Unknown
from gpudoctor.probes.python.interpreter import _failure
from tests.builders import change, plain_host, with_framework
from tests.checks.environments import SITE, commands, environment, one, package, severity, torch

TORCH = f"{SITE}/torch"


def test_interpreter_broken() -> None:
    facts = environment(error="exit code 1: No module named 'encodings'")
    expected = "/opt/env/bin/python could not be run: exit code 1: No module named 'encodings'"
    assert one(interpreter_broken, facts) == ("problem", expected)
    assert one(interpreter_broken, environment()) == ("pass", "")
    assert "/opt/env/bin/python -I -S -c" in commands(interpreter_broken, facts)


def test_an_interpreter_that_nobody_had_time_to_ask_is_unknown() -> None:
    """The probe's own sentence: an examination that ended early says nothing about the environment."""
    ended = ChildResult(argv=("/opt/env/bin/python",), missing=OUT_OF_TIME)
    facts = environment(error=_failure("/opt/env/bin/python", ended, 5.0))
    assert one(interpreter_broken, facts)[0] == "unknown"


def test_shadowed_module() -> None:
    file = Shadow(module="torch", wins="/home/s/lab/torch.py", loses=(TORCH,), origin="PYTHONPATH")
    facts = change(environment(torch(), shadows=(file,)), "host.environment", {"PYTHONPATH": "/home/s/lab:/home/s/x"})
    expected = f"`import torch` loads /home/s/lab/torch.py (via PYTHONPATH) instead of the installed {TORCH}."
    assert one(shadowed_module, facts) == ("problem", expected)
    assert severity(shadowed_module, facts) == "fail"
    said = commands(shadowed_module, facts)
    assert "mv /home/s/lab/torch.py /home/s/lab/torch_own.py" in said
    assert "export PYTHONPATH=/home/s/x" in said
    here = Shadow(module="torch", wins="/home/s/torch", loses=(TORCH,), origin="working directory")
    assert severity(shadowed_module, environment(torch(), shadows=(here,))) == "warn"
    assert "mv " not in commands(shadowed_module, environment(torch(), shadows=(here,)))  # a checkout of it
    own = Shadow(module="datasets", wins="/lab/datasets", loses=(f"{SITE}/datasets",), origin="working directory")
    assert "mv /lab/datasets /lab/datasets_own" in commands(shadowed_module, environment(torch(), shadows=(own,)))
    assert severity(shadowed_module, environment(torch(), shadows=(own,))) == "advice"
    site = Shadow(module="torch", wins="/a/torch", loses=("/b/torch",), origin="")
    assert one(shadowed_module, environment(torch(), shadows=(site,))) == ("pass", "")


def test_a_package_hides_another_distributions_part() -> None:
    user = "/root/.local/lib/python3.11/site-packages"
    cute = Shadow(
        module="flash_attn",
        wins=f"{SITE}/flash_attn",
        loses=(f"{user}/flash_attn/cute",),
        origin="namespace",
        portion_of="flash-attn-4",
    )
    there = package("flash-attn-4", "4.0.0", directory=user)
    facts = environment(torch(), shadows=(cute,), packages=(there,))
    assert one(shadowed_module, facts) == (
        "problem",
        f"flash_attn.cute of flash-attn-4 4.0.0 cannot be imported: {user}/flash_attn has no __init__.py, and the "
        f"package {SITE}/flash_attn hides it.",
    )
    assert severity(shadowed_module, facts) == "warn"
    assert "install --no-deps --no-user flash-attn-4==4.0.0" in commands(shadowed_module, facts)


def test_user_site_leaks() -> None:
    home = "/root/.local/lib/python3.11/site-packages/torch"
    leak = Shadow(module="torch", wins=home, loses=(TORCH,), version="2.0.1", origin="user site")
    facts = environment(torch(), shadows=(leak,), kind="conda")
    expected = f"`import torch` loads the copy 2.0.1 in the user site, {home}, instead of {TORCH}."
    assert one(user_site_leaks, facts) == ("problem", expected)
    assert "export PYTHONNOUSERSITE=1" in commands(user_site_leaks, facts)
    # Over the distribution's own packages the user site is meant to win.
    assert one(user_site_leaks, environment(torch(), shadows=(leak,), kind="system")) == ("pass", "")
    assert one(user_site_leaks, environment(torch(), kind="conda")) == ("pass", "")


def test_half_removed() -> None:
    hollow = Remnant(module="torch", path=TORCH, reason="no __init__.py and no metadata")
    facts = environment(remnants=(hollow,))
    expected = f"{TORCH} is an incomplete leftover of torch (no __init__.py and no metadata) and cannot be used."
    assert one(half_removed, facts) == ("problem", expected)
    said = commands(half_removed, facts)
    assert f"rm -r {TORCH}" in said
    assert "install --index-url https://download.pytorch.org/whl/" in said
    assert severity(half_removed, facts) == "warn"  # nothing claims that it is installed
    claimed = Remnant(module="torch", path=TORCH, reason="no __init__.py")
    assert severity(half_removed, environment(remnants=(claimed,))) == "fail"
    tilde = Remnant(module="torch", path=f"{SITE}/~orch", reason="~orch")
    assert severity(half_removed, environment(torch(), remnants=(tilde,))) == "advice"
    empty = Remnant(module="tensorflow", path=f"{SITE}/tensorflow_gpu-2.12.0.dist-info", reason="no module")
    assert one(half_removed, environment(remnants=(empty,))) == ("pass", "")


def test_half_removed_names_the_package_that_lost_its_folder() -> None:
    lost = Remnant(module="onnxruntime", path=f"{SITE}/onnxruntime_gpu-1.22.0.dist-info", reason="no module")
    assert "--force-reinstall onnxruntime-gpu" in commands(half_removed, environment(remnants=(lost,)))
    # onnxruntime was removed, and took the files of onnxruntime-gpu along.
    hollow = Remnant(module="onnxruntime", path=f"{SITE}/onnxruntime", reason="no __init__.py")
    facts = environment(packages=(package("onnxruntime-gpu", "1.22.0"),), remnants=(hollow,))
    assert "--no-deps --ignore-installed onnxruntime-gpu==1.22.0" in commands(half_removed, facts)


def test_numpy_2() -> None:
    facts = environment(torch("2.2.2"), packages=(package("numpy", "2.0.0"),))
    expected = "torch 2.2.2 was compiled against NumPy 1, before NumPy 2 was released; NumPy 2.0.0 is installed."
    assert one(numpy_2, facts) == ("problem", expected)
    assert "'numpy<2'" in commands(numpy_2, facts)
    assert one(numpy_2, environment(torch("2.2.2"), packages=(package("numpy", "1.26.4"),))) == ("pass", "")
    assert one(numpy_2, environment(torch("2.3.1"), packages=(package("numpy", "2.0.0"),))) == ("pass", "")
    assert one(numpy_2, environment(packages=())) == ("pass", "")
    hidden = change(environment(torch()), "pythons.0.packages", Unknown("closed"))
    assert one(numpy_2, hidden) == ("unknown", "closed")


def test_bits_32() -> None:
    facts = environment(bits=32)
    expected = "/opt/env/bin/python is a 32-bit Python; no GPU framework supports it."
    assert one(bits_32, facts) == ("problem", expected)
    assert one(bits_32, environment()) == ("pass", "")
    assert one(bits_32, with_framework(torch(), plain_host(), bits=32)) == ("pass", "")
    assert one(bits_32, environment(bits=Unknown("silent"))) == ("unknown", "silent")
