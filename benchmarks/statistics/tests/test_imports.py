import subprocess
import sys
from pathlib import Path

import benchmarks.statistics


def test_importing_every_module_loads_neither_scipy_nor_numpy():
    """A process that only serves pages must not pay for them at its start."""
    modules = [
        path.stem for path in Path(benchmarks.statistics.__file__).parent.glob("*.py") if path.stem != "__init__"
    ]
    imports = "".join(f"import benchmarks.statistics.{module}\n" for module in sorted(modules))
    program = f"{imports}import sys\nprint(sorted({{'numpy', 'scipy', 'django'}} & set(sys.modules)))"
    root = Path(benchmarks.__file__).parent.parent
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=root)
    assert found.stdout.strip() == "[]"
    assert len(modules) > 10
