"""Writes the demos' facts files."""

from pathlib import Path

from gpudoctor import demo
from gpudoctor.report.clean import document
from tests.demo import bad_link, cpu_wheel, mismatch

RECIPES = {"mismatch": mismatch.facts, "cpu-wheel": cpu_wheel.facts, "bad-link": bad_link.facts}

if __name__ == "__main__":
    for name, recipe in RECIPES.items():
        (Path(demo.__file__).parent / f"{name}.json").write_text(document(recipe()), encoding="utf-8")
