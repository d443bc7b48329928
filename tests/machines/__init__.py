"""Whole machines, ill and healthy, each with the text that a person should read.

A machine is a function that returns facts, in the file of its family, marked with `@machine`. What `gpudoctor check`
prints of it stands in `texts/NAME.txt`; `test_texts.py` compares the two. Read a text as its user would before it is
committed: it is right where the first finding is the cause, its fix mends this machine, and nothing else alarms.

`GPUDOCTOR_TEXTS=write pytest tests/machines` writes the texts anew.

Machines of bundles that users sent are in `recorded/`, with their verdicts in `recorded.toml`: `scripts/add_case.py`.
"""
