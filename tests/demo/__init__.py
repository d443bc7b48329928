"""The recipes of the demos: `python -m tests.demo` writes gpudoctor/demo/*.json anew."""
