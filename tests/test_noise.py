"""`--noise`: what is rounded differently, and what is not."""

import numpy as np

from . import noise


def test_products_are_off_by_one_unit_in_the_last_place():
    a, b = np.random.default_rng(0).normal(size=(2, 40, 40)).astype(np.float32)
    exact = a @ b
    moved = noise.matmul(a, b)
    assert moved.dtype == np.float32 and (moved != exact).mean() > 0.5
    assert (np.abs(moved - exact) <= np.spacing(np.abs(exact)) * 1.01).all()


def test_same_product_is_the_same_each_time_and_depends_on_the_shape():
    a, b = np.random.default_rng(0).normal(size=(2, 40, 40))
    assert (noise.matmul(a, b) == noise.matmul(a, b)).all()
    assert (noise.matmul(a[:1], b) != noise.matmul(a, b)[:1]).any()
