"""Celery with `azurestoragequeues` as its broker: a worker executes tasks that this process sends."""

import os
import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "celery_app"
DEADLINE_S = 60


@pytest.fixture
def celery(endpoint, new_name, tmp_path, monkeypatch):
    """The module of tasks, and a worker that executes them."""
    (tmp_path / "results").mkdir()
    monkeypatch.setenv("CELERY_BROKER", f"azurestoragequeues://{endpoint.key}@{endpoint.base}")
    monkeypatch.setenv("CELERY_RESULTS", f"file://{tmp_path}/results")
    monkeypatch.setenv("CELERY_PREFIX", new_name("celery") + "-")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.syspath_prepend(str(FOLDER))
    sys.modules.pop("tasks", None)
    import tasks
    log = (tmp_path / "worker.log").open("w")
    worker = subprocess.Popen([sys.executable, "-m", "celery", "-A", "tasks", "worker", "--pool", "solo", "--without-gossip",
                               "--without-mingle", "--without-heartbeat", "--loglevel", "info"],
                              cwd=FOLDER, env=dict(os.environ), stdout=log, stderr=subprocess.STDOUT)
    try:
        yield tasks
    finally:
        worker.terminate()
        try:
            worker.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            worker.kill()
        print((tmp_path / "worker.log").read_text())


def test_tasks(celery):
    results = [celery.add.delay(number, 1) for number in range(20)]
    retried = celery.fail_twice.delay()
    assert [result.get(timeout=DEADLINE_S) for result in results] == list(range(1, 21))
    assert retried.get(timeout=DEADLINE_S) == 2
    # A countdown is kept by the worker, which has taken the message.
    assert celery.add.apply_async((2, 3), countdown=1).get(timeout=DEADLINE_S) == 5
