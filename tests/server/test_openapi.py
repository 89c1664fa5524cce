"""The OpenAPI document describes what the server does."""

import pytest
from starlette.routing import Route

from server.serving import serving


def routes_of(served):
    """Return the routes for programs: all but those of the dashboard, which are for its own page."""
    routes = [route for route in served.service.app._app.routes if isinstance(route, Route)]
    return {
        (route.path, method)
        for route in routes
        if route.path != "/" and not route.path.startswith("/dashboard/")
        for method in route.methods - {"HEAD"}
    }


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_every_route_is_described_and_nothing_else(model_files, host):
    with serving(model_files / "numbers.safetensors", host=host) as served:
        document = served.get("/openapi.json").json()
        described = {(path, method.upper()) for path, found in document["paths"].items() for method in found}
        assert described == routes_of(served)
    references = {
        schema["$ref"].rpartition("/")[2]
        for schema in find_schemas(document["paths"]) + find_schemas(document["components"])
    }
    assert references <= set(document["components"]["schemas"])
    for found in document["paths"].values():
        for operation in found.values():
            named = {parameter["name"] for parameter in operation.get("parameters", []) if parameter["in"] == "path"}
            assert operation["summary"].endswith(".")
            assert named <= {"name", "version"}


def find_schemas(value):
    if isinstance(value, dict):
        inner = [found for each in value.values() for found in find_schemas(each)]
        return [value, *inner] if "$ref" in value else inner
    return [found for each in value for found in find_schemas(each)] if isinstance(value, list) else []


def test_statuses_of_the_server_are_described(served):
    paths = served.get("/openapi.json").json()["paths"]
    for path, body, status in [
        ("/v1/classify?model=numbers", {"0": 1}, 200),
        ("/v1/classify?model=numbers", b"{", 400),
        ("/v1/classify?model=other", {"0": 1}, 404),
        ("/v1/learn?model=numbers", {"0": 1}, 409),
    ]:
        response = served.post(path, body)
        assert response.status == status
        assert str(status) in paths[path.partition("?")[0]]["post"]["responses"]
