"""A Celery application whose broker is a queue endpoint; the variables come from ../cases/queues/test_queue_celery.py."""

import os

from celery import Celery

app = Celery("tasks", broker=os.environ["CELERY_BROKER"], backend=os.environ["CELERY_RESULTS"])
app.conf.update(
    broker_transport_options={"polling_interval": 0.05, "queue_name_prefix": os.environ["CELERY_PREFIX"]},
    broker_connection_retry_on_startup=True,
    worker_prefetch_multiplier=1,
)


@app.task
def add(one, other):
    """The sum."""
    return one + other


@app.task(bind=True, max_retries=3)
def fail_twice(self):
    """Fails twice and is retried; then returns the number of retries."""
    if self.request.retries < 2:
        raise self.retry(countdown=0)
    return self.request.retries
