"""The quick import of scikit-learn leaves nothing behind that a program could notice."""

import subprocess
import sys

import pytest

from cli.program import write_table

SELDOM_USED = (
    "asyncio",
    "narwhals",
    "numpy.f2py",
    "numpy.ma",
    "numpy.polynomial",
    "numpy.testing",
    "pandas",
    "pydoc",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.sparse.csgraph",
    "scipy.sparse.linalg",
    "scipy.special",
    "scipy.stats",
)
QUICK_IMPORT = "import sys; from anystream.cli.scikit_learn import import_scikit_learn; import_scikit_learn()"
HIDE_PANDAS = """
import sys
from importlib.machinery import PathFinder
class WithoutPandas(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name == "pandas" else super().find_spec(name, path, target)
sys.meta_path[sys.meta_path.index(PathFinder)] = WithoutPandas
"""


def output_of(*lines, cwd=None):
    command = [sys.executable, "-c", "\n".join(lines)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True).stdout.strip()


def test_scikit_learn_is_imported_without_the_modules_that_it_seldom_uses():
    assert output_of(QUICK_IMPORT, f"print('sklearn.base' in sys.modules, {set(SELDOM_USED)} & set(sys.modules))") == (
        "True set()"
    )


@pytest.mark.parametrize("name", SELDOM_USED)
def test_a_later_import_gives_the_real_module(name):
    pytest.importorskip(name)
    found = output_of(QUICK_IMPORT, f"import {name}", f"print(type({name}).__name__, sys.modules[{name!r}] is {name})")
    assert found == "module True"


def test_the_parts_of_scikit_learn_that_use_them_work():
    found = output_of(
        QUICK_IMPORT,
        "import numpy as np",
        "from sklearn.utils.fixes import _mode",
        "from sklearn.utils._array_api import _expit",
        "print(_mode(np.array([1, 2, 2])).mode.tolist(), _expit(np.zeros(1)).tolist())",
    )
    assert found == "[2] [0.5]"


def test_functions_that_scikit_learn_has_imported_import_their_module_when_they_are_called():
    found = output_of(
        QUICK_IMPORT,
        "import numpy as np, scipy.sparse",
        "from sklearn.utils.fixes import _sparse_linalg_cg, laplacian",
        "from sklearn.utils.sparsefuncs import _implicit_column_offset",
        "x, code = _sparse_linalg_cg(np.diag([2.0, 4.0]), np.ones(2))",
        "print(x.tolist(), code, laplacian(np.array([[0, 1], [1, 0]])).tolist())",
        "centred = _implicit_column_offset(scipy.sparse.csr_array(np.eye(2)), np.ones(2))",
        "import scipy.sparse.linalg",
        "print(isinstance(centred, scipy.sparse.linalg.LinearOperator), (centred @ np.eye(2)).tolist())",
    )
    assert found == "[0.5, 0.25] 0 [[1, -1], [-1, 1]]\nTrue [[0.0, -1.0], [-1.0, 0.0]]"


@pytest.mark.parametrize("path", ["numpy.ma.array", "numpy.testing.assert_equal", "scipy.sparse.linalg.cg"])
def test_an_attribute_of_its_package_is_the_real_module(path):
    module, _, name = path.rpartition(".")
    package = module.rpartition(".")[0]
    found = output_of(QUICK_IMPORT, f"import {package}", f"print(type({module}).__name__, callable({module}.{name}))")
    assert found == "module True"


def test_scikit_learn_validates_arrays_sparse_matrices_and_masked_arrays():
    found = output_of(
        QUICK_IMPORT,
        "import numpy as np, scipy.sparse",
        "from sklearn.utils.validation import check_array",
        "print(check_array([[1, 2]]).tolist(), check_array(scipy.sparse.csr_array(np.eye(2)), accept_sparse=True).nnz)",
        "print(check_array(np.ma.array([[1.0, 2.0]], mask=False)).tolist())",
    )
    assert found == "[[1, 2]] 2\n[[1.0, 2.0]]"


def test_scikit_learn_recognises_a_data_frame():
    pytest.importorskip("pandas")
    found = output_of(
        QUICK_IMPORT,
        "import pandas",
        "from sklearn.utils.validation import _get_feature_names, check_array",
        "table = pandas.DataFrame({'a': [1.0], 'b': [2.0]})",
        "print(_get_feature_names(table).tolist(), check_array(table).tolist())",
    )
    assert found == "['a', 'b'] [[1.0, 2.0]]"


def test_pandas_stays_missing_where_it_is_not_installed():
    found = output_of(
        HIDE_PANDAS,
        QUICK_IMPORT,
        "import sklearn.utils.fixes",
        "print(sklearn.utils.fixes.pd, 'pandas' in sys.modules)",
    )
    assert found == "None False"


def test_what_is_imported_already_stays():
    found = output_of(
        "import scipy.stats; before = scipy.stats", QUICK_IMPORT, "print(sys.modules['scipy.stats'] is before)"
    )
    assert found == "True"


def test_a_module_that_scikit_learn_does_use_is_the_real_one_at_once():
    found = output_of(
        "import sys",
        "from anystream.cli.deferred_modules import deferred",
        "with deferred({'scipy.stats': ()}):",
        "    import scipy.stats",
        "    stand_in = sys.modules['scipy.stats']",
        "    stand_in.norm",
        "    print(sys.modules['scipy.stats'] is stand_in)",
        "print(type(sys.modules['scipy.stats']).__name__, stand_in.norm is sys.modules['scipy.stats'].norm)",
    )
    assert found == "False\nmodule True"


def test_a_deferred_class_can_be_derived_from_and_asked_for_its_instances():
    found = output_of(
        "import sys",
        "from anystream.cli.deferred_modules import deferred",
        "with deferred({'fractions': ('Fraction',)}):",
        "    from fractions import Fraction",
        "print('fractions' in sys.modules)",
        "class Half(Fraction): pass",
        "import fractions",
        "print(Half.__bases__ == (fractions.Fraction,), isinstance(Half(1, 2), Fraction), Fraction.from_float(0.5))",
    )
    assert found == "False\nTrue True 1/2"


def test_a_submodule_is_found_while_its_package_is_deferred():
    found = output_of(
        "import sys",
        "from anystream.cli.deferred_modules import deferred",
        "with deferred({'xml.dom': ()}):",
        "    import xml.dom",
        "    from xml.dom.minidom import parseString",
        "print(type(sys.modules['xml.dom']).__name__, parseString('<a/>').documentElement.tagName)",
    )
    assert found == "module a"


def test_nothing_is_left_after_an_error_inside_the_context():
    found = output_of(
        "import sys, xml",
        "from anystream.cli.deferred_modules import deferred",
        "try:",
        "    with deferred({'xml.dom': ()}):",
        "        raise ValueError",
        "except ValueError:",
        "    print('xml.dom' in sys.modules, hasattr(xml, 'dom'))",
    )
    assert found == "False False"


def test_the_garbage_collector_runs_in_a_command(home):
    found = output_of(
        "import gc, sys",
        "import anystream.cli.app as app, anystream.cli",
        "app.app.command('collects')(app.started(lambda: print(gc.isenabled(), gc.get_freeze_count())))",
        "sys.argv = ['anystream', 'collects']",
        "anystream.cli.main()",
        cwd=home,
    )
    assert found == "True 0"


def test_classify_imports_none_of_them(home):
    write_table(home / "records.csv", 5)
    found = output_of(
        "import sys",
        "sys.argv = 'anystream classify model.safetensors records.csv --budget 0 -q -o out.csv'.split()",
        "from anystream.cli import main",
        "try:",
        "    main()",
        "except SystemExit as done:",
        f"    print(done.code, {set(SELDOM_USED)} & set(sys.modules))",
        cwd=home,
    )
    assert found == "0 set()"
