"""Learn to answer yes or no with perceptrons, and know what the answer is worth.

Importing this costs nothing: each name is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Public name -> the module that defines it.
_HOMES = {
    "BoundaryDisplay": "rosenblatt.show.plot",
    "ExperimentDisplay": "rosenblatt.show.plot",
    "GuaranteeDisplay": "rosenblatt.show.plot",
    "OptimumDisplay": "rosenblatt.show.plot",
    "PocketDisplay": "rosenblatt.show.plot",
    "TraceDisplay": "rosenblatt.show.plot",
    "Perceptron": "rosenblatt.estimators",
    "PocketPerceptron": "rosenblatt.estimators",
    "FewestMistakes": "rosenblatt.estimators",
    "fewest_mistakes": "rosenblatt.estimators",
    "experiment": "rosenblatt.experiments",
    "Experiment": "rosenblatt.experiments",
    "guarantee": "rosenblatt.evidence.guarantee",
    "Guarantee": "rosenblatt.evidence.guarantee",
    "squeeze": "rosenblatt.evidence.guarantee",
    "Squeeze": "rosenblatt.evidence.guarantee",
    "OnlinePerceptron": "rosenblatt.online",
    "Model": "rosenblatt.model",
    "separability": "rosenblatt.evidence.separability",
    "Separability": "rosenblatt.evidence.verdicts",
    "separation": "rosenblatt.evidence.separation",
    "Separation": "rosenblatt.evidence.separation",
    "SeparationProof": "rosenblatt.evidence.separationproof",
    "Proof": "rosenblatt.evidence.proof",
    "ProofError": "rosenblatt.evidence.parts",
    "Trace": "rosenblatt.trace",
    "learn": "rosenblatt.given",
    "Result": "rosenblatt.solve",
    "load": "rosenblatt.model",
    "report": "rosenblatt.show.report",
    "Report": "rosenblatt.show.report",
    "save": "rosenblatt.model",
    "to_onnx": "rosenblatt.export",
    "register_onnx_converters": "rosenblatt.export",
    "widget": "rosenblatt.show.notebook",
}

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
    from rosenblatt.show.plot import BoundaryDisplay as BoundaryDisplay
    from rosenblatt.show.plot import ExperimentDisplay as ExperimentDisplay
    from rosenblatt.show.plot import GuaranteeDisplay as GuaranteeDisplay
    from rosenblatt.show.plot import OptimumDisplay as OptimumDisplay
    from rosenblatt.show.plot import PocketDisplay as PocketDisplay
    from rosenblatt.show.plot import TraceDisplay as TraceDisplay
    from rosenblatt.show.report import Report as Report
    from rosenblatt.show.report import report as report
    from rosenblatt.solve import Result as Result
    from rosenblatt.trace import Trace as Trace


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rosenblatt' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
