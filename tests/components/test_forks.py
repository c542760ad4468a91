"""Processes and threads: a child that is forked while threads predict ends, with the labels of its parent.

A thread does not exist in a child: a lock that it held at the fork would stay held there for ever, and what it was
writing would stay half written.
"""

import concurrent.futures
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import spacy_hoseq

# Words that repeat, and words that are new to a process
TEXTS = [f"Die hond{i} slaap in die huis, en hy het {i % 7} bene geëet." for i in range(40)]
SECONDS = 120  # for children that take one, on a machine with other work

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")


@pytest.fixture(scope="module")
def nlp():
    return spacy_hoseq.load("af")


def labels_of(doc):
    return [(token.text, token.pos_, str(token.morph), token.lemma_) for token in doc]


@pytest.fixture(scope="module")
def expected(nlp):
    return [labels_of(doc) for doc in nlp.pipe(TEXTS)]


@pytest.fixture
def busy(nlp):
    """Two threads that predict until the test ends, and take turns a thousand times a second."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(0.001)
    stopping = threading.Event()

    def work(name):
        n_texts = 0
        while not stopping.is_set():
            nlp(f"Die kat {name}{n_texts} hardloop weer {n_texts % 9} keer.")
            n_texts += 1

    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    yield
    stopping.set()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(interval)


def exit_code(pid):
    """Of a child; it is killed when its time is over."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "still running"


@needs_fork
@pytest.mark.parametrize("n_forks", [10, pytest.param(50, marks=pytest.mark.long)])
def test_forks_beside_threads(nlp, expected, busy, n_forks):
    for i in range(n_forks):
        some = range(i % 8, len(TEXTS), 8)
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                code = 0 if all(labels_of(nlp(TEXTS[j])) == expected[j] for j in some) else 2
            finally:
                os._exit(code)
        assert exit_code(pid) == 0


SCRIPT = """
import multiprocessing, sys, threading
import spacy_hoseq

if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    nlp = spacy_hoseq.load("af")
    texts = [f"Dit is toets{i}, en hy slaap." for i in range(40)]
    labels = lambda docs: [[(t.pos_, str(t.morph), t.lemma_) for t in doc] for doc in docs]
    expected = labels(nlp.pipe(texts))
    work = lambda: [nlp(f"Die hond {i} slaap.") for i in range(10**9)]
    threading.Thread(target=work, daemon=True).start()
    for _ in range(int(sys.argv[2])):
        assert labels(nlp.pipe(texts, n_process=2, batch_size=5)) == expected
    print("equal")
"""


@pytest.mark.parametrize(
    "method, times",
    [
        pytest.param("fork", 1, marks=needs_fork),
        pytest.param("fork", 8, marks=[needs_fork, pytest.mark.long]),
        pytest.param("forkserver", 1, marks=[needs_fork, pytest.mark.long]),
        pytest.param("spawn", 1, marks=pytest.mark.long),
    ],
)
def test_pipe_in_processes_beside_a_thread(tmp_path, method, times):
    script = tmp_path / "script.py"  # a file: processes that are not forked import it
    script.write_text(SCRIPT)
    command = [sys.executable, "-W", "ignore", str(script), method, str(times)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert (done.returncode, done.stdout) == (0, "equal\n"), done.stderr


def in_threads(nlp, texts):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return list(pool.map(lambda text: labels_of(nlp(text)), texts))


def labels_by_loading(text):
    return labels_of(spacy_hoseq.load("af")(text))


def in_processes(nlp, texts):
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        return list(pool.map(labels_by_loading, texts, timeout=SECONDS))


def in_joblib_threads(nlp, texts):
    joblib = pytest.importorskip("joblib")
    jobs = [joblib.delayed(lambda text: labels_of(nlp(text)))(text) for text in texts]
    return joblib.Parallel(n_jobs=4, backend="threading")(jobs)


def in_joblib_processes(nlp, texts):
    joblib = pytest.importorskip("joblib")
    jobs = [joblib.delayed(labels_by_loading)(text) for text in texts]
    return joblib.Parallel(n_jobs=2, timeout=SECONDS)(jobs)


@pytest.mark.parametrize(
    "run, n_texts",
    [
        (in_threads, 40),
        (in_joblib_threads, 40),
        pytest.param(in_processes, 6, marks=pytest.mark.long),
        pytest.param(in_joblib_processes, 6, marks=pytest.mark.long),
    ],
)
def test_pools_beside_threads(nlp, expected, busy, run, n_texts):
    assert run(nlp, TEXTS[:n_texts]) == expected[:n_texts]
