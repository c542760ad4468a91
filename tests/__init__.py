"""Each process of the tests keeps one core busy: more threads of linear algebra would only wait for each other."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is loaded
