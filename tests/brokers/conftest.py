"""Each broker is started once for all of its tests; every test uses streams of its own."""

import itertools

import pytest

from brokers.outside import OUTSIDE, make_training_table
from brokers.program import finish, start
from brokers.servers import SERVERS, start_or_skip

_numbers = itertools.count()


def _serve(name):
    @pytest.fixture(scope="session", name=name)
    def fixture(tmp_path_factory):
        server = start_or_skip(name, tmp_path_factory.mktemp(name))
        yield server
        server.kill()

    return fixture


@pytest.hookimpl(tryfirst=True)  # before the plugin reads the groups
def pytest_collection_modifyitems(items):
    """With several workers, one of them has all tests of a broker, so that it is started once."""
    for item in items:
        parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
        found = [name for name in SERVERS if name in item.fixturenames or name in parameters]
        item.add_marker(pytest.mark.xdist_group(found[0] if found else item.module.__name__))


@pytest.fixture
def broker(request):
    """The broker whose name is the parameter of a test."""
    return request.getfixturevalue(request.param)


redis_server = _serve("redis")
kafka_server = _serve("kafka")
nats_server = _serve("nats")
mqtt_server = _serve("mqtt")


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    table, path = folder / "train.csv", folder / "model.safetensors"
    make_training_table(table)
    assert finish(start(["fit", table, "--label", "class", "--key", "id", "-o", path], folder / "log")) == 0
    return path


@pytest.fixture
def stream():
    """A function that returns a name of a stream that no other test uses."""
    number = next(_numbers)
    return lambda name: f"{name}-{number}"


@pytest.fixture
def outside():
    return lambda server: OUTSIDE[server.scheme](server)
