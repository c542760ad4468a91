"""Another processor, on this one: what matrix products and exponentials return is off by one unit in the last place.

`python -m pytest --noise`. Kernels of linear algebra add in an order of their own, which depends on the shapes, so a
test that passes here because two numbers are equal to the last bit may fail elsewhere; with noise it fails everywhere.
As on a real processor, the same product of the same numbers is the same each time. The modules of the package are
changed as they are imported: `a @ b`, `np.matmul`, `np.exp` and the like become calls of `noisy`. Processes that a test
starts have no noise.
"""

import ast
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import CodeType, ModuleType
from typing import Any

import numpy as np

PACKAGE = "spacy_hoseq"
PRODUCTS = {"matmul", "dot", "einsum", "tensordot", "vdot", "inner"}
TRANSCENDENTAL = {"exp", "log", "log1p", "expm1", "logaddexp"}
NAME = "_noisy"
MIXED = np.uint64(0x9E3779B97F4A7C15)


def noisy(function: Callable[..., Any], *, by_shape: bool) -> Callable[..., Any]:
    """The function, with each float that it returns one unit in the last place up, down, or as it is: that depends on
    the number, and by_shape: on the shapes of the arguments."""

    def with_noise(*arguments: Any, **settings: Any) -> Any:
        result = function(*arguments, **settings)
        salt = sum(hash(np.shape(each)) for each in arguments) if by_shape else 0
        if isinstance(result, np.ndarray) and result.dtype.kind == "f":
            result[...] = _moved(result, salt)
            return result
        return _moved(result, salt)[()] if isinstance(result, np.floating) else result

    return with_noise


def _moved(values: Any, salt: int) -> Any:
    """Numbers that every processor computes exactly stay: with few digits after the binary point, and infinity."""
    values = np.asarray(values)
    with np.errstate(invalid="ignore", over="ignore"):
        exact = ~np.isfinite(values) | (np.rint(256 * values) == 256 * values)
        bits = values.astype(np.float64).view(np.uint64) ^ np.uint64(salt % 2**64)
        step = ((bits * MIXED) >> np.uint64(40)).astype(np.int64) % 3 - 1
        aims = np.where(step > 0, np.inf, -np.inf).astype(values.dtype)
        return np.where(exact | (step == 0), values, np.nextafter(values, aims))


matmul = noisy(np.matmul, by_shape=True)
FUNCTIONS = {
    name: noisy(getattr(np, name), by_shape=name in PRODUCTS) for name in PRODUCTS | TRANSCENDENTAL
}


class _Rewriter(ast.NodeTransformer):
    """`a @ b` to `_noisy.matmul(a, b)`, `np.exp` to `_noisy.FUNCTIONS["exp"]`."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.MatMult):
            return node
        function = ast.Attribute(ast.Name(NAME, ast.Load()), "matmul", ast.Load())
        return ast.copy_location(ast.Call(function, [node.left, node.right], []), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if not (
            isinstance(node.value, ast.Name) and node.value.id == "np" and node.attr in FUNCTIONS
        ):
            return node
        table = ast.Attribute(ast.Name(NAME, ast.Load()), "FUNCTIONS", ast.Load())
        return ast.copy_location(ast.Subscript(table, ast.Constant(node.attr), ast.Load()), node)


class _Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(
            self.get_data(path), path
        )  # what is compiled already has no noise

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:
        tree = ast.fix_missing_locations(_Rewriter().visit(ast.parse(data, path)))
        return compile(tree, path, "exec", dont_inherit=True, optimize=_optimize)

    def exec_module(self, module: ModuleType) -> None:
        setattr(module, NAME, sys.modules[__name__])
        super().exec_module(module)


class _Finder:
    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        if name.split(".")[0] != PACKAGE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def install() -> None:
    """For modules that are not imported yet."""
    if any(name.split(".")[0] == PACKAGE for name in sys.modules):
        raise RuntimeError("the package is imported already: it would have no noise")
    sys.meta_path.insert(0, _Finder())  # type: ignore[arg-type]
