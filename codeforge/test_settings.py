"""The settings under test: dev mode, their own state directory, nothing taken from the tester's ``.env`` or keys."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

# Each process of a parallel run has its own state directory: workers inherit the environment of the first process.
os.environ["CODEFORGE_STATE_DIR"] = tempfile.mkdtemp(prefix="codeforge-tests-")
atexit.register(shutil.rmtree, os.environ["CODEFORGE_STATE_DIR"], ignore_errors=True)
os.environ.update(APP_ENV="development", CODEFORGE_ENV_FILE=os.devnull, SECRET_KEY="only-for-tests")
for _name in ("DEBUG", "OPENAI_API_KEY", "OPENAI_BASE_URL", "CODEFORGE_JUDGE_MODEL", "CODEFORGE_CONFIG", "REDIS_URL"):
    os.environ.pop(_name, None)
for _name in [name for name in os.environ if name.startswith("OTEL_")]:
    os.environ.pop(_name)

from codeforge.settings import *  # noqa: E402, F403 - the environment has to be set before the settings read it
from codeforge.settings import DATABASES, STATE_DIR  # noqa: E402

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STATIC_ROOT = Path(STATE_DIR) / "static"  # WhiteNoise warns of a directory that is not there
STATIC_ROOT.mkdir(exist_ok=True)
CELERY_BROKER_URL = "memory://"
CELERY_BROKER_TRANSPORT_OPTIONS = {}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # A file, because threads of the engine cannot share an in-memory database under WAL.
    DATABASES["default"]["TEST"] = {"NAME": str(Path(STATE_DIR) / "test.sqlite3")}
