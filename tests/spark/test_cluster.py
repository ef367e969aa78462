"""Check all jobs on a cluster of processes, one of which is killed in the middle of a job."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyspark
import pytest

import lookalike as la
from tests.engines import Here, as_items, baskets, documents
from tests.spark.on_cluster import OPTIONS, halves

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
GUARD = 300  # seconds; a machine can be busy


@pytest.fixture
def start(tmp_path):
    """Return a function that starts a process of the cluster; all are ended after the test."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java, which is missing: apt install default-jre-headless")
    paths = os.pathsep.join([str(Path(la.__file__).parents[1]), str(ROOT)])
    more = {"PYTHONPATH": paths, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    more |= {"SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
    begun = []

    def starting(name, *command, log=True):
        with (tmp_path / f"{name}.log").open("w") as out:
            into = {"stdout": out if log else subprocess.PIPE, "stderr": out}
            line, place = list(map(str, command)), {"cwd": ROOT, "env": os.environ | more}
            begun.append(subprocess.Popen(line, text=True, start_new_session=True, **place, **into))
        return begun[-1]

    yield starting
    for process in begun:
        end(process)


def end(process):
    """Kill a process and those it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(GUARD)
    if process.stdout:
        process.stdout.close()


@pytest.fixture
def cluster(start, tmp_path):
    """Start a master and two workers; return the master's address, and the workers."""
    master = start(
        "master", CLASS, "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", 0, "--webui-port", 0
    )
    address = wait_for(tmp_path / "master.log", r"Starting Spark master at (spark://\S+)", master)
    workers = [
        start(
            f"worker{at}", CLASS, "org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--cores", 1,
            "--memory", "512m", "--webui-port", 0, "--work-dir", tmp_path / f"work{at}", address,
        )
        for at in range(2)
    ]  # fmt: skip
    for at, worker in enumerate(workers):
        wait_for(tmp_path / f"worker{at}.log", r"(Successfully registered) with master", worker)
    return address, workers


def wait_for(log, pattern, process):
    """Return what a pattern finds in a log, as soon as it is there."""
    until = time.monotonic() + GUARD
    while time.monotonic() < until:
        found = re.search(pattern, log.read_text())
        if found:
            return found[1]
        assert process.poll() is None, log.read_text()
        time.sleep(0.05)
    raise AssertionError(log.read_text())


def test_a_cluster_gives_what_one_machine_gives_and_survives_the_loss_of_a_worker(start, cluster, tmp_path):
    address, workers = cluster
    driver = start("driver", sys.executable, "-m", "tests.spark.on_cluster", address, tmp_path / "shared", log=False)
    (tmp_path / "shared").mkdir(exist_ok=True)
    answers = {}
    for line in driver.stdout:
        if line == "comparing\n":
            time.sleep(0.5)
            end(workers[1])
        elif line.startswith("{"):
            answers |= json.loads(line)
    assert driver.wait(GUARD) == 0, (tmp_path / "driver.log").read_text()
    table = documents()
    pairs = [[a, b, value] for (a, b), value in sorted(Here().pairs(table, **OPTIONS).items())]
    assert answers["lost"] == pairs
    assert answers["gone"] == 1
    rows = Here().clusters(table, **OPTIONS)
    assert answers["clusters"] == sorted([row["cluster"], row["id"], row["size"]] for row in rows)
    dropped = Here().dropped(table, keep="rank:min,longest", **OPTIONS)
    assert answers["dedup"] == sorted([row["id"], row["kept"], row["similarity"]] for row in dropped)
    matches = la.find_matches(*map(as_items, halves()), method="lsh", **OPTIONS).to_arrow().to_pylist()
    assert answers["matches"] == sorted(list(row.values()) for row in matches)
    assert len(matches) > 50
    sets = [[a, b, value] for (a, b), value in sorted(Here().pairs(baskets(), threshold=0.6).items())]
    assert answers["sets"] == sets
