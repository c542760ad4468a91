"""`--noise`: what is rounded differently, and what is not."""

import ast

import numpy as np

from . import noise


def test_products_are_off_by_one_unit_in_the_last_place():
    a, b = np.random.default_rng(0).normal(size=(2, 40, 40)).astype(np.float32)
    exact = a @ b
    moved = noise.matmul(a, b)
    assert moved.dtype == np.float32 and (moved != exact).mean() > 0.5
    assert (np.abs(moved - exact) <= np.spacing(np.abs(exact)) * 1.01).all()


def test_numbers_that_are_exact_everywhere_stay():
    halves = np.arange(9.0).reshape(3, 3) / 2
    assert (noise.matmul(np.eye(3), halves) == halves).all()
    assert (noise.matmul(np.arange(6).reshape(2, 3), np.arange(3)) == [5, 14]).all()
    assert noise.FUNCTIONS["exp"](np.array([0.0, -np.inf])).tolist() == [1, 0]


def test_source_is_rewritten():
    tree = noise._Rewriter().visit(ast.parse("np.exp(a @ b, out=c)"))
    assert ast.unparse(tree) == "_noisy.FUNCTIONS['exp'](_noisy.matmul(a, b), out=c)"


def test_same_product_is_the_same_each_time_and_depends_on_the_shape():
    a, b = np.random.default_rng(0).normal(size=(2, 40, 40))
    assert (noise.matmul(a, b) == noise.matmul(a, b)).all()
    assert (noise.matmul(a[:1], b) != noise.matmul(a, b)[:1]).any()
