"""What all tests share: a zygote that their commands borrow, and how much is tested.

KW_TESTS=all judges every labelled case and draws every random tail; without it a part of them is
taken, another one with each commit.
"""

import os
import subprocess

import pytest

import command


@pytest.fixture(scope="session", autouse=True)
def kept_zygote(tmp_path_factory):
    """Lends an interpreter to the commands that tests run: importing torch takes each three seconds.

    A test of how commands start their own takes KERNELWRIGHT_ZYGOTE out of their environment.
    """
    if not os.path.exists(command.binary()) or "KERNELWRIGHT_ZYGOTE" in os.environ:
        yield
        return
    folder = tmp_path_factory.getbasetemp()
    socket = folder / "zygote.sock"
    keeper = subprocess.Popen(
        [command.binary(), "zygote", "--socket", str(socket), "--visible", str(folder)],
        stderr=subprocess.PIPE, text=True)
    said = keeper.stderr.readline()
    assert said.startswith("ready"), f"no zygote: {said}{keeper.stderr.read()}"
    os.environ["KERNELWRIGHT_ZYGOTE"] = str(socket)
    yield
    del os.environ["KERNELWRIGHT_ZYGOTE"]
    keeper.terminate()
    assert keeper.wait(timeout=30) == 0


# Files that take longest, first: two processes share the files, and the last one should be short.
LONGEST = ["test_selftest", "test_end_to_end", "test_eval", "test_suites", "test_policies",
           "test_teacher", "test_truth"]


def pytest_collection_modifyitems(items):
    def place(item):
        stem = item.path.stem
        return LONGEST.index(stem) if stem in LONGEST else len(LONGEST)

    items.sort(key=place)  # stable: the order within a file stays
