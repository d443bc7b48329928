"""What may be the cause that a GPU package does not import, and what helps first."""

from gpudoctor.check_engine import run
from gpudoctor.checks.packages.import_fails import import_fails
from tests.checks.environments import commands
from tests.checks.packages.test_vendors_and_modules import having, imported


def test_a_module_that_has_nothing_to_do_with_gpus_is_not_the_gpus_fault() -> None:
    facts = having(imported("spacy", "3.8.7", error="ModuleNotFoundError: No module named 'click'"))
    (found,) = [verdict for verdict in run(import_fails, facts) if verdict.problem]
    assert not found.may_follow_from("cupy.nvrtc-missing")
    assert found.may_follow_from("python.half-removed")
    about = having(imported("spacy", "3.8.7", error="ModuleNotFoundError: No module named 'cupy'"))
    assert next(v for v in run(import_fails, about) if v.problem).may_follow_from("cupy.nvrtc-missing")


def test_the_same_files_again_have_the_same_symbols() -> None:
    error = "ImportError: tflite_registrar.so: undefined symbol: _ZN4absl12lts_2023080216raw_log_internal21internal"
    facts = having(imported("tensorflow-text", "2.19.0", error=error, dependent=True))
    said = commands(import_fails, facts)
    assert said.index("--upgrade tensorflow-text") < said.index("--force-reinstall --no-deps")
