"""Conversion of models to ONNX graphs, which run without Python (extra `onnx`)."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import numpy as np

import rosenblatt.checks as checks
from rosenblatt.hypothesis import ZEROS, Hypothesis
from rosenblatt.model import Model
from rosenblatt.online import OnlinePerceptron
from rosenblatt.pipelines import FoldingError
from rosenblatt.read.columns import Category, Number
from rosenblatt.solve import Result
from rosenblatt.text import shorten

OPSETS, IR_VERSION = {"": 15, "ai.onnx.ml": 2}, 8  # the oldest IR version that has these
DOUBLE, INT64 = 11, 7  # codes of these types in ONNX
SMALLEST, LARGEST = 1e-150, 1e150  # limits of the largest weight: no product overflows
MOST_COLUMNS = 2**20  # maximum number of columns for features named by position


def to_onnx(model: Any, *, dtype: str = "float64") -> Any:
    """Convert a model to an ONNX graph, which onnxruntime runs without Python.

    The outputs are `label` and `scores`, as `predict` and `decision_function` give them in float64,
    but products are added in another order: a row whose score is 0 up to rounding errors may get
    the other label. The input is `X`, or one input per column, by name, if some are not numbers.

    Parameters
    ----------
    model : fitted estimator, Pipeline that ends in one, Model, Result or OnlinePerceptron
        Steps of a pipeline that a model file can hold become columns and weights. A pipeline with
        other steps is converted by skl2onnx, each step by its own converter.
    dtype : {"float64", "float32"}, default="float64"
        Type of the numbers that the graph is given.

    Examples
    --------
    >>> import onnxruntime, numpy as np, rosenblatt as rb
    >>> clf = rb.Perceptron().fit([[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "no", "no", "yes"])
    >>> runtime = onnxruntime.InferenceSession(rb.to_onnx(clf).SerializeToString())
    >>> runtime.run(["label"], {"X": np.array([[1.0, 1.0], [0.0, 0.0]])})[0].tolist()
    ['yes', 'no']
    """
    checks.one_of("dtype", dtype, ("float64", "float32"))
    graph = Graph("rosenblatt", dtype)
    model = getattr(model, "online", model)  # River's interface
    if isinstance(model, OnlinePerceptron):
        if len(model.labels) < 2:
            raise ValueError(
                "this OnlinePerceptron has seen fewer than two labels; train it on two first."
            )
        names: list[Any] = model.state()["features"]
        if all(type(name) is int and 0 <= name < MOST_COLUMNS for name in names):
            names = [*range(max(names, default=0) + 1)]
        each = [(model.weights, model.intercept)]
        if len(model.labels) > 2:
            each = [(model.weights[label], model.intercept[label]) for label in model.labels]
        w = np.array([[w0, *(weights.get(name, 0.0) for name in names)] for weights, w0 in each])
        h = Hypothesis.of(w if len(w) > 1 else w[0], 1.0, ZEROS[model.zero])
        return graph.finish(graph.input("X", dtype, len(names)), h, np.array(model.labels), names)
    model = model.model if isinstance(model, Result) else model
    try:
        model = Model.of(model)
    except FoldingError as error:
        by_name = hasattr(model[0], "transformers_") and hasattr(model, "feature_names_in_")
        if by_name or not hasattr(model, "n_features_in_"):  # fitted on text
            raise ValueError(
                f"{error.reason}. An ONNX graph of the pipeline needs its column types: call "
                "rosenblatt.register_onnx_converters and then skl2onnx.to_onnx with initial_types."
            ) from None
        register_onnx_converters()
        return _load("skl2onnx").to_onnx(model, np.zeros((1, model.n_features_in_), dtype))
    X = graph.encode(model)
    return graph.finish(X, model.hypothesis, model.classes_, model.feature_names_)


def register_onnx_converters() -> None:
    """Let skl2onnx convert pipelines that contain estimators of rosenblatt."""
    from rosenblatt.estimators import FewestMistakes, Perceptron, PocketPerceptron

    skl2onnx, types = _load("skl2onnx"), _load("skl2onnx.common.data_types")
    kinds = {"O": types.StringTensorType, "b": types.BooleanTensorType, "i": types.Int64TensorType}

    def declare(scope: Any, clf: Any, inputs: Any, custom_parsers: Any = None) -> Any:
        operator = scope.declare_local_operator(f"Rosenblatt{type(clf).__name__}", clf)
        operator.inputs = list(inputs)
        label = kinds.get(np.dtype(_type(clf.classes_)).kind, types.DoubleTensorType)([None])
        scores = types.DoubleTensorType([None, *clf._hypothesis().w.shape[:-1]])
        outputs = (("label", label), ("scores", scores))
        operator.outputs += [scope.declare_local_variable(*one) for one in outputs]
        return operator.outputs

    def convert(scope: Any, operator: Any, container: Any) -> None:
        clf, graph = operator.raw_operator, Graph(scope.get_unique_variable_name("rosenblatt"))
        columns = [graph.node("Cast", one.full_name, to=DOUBLE) for one in operator.inputs]
        X = graph.node("Concat", *columns, axis=1)
        graph.classify(X, clf._hypothesis(), clf.classes_, *(o.full_name for o in operator.outputs))
        for node in graph.nodes:
            given = {a.name: graph.helper.get_attribute_value(a) for a in node.attribute}
            container.add_node(node.op_type, list(node.input), list(node.output), **given)

    for kind in (Perceptron, PocketPerceptron, FewestMistakes):
        alias, shapes = f"Rosenblatt{kind.__name__}", lambda operator: None  # set by declare
        skl2onnx.update_registered_converter(kind, alias, shapes, convert, parser=declare)


class Graph:
    """ONNX graph under construction; methods that add nodes return the name of their output."""

    def __init__(self, prefix: str, dtype: str = "float64") -> None:
        self.prefix, self.dtype = prefix, dtype  # of all names; of numbers in the input
        self.helper, self.arrays = _load("onnx").helper, _load("onnx").numpy_helper
        self.nodes, self.inputs = list[Any](), list[Any]()

    def node(self, kind: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        name = name or f"{self.prefix}_{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(kind, inputs, [name], **attributes))
        return name

    def constant(self, values: Any) -> str:
        return self.node("Constant", value=self.arrays.from_array(np.array(values)))

    def input(self, name: str, kind: Any, *width: Any) -> str:
        self.inputs.append(self.describe(name, kind, *width))
        return name if kind is object else self.node("Cast", name, to=DOUBLE)

    def describe(self, name: str, kind: Any, *width: Any) -> Any:
        number = self.helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        return self.helper.make_tensor_value_info(name, number, ["rows", *width])

    def encode(self, model: Model) -> str:
        columns, parts = model.encoding.columns, list[str]()
        if all(isinstance(column, Number) for column in columns):
            X = self.input("X", self.dtype, len(columns))
        else:
            for column in columns:
                if isinstance(column, Category):
                    more = dict[str, Any](cats_strings=column.values, zeros=1, domain="ai.onnx.ml")
                    X = self.node("OneHotEncoder", self.input(column.name, object), **more)
                    parts.append(self.node("Cast", X, to=DOUBLE))
                elif isinstance(column, Number):
                    X = self.input(column.name, self.dtype)
                    parts.append(self.node("Reshape", X, self.constant([-1, 1])))
                else:  # counts of words
                    parts.append(self.input(column.name, self.dtype, len(column.features)))
            X = self.node("Concat", *parts, axis=1)
        if model.encoding.missing not in ("mean", "zero"):  # numbers of a stream have the mean 0
            return X
        means = [[c.mean] if isinstance(c, Number) else [0.0] * len(c.features) for c in columns]
        return self.node("Where", self.node("IsNaN", X), self.constant(np.concatenate(means)), X)

    def classify(self, X: str, line: Hypothesis, labels: Any, label: str, scores: str) -> None:
        """Add nodes that compute the label and the scores of each row of X."""
        top = np.abs(line.w).max() or 1.0
        if not SMALLEST < top < LARGEST:
            raise ValueError(f"a weight of {top:.3g} is out of range for ONNX; scale the features.")
        products = self.node("MatMul", X, self.constant(line.w[..., 1:].T))
        self.node("Add", products, self.constant(line.w[..., 0] * line.x0), name=scores)
        later = int(line.zero > 0)  # whether the later label wins a tie
        if line.w.ndim == 1:
            above = ("Greater", "GreaterOrEqual")[later]
            place = self.node("Cast", self.node(above, scores, self.constant(0.0)), to=INT64)
        else:
            place = self.node("ArgMax", scores, axis=1, keepdims=0, select_last_index=later)
        self.node("Gather", self.constant(labels.astype(_type(labels))), place, name=label)

    def finish(self, X: str, line: Hypothesis, labels: Any, features: Any) -> Any:
        """Add the outputs, and return the complete ONNX model."""
        taken = {one.name for one in self.inputs}  # the names of outputs must differ
        label, scores = (name + "_" * (name in taken) for name in ("label", "scores"))
        self.classify(X, line, labels, label, scores)
        found = self.describe(label, _type(labels)), self.describe(scores, "f8", *line.w.shape[:-1])
        graph = self.helper.make_graph(self.nodes, "rosenblatt", self.inputs, found)
        opsets = [self.helper.make_opsetid(*opset) for opset in OPSETS.items()]
        model = self.helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
        self.helper.set_model_props(model, {"features": json.dumps([*map(str, features)])})
        return model


def _type(labels: Any) -> Any:
    """Return the NumPy type of labels in a graph, object for text."""
    kind = np.array(labels.tolist()).dtype
    if kind.kind not in "Ubif":
        raise TypeError(
            f"an ONNX graph cannot hold labels like {shorten(repr(labels[0]))}; train with labels "
            "that are text or numbers."
        )
    return object if kind.kind == "U" else kind


def _load(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f"ONNX graphs need {name}: pip install 'rosenblatt[onnx]'") from error
