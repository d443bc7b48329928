"""Two plugins of JAX, and the libraries that both brought."""

from gpudoctor import catalogue
from gpudoctor.check_engine import judge
from gpudoctor.checks.jax.several_plugins import several_plugins
from gpudoctor.facts import Facts, FileOverlap, Package
from gpudoctor.maybe import Unknown
from gpudoctor.report.build import build
from tests.builders import change, framework, live, plain_host
from tests.checks.environments import commands, environment, one, package, severity


def jax(*majors: str, available: bool = True) -> Facts:
    names = [f"jax-{major}-{part}" for major in majors for part in ("plugin", "pjrt")]
    packages = tuple(package(name, "0.9.2") for name in names)
    one_live = live(available=available, stderr="ALREADY_EXISTS: PJRT_Api already exists for device type cuda\n")
    return environment(framework("jax", "0.9.2", cuda="13", live=one_live), packages=packages)


def test_two_plugins_of_jax() -> None:
    message = (
        "jax-cuda12-plugin 0.9.2 and jax-cuda13-plugin 0.9.2 are both installed; JAX registers one of them and refuses "
        "the other."
    )
    assert one(several_plugins, jax("cuda12", "cuda13")) == ("problem", message)
    assert severity(several_plugins, jax("cuda12", "cuda13")) == "warn"
    assert severity(several_plugins, jax("cuda12", "cuda13", available=False)) == "fail"
    said = commands(several_plugins, jax("cuda12", "cuda13"))
    assert "uninstall -y jax-cuda12-plugin jax-cuda12-pjrt jax-cuda13-plugin jax-cuda13-pjrt" in said
    assert "'jax[cuda12]==0.9.2'" in said  # the driver is of CUDA 12.8
    assert one(several_plugins, jax("cuda12")) == ("pass", "")
    assert one(several_plugins, change(plain_host(), "pythons", jax("cuda12", "cuda13").pythons)) == ("pass", "")
    blank = change(jax("cuda12"), "pythons.0.packages", Unknown("closed"))
    assert one(several_plugins, blank) == ("unknown", "closed")


BOTH_PLUGINS = ["jax.several-plugins", "libraries.overlapping-wheels"]


def with_libraries(*others: Package) -> Facts:
    both = FileOverlap(packages=("nvidia-cudnn-cu12", "nvidia-cudnn-cu13"), files=("nvidia/cudnn/lib/libcudnn.so.9",))
    asks = (("cuda12", "nvidia-cudnn-cu12<10.0,>=9.8"), ("cuda13", "nvidia-cudnn-cu13<10.0,>=9.12"))
    plugins = (package(f"jax-{m}-plugin", "0.9.2", requires=(f'{r}; extra == "with-cuda"',)) for m, r in asks)
    wheels = (package(name, "9.20.0.48") for name in both.packages)
    facts = change(jax("cuda12", "cuda13"), "pythons.0.packages", (*plugins, *wheels, *others))
    return change(facts, "pythons.0.overlaps", (both,))


def test_two_plugins_whose_libraries_overwrote_each_other() -> None:
    facts = with_libraries()
    names = "jax-cuda12-plugin jax-cuda13-plugin nvidia-cudnn-cu12 nvidia-cudnn-cu13"
    assert f"uninstall -y {names}\n" in f"{commands(several_plugins, facts)}\n"
    (finding,) = build(facts, judge(facts, catalogue.load(BOTH_PLUGINS))).findings
    assert finding.check == "jax.several-plugins"
    assert [c.check for c in finding.consequences] == ["libraries.overlapping-wheels"]


def test_libraries_that_another_package_requires_stay_and_are_a_problem_of_their_own() -> None:
    facts = with_libraries(package("torch", "2.9.0", requires=("nvidia-cudnn-cu13==9.20.0.48",)))
    assert "nvidia" not in commands(several_plugins, facts)
    report = build(facts, judge(facts, catalogue.load(BOTH_PLUGINS)))
    assert sorted(f.check for f in report.findings) == BOTH_PLUGINS


def test_two_plugins_explain_what_the_newer_one_cannot() -> None:
    facts = jax("cuda12", "cuda13")
    seen = change(facts, "pythons.0.frameworks.0.plugin", "jax-cuda13-plugin")
    report = build(seen, judge(seen, catalogue.load(["jax.several-plugins", "jax.driver-too-old"])))
    (finding,) = report.findings
    assert (finding.check, finding.status) == ("jax.several-plugins", "fail")
    assert [c.check for c in finding.consequences] == ["jax.driver-too-old"]
