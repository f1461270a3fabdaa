"""Importing costs nothing, and the public names are these."""

import subprocess
import sys

import rosenblatt as rb

PUBLIC = {
    "BoundaryDisplay",
    "ExperimentDisplay",
    "GuaranteeDisplay",
    "OptimumDisplay",
    "PocketDisplay",
    "TraceDisplay",
    "Experiment",
    "FewestMistakes",
    "Guarantee",
    "Model",
    "OnlinePerceptron",
    "Perceptron",
    "PocketPerceptron",
    "Proof",
    "Report",
    "ProofError",
    "Result",
    "Separability",
    "Separation",
    "SeparationDisplay",
    "SeparationProof",
    "Squeeze",
    "Trace",
    "__version__",
    "experiment",
    "fewest_mistakes",
    "guarantee",
    "learn",
    "load",
    "register_onnx_converters",
    "report",
    "save",
    "separability",
    "separation",
    "squeeze",
    "to_onnx",
    "widget",
}
HEAVY = {
    "numpy",
    "numba",
    "scipy",
    "sklearn",
    "pyarrow",
    "flint",
    "rich",
    "click",
    "pandas",
    "matplotlib",
    "onnx",
}


def test_public_names_are_pinned():
    assert set(rb.__all__) == PUBLIC
    assert len(rb.__all__) == len(PUBLIC)
    assert set(dir(rb)) >= PUBLIC


def test_every_public_name_resolves():
    missing = []
    for name in rb.__all__:
        try:
            getattr(rb, name)
        except (ImportError, AttributeError) as error:
            missing.append(f"{name}: {error}")
    assert missing == []


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(rb, "perceptron_of_the_future")


def test_no_package_imports_another_through_the_lazy_names():
    code = (
        "import sys, rosenblatt\n"
        "requested = []\n"
        "rosenblatt.__getattr__ = lambda name: requested.append(name) or (_ for _ in ()).throw("
        "AttributeError(name))\n"
        "import rosenblatt.cli.learn, rosenblatt.online, rosenblatt.show.report\n"
        "print(requested)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_importing_loads_no_heavy_package():
    code = "import sys, rosenblatt; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "rosenblatt" in loaded
    assert HEAVY.isdisjoint(loaded)
