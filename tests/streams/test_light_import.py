import subprocess
import sys


def test_importing_streams_imports_neither_scikit_learn_nor_scipy_nor_the_native_core():
    script = (
        "import sys, anystream.streams as s; s.SEA().take(10); s.available_datasets(); "
        "print([m for m in sys.modules if m.startswith(('sklearn', 'scipy', 'anystream._native'))])"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
