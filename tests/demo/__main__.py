"""Writes the demos' facts files."""

from pathlib import Path

from gpudoctor import demo
from gpudoctor.privacy.masks import masked
from gpudoctor.report.sanitize import document
from tests.demo.bad_link import facts as bad_link
from tests.demo.cpu_wheel import facts as cpu_wheel
from tests.demo.mismatch import facts as mismatch
from tests.demo.settled import settled

RECIPES = {"mismatch": mismatch, "cpu-wheel": cpu_wheel, "bad-link": bad_link}

if __name__ == "__main__":
    for name, recipe in RECIPES.items():
        (Path(demo.__file__).parent / f"{name}.json").write_text(document(masked(settled(recipe()))), encoding="utf-8")
