"""Names that a package no longer has: the release that does, and what goes with it."""

from tests.symptoms.test_mismatch import first, here, traced

PYTYPE = (
    "AttributeError: jax.interpreters.xla.pytype_aval_mappings was deprecated in JAX v0.5.0 and removed in JAX v0.7.0. "
    "jax.core.pytype_aval_mappings can be used as a replacement in most cases."
)


def test_jax_itself_names_the_release_that_removed_something() -> None:
    facts = here(
        ("tensorflow-probability", "0.25.0", ()),
        ("jax", "0.7.2", ()),
        ("jax-cuda12-plugin", "0.7.2", ()),
    )
    text = traced(PYTYPE, "tensorflow_probability/python/internal/backend/jax/ops.py", "jax/_src/deprecations.py")
    found = first(text, facts)
    assert found.meaning == (
        "the packages tensorflow-probability 0.25.0 and jax 0.7.2 do not fit: jax lacks pytype_aval_mappings, which "
        "tensorflow-probability uses; the GPU is not involved"
    )
    assert found.fixes[0].commands == ("/opt/env/bin/python -m pip install 'jax[cuda12]<0.7.0'",)
    assert "tensorflow-probability>0.25.0" in found.fixes[1].commands[0]

    program = first(traced(PYTYPE, "<string>", "jax/_src/deprecations.py"), facts)
    assert "it was removed in 0.7.0" in program.meaning
    assert program.fixes[0].commands == ("/opt/env/bin/python -m pip install 'jax[cuda12]<0.7.0'",)


def test_a_lazy_module_passes_on_what_the_program_asks_for() -> None:
    facts = here(("tensorflow", "2.19.1", ()), ("tf-keras", "2.19.0", ()))
    frames = "".join(
        f'  File "{file}", line 7, in {name}\n    work()\n'
        for file, name in (
            ("<string>", "<module>"),
            ("/env/lib/python3.11/site-packages/tensorflow/python/util/lazy_loader.py", "__getattr__"),
        )
    )
    text = "AttributeError: module 'tf_keras.api._v2.keras' has no attribute '__version__'"
    found = first(f"Traceback (most recent call last):\n{frames}{text}\n", facts)
    assert found.meaning == (
        "the program uses the name __version__, which tf-keras 2.19.0 does not have; the GPU is not involved"
    )
    assert [fix.commands for fix in found.fixes] == [()]


def test_a_name_that_no_release_has_which_the_others_take() -> None:
    text = traced("AttributeError: module 'PIL.Image' has no attribute 'ANTIALIAS'", "easyocr/utils.py")
    own, pillow = ("easyocr", "1.7.0", ("pillow",)), ("pillow", "11.3.0", ())
    alone, bound = here(own, pillow), here(own, pillow, ("scikit-image", "0.25.2", ("pillow>=10.1",)))
    upgrade = "/opt/env/bin/python -m pip install --upgrade easyocr"
    assert [fix.commands for fix in first(text, alone).fixes] == [
        ("/opt/env/bin/python -m pip install 'pillow<10'",),
        (upgrade,),
    ]
    assert [fix.commands for fix in first(text, bound).fixes] == [(f"{upgrade} 'pillow>=10.1'",)]


def test_an_older_release_takes_along_what_it_used() -> None:
    text = traced("ImportError: cannot import name 'PositionNet' from 'diffusers.models.embeddings'", "<string>")
    diffusers, hub = ("diffusers", "0.36.0", ("huggingface-hub>=0.34",)), ("huggingface-hub", "0.36.2", ())
    older = "/opt/env/bin/python -m pip install 'diffusers<0.26' 'huggingface-hub<0.26'"
    assert first(text, here(diffusers, hub)).fixes[0].commands == (older,)
    held = here(diffusers, hub, ("transformers", "4.57.6", ("huggingface-hub<1.0,>=0.34",)))
    change, apart = first(text, held).fixes
    assert change.message.startswith("Change the program")
    assert "in an environment of its own: transformers here cannot use that" in apart.message
