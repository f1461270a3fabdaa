"""Perceptrons with proofs: train linear classifiers and decide linear separability exactly.

Each public name is imported when it is first used, so that importing the package is cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Module -> the public names that it defines.
_PUBLIC_NAMES = {
    "estimators": "fewest_mistakes FewestMistakes Perceptron PocketPerceptron",
    "evidence.certificate": "ProofError",
    "evidence.proof": "Proof",
    "evidence.separability": "separability",
    "evidence.separation": "separation Separation",
    "evidence.separationproof": "SeparationProof",
    "evidence.verdicts": "guarantee Guarantee Separability squeeze Squeeze",
    "experiments": "experiment Experiment",
    "export": "register_onnx_converters to_onnx",
    "model": "load Model save",
    "online": "OnlinePerceptron",
    "show.browser": "widget",
    "show.curves": (
        "ExperimentDisplay GuaranteeDisplay OptimumDisplay PocketDisplay SeparationDisplay"
    ),
    "show.pictures": "BoundaryDisplay TraceDisplay",
    "show.report": "report Report",
    "solve": "learn Result",
    "trace": "Trace",
}
_MODULES = {
    name: f"rosenblatt.{module}"
    for module, names in _PUBLIC_NAMES.items()
    for name in names.split()
}

__all__ = ["__version__", *_MODULES]

if TYPE_CHECKING:
    from rosenblatt.estimators import FewestMistakes as FewestMistakes
    from rosenblatt.estimators import Perceptron as Perceptron
    from rosenblatt.estimators import PocketPerceptron as PocketPerceptron
    from rosenblatt.estimators import fewest_mistakes as fewest_mistakes
    from rosenblatt.evidence.certificate import ProofError as ProofError
    from rosenblatt.evidence.proof import Proof as Proof
    from rosenblatt.evidence.separability import separability as separability
    from rosenblatt.evidence.separation import Separation as Separation
    from rosenblatt.evidence.separation import separation as separation
    from rosenblatt.evidence.separationproof import SeparationProof as SeparationProof
    from rosenblatt.evidence.verdicts import Guarantee as Guarantee
    from rosenblatt.evidence.verdicts import Separability as Separability
    from rosenblatt.evidence.verdicts import Squeeze as Squeeze
    from rosenblatt.evidence.verdicts import guarantee as guarantee
    from rosenblatt.evidence.verdicts import squeeze as squeeze
    from rosenblatt.experiments import Experiment as Experiment
    from rosenblatt.experiments import experiment as experiment
    from rosenblatt.export import register_onnx_converters as register_onnx_converters
    from rosenblatt.export import to_onnx as to_onnx
    from rosenblatt.model import Model as Model
    from rosenblatt.model import load as load
    from rosenblatt.model import save as save
    from rosenblatt.online import OnlinePerceptron as OnlinePerceptron
    from rosenblatt.show.browser import widget as widget
    from rosenblatt.show.curves import ExperimentDisplay as ExperimentDisplay
    from rosenblatt.show.curves import GuaranteeDisplay as GuaranteeDisplay
    from rosenblatt.show.curves import OptimumDisplay as OptimumDisplay
    from rosenblatt.show.curves import PocketDisplay as PocketDisplay
    from rosenblatt.show.curves import SeparationDisplay as SeparationDisplay
    from rosenblatt.show.pictures import BoundaryDisplay as BoundaryDisplay
    from rosenblatt.show.pictures import TraceDisplay as TraceDisplay
    from rosenblatt.show.report import Report as Report
    from rosenblatt.show.report import report as report
    from rosenblatt.solve import Result as Result
    from rosenblatt.solve import learn as learn
    from rosenblatt.trace import Trace as Trace


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'rosenblatt' has no attribute {name!r}")
    from rosenblatt.clock import delay_interrupts

    with delay_interrupts():  # NumPy and Numba cannot be imported again after an interrupted import
        value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
