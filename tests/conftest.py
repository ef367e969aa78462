"""Set up all tests: Hypothesis draws the same examples on every run; fixtures give folders."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Asserts in shared modules should report as much as those in tests; they are rewritten on import.
SHARED = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if not path.name.startswith(("test_", "_")))
pytest.register_assert_rewrite(*(f"tests.{name}" for name in SHARED if name != "conftest"))

from tests.browsing import ARGUMENTS, CHROMIUM, LIMIT  # noqa: E402
from tests.commands import Commands  # noqa: E402

settings.register_profile(
    "fixed",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow],  # a busy machine can be slow
)
settings.load_profile("fixed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests on Spark first: one process then gets them all, and starts Java for them only once."""
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)


@pytest.fixture(autouse=True)
def _known_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give all new indexes the same seed, which is otherwise drawn at random."""
    monkeypatch.setattr("lookalike.index.secret_seed", lambda: 1)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Commands:
    """Run commands within this process."""
    return Commands(monkeypatch, capsys)


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """Make an empty folder for inputs."""
    folder = tmp_path / "in"
    folder.mkdir()
    return folder


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Make an empty folder for outputs."""
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Start a Spark session on this machine, with its Java."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        assert os.environ.get("CI") != "true", "Java is missing"
        pytest.skip("Spark needs Java, which is missing: apt install default-jre-headless")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    folder = tmp_path_factory.mktemp("spark")
    builder = SparkSession.builder.master("local[2]").appName("lookalike")
    settings = {
        "spark.sql.shuffle.partitions": "2",
        # Many small jobs are faster without compiling each: neither by Spark, nor twice by Java.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC",
        "spark.python.sql.dataFrameDebugging.enabled": "false",  # it looks up who calls, column by column
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.python.authenticate.socketTimeout": "5m",  # for a busy machine
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.execution.arrow.maxRecordsPerBatch": "700",  # often splits rows that belong together
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start Chromium without a window."""
    if CHROMIUM is None:
        missing = "Chromium is not installed (Debian: apt-get install chromium)"
        assert os.environ.get("CI") != "true", missing
        pytest.skip(missing)
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=LIMIT)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, timeout=LIMIT)
        yield chromium
        chromium.close()
