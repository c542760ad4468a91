"""How linear sequence models learn. Objectives say what the gradient is, update rules what to do
with it; any objective goes with any rule. NumPy only. Gradients are of a loss to be made small: dX
= d loss / d X.

`perceptron`, `max_margin`, `log_likelihood` and `distillation` are objectives (`Objective`: potentials and gold
labels -> `Loss`); `AdaGrad`, `HeldAdaGrad` and `Additive` update rules (`UpdateRule`); a `Parameter` is an array
of weights that learns, averaged. `InequalityWeights` learn by constraints on the expectations of
features (local classifiers).
"""

from .adagrad import AdaGrad, Additive, HeldAdaGrad
from .gradients import CellGradient, Gradient
from .inequality import InequalityWeights
from .objectives import (
    OBJECTIVES,
    Loss,
    Objective,
    distillation,
    log_likelihood,
    max_margin,
    perceptron,
)
from .parameter import Parameter, UpdateRule

__all__ = [
    "AdaGrad",
    "Additive",
    "CellGradient",
    "Gradient",
    "HeldAdaGrad",
    "InequalityWeights",
    "Loss",
    "OBJECTIVES",
    "Objective",
    "Parameter",
    "UpdateRule",
    "distillation",
    "log_likelihood",
    "max_margin",
    "perceptron",
]
