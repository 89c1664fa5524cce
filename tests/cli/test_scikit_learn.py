"""The quick import of scikit-learn leaves nothing behind that a program could notice."""

import subprocess
import sys

import pytest

from cli.program import write_table

SELDOM_USED = ("pandas", "scipy.optimize", "scipy.special", "scipy.stats")
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


@pytest.mark.parametrize("name", ["pandas", "scipy.special", "scipy.stats"])
def test_a_later_import_gives_the_real_module(name):
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
        "from anystream.cli.scikit_learn import _deferred",
        "with _deferred('scipy.stats'):",
        "    import scipy.stats",
        "    stand_in = sys.modules['scipy.stats']",
        "    stand_in.norm",
        "    print(sys.modules['scipy.stats'] is stand_in)",
        "print(type(sys.modules['scipy.stats']).__name__, stand_in.norm is sys.modules['scipy.stats'].norm)",
    )
    assert found == "False\nmodule True"


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
