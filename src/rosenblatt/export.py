"""Models as ONNX graphs, for programs that have neither Python nor us (extra `onnx`)."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import rosenblatt.checks as checks
from rosenblatt import __version__
from rosenblatt.errors import shortened
from rosenblatt.hypothesis import ZEROS, Hypothesis
from rosenblatt.kernels import HELD, SEEN
from rosenblatt.model import Model
from rosenblatt.online import OnlinePerceptron
from rosenblatt.pipelines import final, is_ours
from rosenblatt.read.columns import Category, Column, Number
from rosenblatt.read.encoding import Encoding
from rosenblatt.solve import Result

OPSETS = {"": 15, "ai.onnx.ml": 2}
IR_VERSION = 8  # the oldest that has these
DOUBLE, INT64 = 11, 7  # as ONNX numbers them
KINDS = ("float64", "float32")
MOST_COLUMNS = 2**20  # of a stream's features that are called by place
STEP, FURTHEST = 64, 15  # rows are scaled by powers of 2^64, up to the fifteenth
PATTERN = "Rosenblatt"  # how skl2onnx calls what is converted here

Floats = NDArray[np.float64]
Graph: TypeAlias = "OwnGraph | Converting"  # that is being written


def to_onnx(model: Any, *, dtype: str = "float64") -> Any:
    """Give a model as an ONNX graph, which onnxruntime and others run without Python.

    Its outputs are `label`, the answer to each row, and `scores`, as `decision_function` gives
    them. It computes in doubles whatever it is given, and answers what `predict` answers, ties
    too; but sums are rounded in another order, so a row whose score is nothing but rounding may
    be answered otherwise; so may one where a weight that is not 0 is 10^150 times as small as
    another. A NaN or an infinity is not refused, and its row's answer means nothing.

    The input is `X`, with a column for each feature, where all are numbers. A model with other
    columns has an input by the name of each: text for categories, just as they were learnt, with
    "" where one is missing; for words how often each comes, in the order of `feature_names_`,
    since a graph cannot take text apart as we do; true is 1. Where the model says that a mean
    stands in for a missing number, NaN is one.

    Parameters
    ----------
    model : fitted estimator, Pipeline that ends in one, Model, Result or OnlinePerceptron
        A pipeline is converted by skl2onnx, each step by its own converter.
    dtype : {"float64", "float32"}, default="float64"
        What the numbers are given as.

    Returns
    -------
    onnx.ModelProto
        `SerializeToString()` gives the bytes of its file; `metadata_props` has the names of the
        features under "features".

    Examples
    --------
    >>> import onnxruntime, numpy as np, rosenblatt as rb
    >>> clf = rb.Perceptron().fit([[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "no", "no", "yes"])
    >>> graph = rb.to_onnx(clf).SerializeToString()
    >>> runtime = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    >>> runtime.run(["label"], {"X": np.array([[1.0, 1.0], [0.0, 0.0]])})[0].tolist()
    ['yes', 'no']
    """
    checks.one_of("dtype", dtype, KINDS)
    _needed("onnx")
    model = getattr(model, "online", model)  # River's face
    if isinstance(model, OnlinePerceptron):
        return _of_stream(model, dtype)
    if isinstance(model, Result):
        model = model.model
    if not isinstance(model, Model):
        if is_ours(model) and final(model) is not model:
            return _of_pipeline(model, dtype)
        model = Model.of(model)
    own = OwnGraph(dtype)
    X = _prepared(own, model.encoding)
    return own.model(X, Exported.of(model.hypothesis, model.classes_), model.feature_names_)


def register_onnx_converters() -> None:
    """Let skl2onnx convert pipelines that have estimators of this package among their steps.

    The graph's outputs are `label` and `scores`. It answers as the pipeline does where it is
    given doubles; in float32, skl2onnx scales columns with less precision than scikit-learn.

    Examples
    --------
    >>> import numpy as np, rosenblatt as rb, skl2onnx
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = np.array([[1.0, 2.0], [3.0, 1.0], [5.0, 8.0]]), [0, 0, 1]
    >>> rb.register_onnx_converters()
    >>> graph = skl2onnx.to_onnx(make_pipeline(StandardScaler(), rb.Perceptron()).fit(X, y), X)
    >>> [output.name for output in graph.graph.output]
    ['label', 'scores']
    """
    from rosenblatt.estimators import FewestMistakes, Perceptron, PocketPerceptron

    skl2onnx = _needed("skl2onnx")
    for kind in (Perceptron, PocketPerceptron, FewestMistakes):
        alias = f"{PATTERN}{kind.__name__}"
        skl2onnx.update_registered_converter(kind, alias, _typed, _converted, parser=_parsed)


def _needed(name: str) -> Any:
    """A package of the extra."""
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(
            f"ONNX graphs need {package}; install it with: pip install 'rosenblatt[onnx]'"
        ) from error


@dataclass(frozen=True, eq=False)
class Exported:
    """What a graph has to know of a hypothesis: scores are X·w, or X·w - X·u / seen."""

    w: Floats  # tall, a row for each label, or one for two
    zero: int
    labels: NDArray[Any]
    u: Floats | None = None  # of an average that is not divided yet
    seen: int = 1
    is_scaled: bool = True  # so that nothing vanishes or overflows, as in `Hypothesis.sides`

    @classmethod
    def of(cls, hypothesis: Hypothesis, labels: NDArray[Any]) -> Exported:
        """That of a hypothesis, for any x0."""
        w = np.atleast_2d(hypothesis.w).copy()
        w[:, 0] *= hypothesis.x0
        return cls(w, hypothesis.zero, labels)

    def __post_init__(self) -> None:
        if not np.isfinite(self.w).all():
            raise ValueError("some weights are not finite; scale the features and fit again.")

    @property
    def distinct(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Labels of different weights, of equals the one that is answered, and whose each's are.

        Scores by equal weights are equal; computed in different columns they might not be.
        """
        w = self.w if self.u is None else np.hstack((self.w, self.u))
        group = np.unique(w, axis=0, return_inverse=True)[1].reshape(-1)
        order = np.arange(len(w))[:: 1 if self.zero > 0 else -1]
        answered = np.empty_like(order)
        answered[group[order]] = order  # the last one stays
        kept, places = np.unique(answered[group], return_inverse=True)
        return kept, places.reshape(-1)


def _answered(graph: Graph, X: str, exported: Exported) -> tuple[str, str]:
    """The names of labels and scores, from that of the rows, which are doubles."""
    kept, places = exported.distinct
    power = -math.frexp(np.abs(exported.w).max())[1] if exported.is_scaled else 0
    power = min(max(power, -1000), 1000)
    w = np.ldexp(exported.w[kept], power)
    used = w[:, 1:].any(axis=0)
    if exported.is_scaled and not used.all():  # what no weight holds down would overflow
        X = graph.node("Where", graph.constant(used), X, graph.constant(0.0))
    scale = _scale(graph, X, np.abs(w).max(axis=0)) if exported.is_scaled else None
    s = _sums(graph, X, w, scale)
    if exported.u is not None:
        rest = _sums(graph, X, exported.u[kept], None)
        s = graph.node("Sub", s, graph.node("Div", rest, graph.constant(float(exported.seen))))
    label = _named(graph, s, exported)
    if scale is not None:
        s = graph.node("Mul", s, graph.constant(math.ldexp(1.0, -power)))
        s = graph.node("Div", s, scale)
    if len(exported.w) == 1:
        return label, graph.node("Reshape", s, graph.constant([-1]))
    return label, graph.node("Gather", s, graph.constant(places), axis=1)


def _named(graph: Graph, s: str, exported: Exported) -> str:
    """The label of each row, by the scores of labels with different weights."""
    labels = _plain_labels(exported.labels)
    if len(exported.w) == 1:
        above = "GreaterOrEqual" if exported.zero > 0 else "Greater"
        yes = graph.node(above, graph.node("Reshape", s, graph.constant([-1])), graph.constant(0.0))
        place = graph.node("Cast", yes, to=INT64)
    else:
        labels, last = labels[exported.distinct[0]], int(exported.zero > 0)
        place = graph.node("ArgMax", s, axis=1, keepdims=0, select_last_index=last)
    return graph.node("Gather", graph.constant(labels), place)


def _sums(graph: Graph, X: str, w: Floats, scale: str | None) -> str:
    """w·x, times the scale where there is one."""
    constant = graph.constant(w[:, 0])
    if scale is not None:
        X, constant = graph.node("Mul", X, scale), graph.node("Mul", scale, constant)
    return graph.node("Add", graph.node("MatMul", X, graph.constant(w[:, 1:].T)), constant)


def _scale(graph: Graph, X: str, sizes: Floats) -> str:
    """A power of two for each row that brings Σ|w·x| near 1."""
    down = 2.0**-STEP  # the sum must not overflow
    size = graph.node("Mul", graph.node("Abs", X), graph.constant(down))
    size = graph.node("MatMul", size, graph.constant(sizes[1:, None]))
    size = graph.node("Add", size, graph.constant(sizes[0] * down))
    size = graph.node("Max", size, graph.constant(np.finfo(np.float64).tiny))
    steps = graph.node("Div", graph.node("Log", size), graph.constant(STEP * math.log(2)))
    steps = graph.node("Sub", graph.constant(FURTHEST - 0.5), steps)
    place = graph.node("Cast", graph.node("Floor", steps), to=INT64)
    place = graph.node("Clip", place, graph.constant(0), graph.constant(2 * FURTHEST))
    powers = np.ldexp(1.0, STEP * np.arange(-FURTHEST, FURTHEST + 1))
    return graph.node("Gather", graph.constant(powers), place)


def _plain_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels as a graph can hold them: text, booleans, whole numbers or doubles."""
    kind = labels.dtype.kind
    if kind == "U" or (kind == "O" and all(isinstance(label, str) for label in labels)):
        return labels.astype(object)
    if kind in "bif":
        return labels.astype({"b": np.bool_, "i": np.int64, "f": np.float64}[kind])
    if kind == "u" and labels.max() < 2**63:
        return labels.astype(np.int64)
    raise TypeError(
        f"labels like {shortened(repr(labels[0]))} have no place in an ONNX graph; name them by "
        "text or numbers."
    )


@dataclass
class OwnGraph:
    """A graph written without skl2onnx, from its inputs to a whole model."""

    dtype: str  # of the numbers it is given
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    inputs: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    count: int = 0

    def constant(self, values: Any) -> str:
        """The name of an array kept in the graph."""
        name = self._fresh("constant")
        self.constants.append(_needed("onnx.numpy_helper").from_array(np.array(values), name))
        return name

    def node(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """The name of what a new node gives."""
        helper, name = _needed("onnx.helper"), self._fresh(kind)
        self.nodes.append(helper.make_node(kind, inputs, [name], domain=domain, **attributes))
        return name

    def input(self, name: str, kind: Any, *width: int | str, said: str = "") -> str:
        """A new input, with something for each row."""
        self.inputs.append(_tensor(name, kind, ["rows", *width], said))
        return name

    def output(self, name: str, what: str, kind: Any, *width: int) -> None:
        """Give what a node gives under a name that no column has."""
        while name in [one.name for one in self.inputs]:
            name += "_"
        self.nodes.append(_needed("onnx.helper").make_node("Identity", [what], [name]))
        self.outputs.append(_tensor(name, kind, ["rows", *width]))

    def model(self, X: str, exported: Exported, features: Sequence[str]) -> Any:
        """The whole, ready to be run."""
        helper = _needed("onnx.helper")
        label, scores = _answered(self, X, exported)
        self.output("label", label, _plain_labels(exported.labels).dtype)
        self.output("scores", scores, np.float64, *[len(w) for w in [exported.w] if len(w) > 1])
        graph = helper.make_graph(
            self.nodes, "rosenblatt", self.inputs, self.outputs, self.constants
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid(*opset) for opset in OPSETS.items()],
            ir_version=IR_VERSION,
            producer_name="rosenblatt",
            producer_version=__version__,
        )
        helper.set_model_props(model, {"features": json.dumps(list(features))})
        return model

    def _fresh(self, name: str) -> str:
        self.count += 1
        return f"{name} {self.count} of rosenblatt"  # which is no column


def _tensor(name: str, kind: Any, shape: list[Any], said: str = "") -> Any:
    helper = _needed("onnx.helper")
    number = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    return helper.make_tensor_value_info(name, number, shape, said)


def _prepared(graph: OwnGraph, encoding: Encoding) -> str:
    """The numbers that weights multiply, from what a row is given as."""
    columns = encoding.columns
    if all(isinstance(column, Number) for column in columns):
        X = graph.node("Cast", graph.input("X", graph.dtype, len(columns)), to=DOUBLE)
    else:
        X = graph.node("Concat", *[_numbers(graph, column) for column in columns], axis=1)
    if encoding.missing != "mean":
        return X
    each = [[c.mean] if isinstance(c, Number) else [0.0] * len(c.features) for c in columns]
    means = graph.constant(np.concatenate(each))
    return graph.node("Where", graph.node("IsNaN", X), means, X)


def _numbers(graph: OwnGraph, column: Column) -> str:
    """The numbers of one column of many kinds."""
    if isinstance(column, Category):
        cells = graph.input(column.name, object, said="text without blanks around it")
        values = {"cats_strings": list(column.values), "zeros": 1}
        X = graph.node("OneHotEncoder", cells, domain="ai.onnx.ml", **values)
    elif isinstance(column, Number):
        cells = graph.input(column.name, graph.dtype)
        X = graph.node("Reshape", cells, graph.constant([-1, 1]))
    else:
        said = f"the number of each of its {column.kind}"
        X = graph.input(column.name, graph.dtype, len(column.features), said=said)
    return graph.node("Cast", X, to=DOUBLE)


def _of_stream(model: OnlinePerceptron, dtype: str) -> Any:
    """The graph of what predicts in a stream."""
    if len(model.labels) < 2:
        raise ValueError("this OnlinePerceptron has not met two labels yet; learn from both first.")
    state = model.state()
    names = state["features"]
    by_place = all(type(name) is int and 0 <= name < MOST_COLUMNS for name in names)
    own = OwnGraph(dtype)
    if by_place:  # a row may have more columns, as for us; they count nothing
        places, width = [name + 1 for name in names], max(names, default=0) + 1
        X = own.node("Cast", own.input("X", dtype, "columns"), to=DOUBLE)
        X = own.node("Slice", X, *(own.constant([v]) for v in (0, width, 1)))
        exported = _from_stream(model, state, [0, *places], width)
        return own.model(X, exported, [str(i) for i in range(width)])
    X = own.node("Cast", own.input("X", dtype, len(names)), to=DOUBLE)
    exported = _from_stream(model, state, [*range(len(names) + 1)], len(names))
    return own.model(X, exported, [str(name) for name in names])


def _from_stream(
    model: OnlinePerceptron, state: dict[str, Any], places: list[int], width: int
) -> Exported:
    """The weights that predict, each in its column; an average is divided where scores are."""
    asked, seen = model.predict_with, state["count"][SEEN]
    has_u = asked == "average" and seen > 0
    kept = "pocket" if asked == "pocket" and state["count"][HELD] else "w"

    def stacked(name: str) -> Floats:
        many = len(model.labels) > 2
        each = [f"{name} {k}" for k in range(len(model.labels))] if many else [name]
        w = np.zeros((len(each), width + 1))
        w[:, places] = [state["vectors"][one] for one in each]
        w[:, 0] *= model.intercept_scaling if model.fit_intercept else 0.0
        return w

    labels, zero = np.array(model.labels), ZEROS[model.zero]
    return Exported(stacked(kept), zero, labels, stacked("u") if has_u else None, seen or 1, False)


def _of_pipeline(pipeline: Any, dtype: str) -> Any:
    """What skl2onnx makes of a pipeline on numbers."""
    register_onnx_converters()
    types = _needed("skl2onnx.common.data_types")
    kind = types.DoubleTensorType if dtype == "float64" else types.FloatTensorType
    rows = [("X", kind([None, pipeline.n_features_in_]))]
    return _needed("skl2onnx").to_onnx(pipeline, initial_types=rows)


@dataclass(frozen=True)
class Converting:
    """The graph that skl2onnx is writing."""

    scope: Any
    container: Any

    def constant(self, values: Any) -> str:
        """The name of an array kept in the graph."""
        array, name = np.array(values), self.scope.get_unique_variable_name("constant")
        number = _needed("onnx.helper").np_dtype_to_tensor_dtype(array.dtype)
        self.container.add_initializer(name, number, array.shape, array.ravel().tolist())
        return str(name)

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """The name of what a new node gives."""
        name = self.scope.get_unique_variable_name(kind)
        attributes["name"] = self.scope.get_unique_operator_name(kind)
        self.container.add_node(kind, list(inputs), [name], **attributes)
        return str(name)


def _parsed(scope: Any, clf: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """Tell skl2onnx what comes out of an estimator."""
    types = _needed("skl2onnx.common.data_types")
    operator = scope.declare_local_operator(f"{PATTERN}{type(clf).__name__}", clf)
    operator.inputs = list(inputs)
    kinds = {
        "O": types.StringTensorType,
        "b": types.BooleanTensorType,
        "i": types.Int64TensorType,
        "f": types.DoubleTensorType,
    }
    label = kinds[_plain_labels(clf.classes_).dtype.kind]()
    for name, kind in (("label", label), ("scores", types.DoubleTensorType())):
        operator.outputs.append(scope.declare_local_variable(name, kind))
    return operator.outputs


def _typed(operator: Any) -> None:
    """Tell skl2onnx the shapes of what comes out."""
    rows, count = operator.inputs[0].get_first_dimension(), len(operator.raw_operator.classes_)
    label, scores = operator.outputs
    label.type.shape = [rows]
    scores.type.shape = [rows] if count == 2 else [rows, count]


def _converted(scope: Any, operator: Any, container: Any) -> None:
    """Write an estimator into the graph that skl2onnx is writing."""
    clf, graph = operator.raw_operator, Converting(scope, container)
    columns = [graph.node("Cast", one.full_name, to=DOUBLE) for one in operator.inputs]
    X = columns[0] if len(columns) == 1 else graph.node("Concat", *columns, axis=1)
    found = _answered(graph, X, Exported.of(clf._hypothesis(), clf.classes_))
    for what, output in zip(found, operator.outputs, strict=True):
        container.add_node("Identity", [what], [output.full_name])
