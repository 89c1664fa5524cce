import pytest

from anystream.compare import LIBRARIES, Method, find_methods
from anystream.compare import methods as methods_module


def test_a_library_that_is_not_installed_is_left_out_with_a_message(monkeypatch):
    monkeypatch.setattr(methods_module, "installed_version", lambda package: None if package == "river" else "1")
    methods, notes = find_methods(["river", "scikit-learn"])
    assert {method.library for method in methods} == {"scikit-learn"}
    assert notes == ["river is left out: river not installed; see make compare"]


def test_a_method_whose_forest_needs_another_library_is_left_out(monkeypatch):
    monkeypatch.setattr(methods_module, "installed_version", lambda package: None if package == "lightgbm" else "1")
    methods, notes = find_methods(["anystream"])
    assert "imported LightGBM(100)" not in [method.name for method in methods]
    assert notes == ["anystream imported LightGBM(100) is left out: lightgbm is not installed; see make compare"]


def test_an_unknown_library_is_an_error_that_lists_the_known_ones():
    with pytest.raises(ValueError, match="no library 'weka'; choose from anystream, river"):
        find_methods(["weka"])


def test_no_method_at_all_is_an_error():
    with pytest.raises(ValueError, match="no method is left"):
        find_methods(["scikit-learn"], ["perceptron"])


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_table_names_exactly_the_methods_of_each_adapter(library):
    methods, notes = find_methods_or_skip(library)
    assert methods
    for method in methods:
        candidate = method.create(3, 2, 0)
        assert candidate.fits or candidate.learns


def find_methods_or_skip(library):
    try:
        return find_methods([library])
    except ValueError:
        pytest.skip(f"{library} is not installed")


def test_a_method_knows_its_version():
    assert Method("scikit-learn", "GaussianNB").version.count(".") >= 1
