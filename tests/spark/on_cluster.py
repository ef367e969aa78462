"""Run all jobs on a cluster, in a process of its own: python -m tests.spark.on_cluster MASTER FOLDER.

Each answer is a line of JSON. A job that is to lose a worker says so first, on a line of its own.
"""

import json
import sys
import time

import pyarrow as pa
from pyspark.sql import SparkSession

import lookalike as la
import lookalike.spark
import lookalike.spark.driver
from lookalike.core.run import Run
from tests.engines import COLLECTIONS, baskets, documents

OPTIONS = COLLECTIONS["documents"][1]
SETTINGS = {
    "spark.sql.shuffle.partitions": "3",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.network.timeout": "120s",
}


class Losing(Run):
    """A run that announces when documents are being compared, so that a worker can be lost then."""

    def show(self, name, total):
        if name == "verify":
            print("comparing", flush=True)
        return super().show(name, total)


def main() -> None:
    master, folder = sys.argv[1:]
    builder = SparkSession.builder.master(master).appName("lookalike").config("spark.local.dir", folder)
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    lookalike.spark.driver.LIMIT = 0  # all collections here are small
    session.sparkContext.setCheckpointDir(f"{folder}/checkpoints")
    frame = session.createDataFrame(documents()).repartition(3).select("id", "text", "rank")
    answer("clusters", la.spark.find_clusters(frame, **OPTIONS))
    answer("dedup", la.spark.dedup(frame, keep="rank:min,longest", **OPTIONS).dropped)
    left, right = (session.createDataFrame(part) for part in halves())
    answer("matches", la.spark.find_matches(left, right, **OPTIONS))
    answer("sets", la.spark.find_pairs(session.createDataFrame(baskets()), threshold=0.6))
    slow = frame.mapInArrow(slowly, frame.schema)
    answer("lost", la.spark.find_pairs(slow, **OPTIONS, run=Losing()))
    executors = session.sparkContext._jsc.sc().statusStore().executorList(False)
    workers = [executors.apply(at) for at in range(executors.size())]
    print(json.dumps({"gone": sum(not one.isActive() for one in workers)}), flush=True)
    session.stop()


def halves() -> tuple[pa.Table, pa.Table]:
    """Return two tables of documents that have ids in common."""
    table = documents().select(["id", "text"])
    right = table.slice(600)
    return table.slice(0, 600), right.set_column(0, "id", pa.array(range(len(right))))


def slowly(batches):
    """Take a moment for each batch."""
    for batch in batches:
        time.sleep(1.5)
        yield batch


def answer(name, found) -> None:
    """Print the rows of a data frame."""
    print(json.dumps({name: sorted(map(list, found.collect()))}), flush=True)


if __name__ == "__main__":
    main()
