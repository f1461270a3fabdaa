"""Learn to answer yes or no with perceptrons, and know what the answer is worth.

Importing this costs nothing: each name is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Room -> the public names that it defines.
_ROOMS = {
    "estimators": "fewest_mistakes FewestMistakes Perceptron PocketPerceptron",
    "evidence.guarantee": "guarantee Guarantee squeeze Squeeze",
    "evidence.parts": "ProofError",
    "evidence.proof": "Proof",
    "evidence.separability": "separability",
    "evidence.separation": "separation Separation",
    "evidence.separationproof": "SeparationProof",
    "evidence.verdicts": "Separability",
    "experiments": "experiment Experiment",
    "export": "register_onnx_converters to_onnx",
    "given": "learn",
    "model": "load Model save",
    "online": "OnlinePerceptron",
    "show.notebook": "widget",
    "show.plot.curves": "ExperimentDisplay GuaranteeDisplay OptimumDisplay PocketDisplay",
    "show.plot.pictures": "BoundaryDisplay TraceDisplay",
    "show.report": "report Report",
    "solve": "Result",
    "trace": "Trace",
}
_HOMES = {name: f"rosenblatt.{room}" for room, names in _ROOMS.items() for name in names.split()}

__all__ = ["__version__", *_HOMES]

if TYPE_CHECKING:
    from rosenblatt.estimators import FewestMistakes as FewestMistakes
    from rosenblatt.estimators import Perceptron as Perceptron
    from rosenblatt.estimators import PocketPerceptron as PocketPerceptron
    from rosenblatt.estimators import fewest_mistakes as fewest_mistakes
    from rosenblatt.evidence.guarantee import Guarantee as Guarantee
    from rosenblatt.evidence.guarantee import Squeeze as Squeeze
    from rosenblatt.evidence.guarantee import guarantee as guarantee
    from rosenblatt.evidence.guarantee import squeeze as squeeze
    from rosenblatt.evidence.parts import ProofError as ProofError
    from rosenblatt.evidence.proof import Proof as Proof
    from rosenblatt.evidence.separability import separability as separability
    from rosenblatt.evidence.separation import Separation as Separation
    from rosenblatt.evidence.separation import separation as separation
    from rosenblatt.evidence.separationproof import SeparationProof as SeparationProof
    from rosenblatt.evidence.verdicts import Separability as Separability
    from rosenblatt.experiments import Experiment as Experiment
    from rosenblatt.experiments import experiment as experiment
    from rosenblatt.export import register_onnx_converters as register_onnx_converters
    from rosenblatt.export import to_onnx as to_onnx
    from rosenblatt.given import learn as learn
    from rosenblatt.model import Model as Model
    from rosenblatt.model import load as load
    from rosenblatt.model import save as save
    from rosenblatt.online import OnlinePerceptron as OnlinePerceptron
    from rosenblatt.show.notebook import widget as widget
    from rosenblatt.show.plot.curves import ExperimentDisplay as ExperimentDisplay
    from rosenblatt.show.plot.curves import GuaranteeDisplay as GuaranteeDisplay
    from rosenblatt.show.plot.curves import OptimumDisplay as OptimumDisplay
    from rosenblatt.show.plot.curves import PocketDisplay as PocketDisplay
    from rosenblatt.show.plot.pictures import BoundaryDisplay as BoundaryDisplay
    from rosenblatt.show.plot.pictures import TraceDisplay as TraceDisplay
    from rosenblatt.show.report import Report as Report
    from rosenblatt.show.report import report as report
    from rosenblatt.solve import Result as Result
    from rosenblatt.trace import Trace as Trace


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rosenblatt' has no attribute {name!r}")
    from rosenblatt.interrupts import held

    with held():  # NumPy and Numba cannot be imported again after half an import
        value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
