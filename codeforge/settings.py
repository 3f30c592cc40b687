"""Django settings: one file, driven by the environment. Every variable is listed in ``.env.example``.

``APP_ENV=development`` is development mode. Anything else is production, which does not start without a secret key or
with debugging on. Without ``APP_ENV``, the commands of ``manage.py`` and ``codeforge`` are in development mode; a web
server or worker that is started in any other way is not.
"""

from __future__ import annotations

import os
import re
import secrets
import sys
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured
from dotenv import dotenv_values
from platformdirs import user_data_path
from whitenoise.compress import Compressor

from benchmarks import __version__
from benchmarks.extras import how_to_install
from codeforge import file_broker
from codeforge.config import Config, ConfigError, load_config
from codeforge.databases import database
from codeforge.logs import logging_config

SHIPPED_DIR = Path(__file__).resolve().parent.parent
"""Where the datasets and ``codeforge.yaml`` of this release are."""
BASE_DIR = SHIPPED_DIR
"""Where those that are in force are, with ``.env`` and ``var``: the clone; of a package, the user's data folder."""
if not (SHIPPED_DIR / "manage.py").exists():
    SHIPPED_DIR = Path(__file__).resolve().parent / "shipped"
    BASE_DIR = user_data_path("codeforge", appauthor=False)
for _name, _value in dotenv_values(os.environ.get("CODEFORGE_ENV_FILE") or BASE_DIR / ".env").items():
    os.environ.setdefault(_name, _value or "")


def _flag(name: str, default: bool = False) -> bool:
    value = os.environ.get(name, "").strip().lower()
    if value in ("", "0", "false", "no", "off"):
        return default if value == "" else False
    if value in ("1", "true", "yes", "on"):
        return True
    raise ImproperlyConfigured(f"{name}={value!r} is not valid. Set it to 1 or 0.")


def _number(name: str, default: float) -> float:
    try:
        return float(os.environ.get(name) or default)
    except ValueError:
        raise ImproperlyConfigured(
            f"{name}={os.environ[name]!r} is not a number. Set it to a number such as {default:g}."
        ) from None


def _address(name: str) -> tuple[str, int] | None:
    value = os.environ.get(name, "")
    host, _, port = value.rpartition(":")
    if value and not (host and port.isdecimal() and 0 < int(port) < 65536):
        raise ImproperlyConfigured(f"{name}={value!r} is not an address. Set it to one such as 127.0.0.1:9464.")
    return (host, int(port)) if value else None


def _list(name: str) -> list[str]:
    return [part.strip() for part in os.environ.get(name, "").split(",") if part.strip()]


STATE_DIR = Path(os.environ.get("CODEFORGE_STATE_DIR") or BASE_DIR / "var")
try:
    STATE_DIR.mkdir(parents=True, exist_ok=True)
except OSError as _error:
    raise ImproperlyConfigured(
        f"Cannot create the state folder {STATE_DIR} ({_error.strerror}). Set CODEFORGE_STATE_DIR to a folder that can "
        "be written."
    ) from None
DEV_PORT = os.environ.get("PORT") or "8080"
PORT_FILE = STATE_DIR / "port"
"""Contains the port on which ``make run`` or ``codeforge up`` was last started."""

IS_COMMAND = Path(sys.argv[0]).name in ("manage.py", "codeforge")
# Processes that a command starts are in its mode.
DEV_MODE = os.environ.setdefault("APP_ENV", "development" if IS_COMMAND else "production") == "development"
DEBUG = _flag("DEBUG")
PUBLIC_READING = _flag("CODEFORGE_PUBLIC_READING")
KEYS_ON_PAGE = _flag("CODEFORGE_KEYS_ON_PAGE")


def _refuse_comments() -> None:
    """Refuse secrets that are a comment: what Docker compose reads from ``NAME=  # comment`` in ``.env``."""
    for name in ("SECRET_KEY", "POSTGRES_PASSWORD", "REDIS_PASSWORD", "DATABASE_URL", "REDIS_URL"):
        value = os.environ.get(name, "").strip()
        if value.startswith("#") or re.match(r"\w+://[^/?@]*:\s*(#|%23)", value):
            raise ImproperlyConfigured(
                f"{name} is a comment, not a secret: it begins with #. In .env, write comments on their own lines. Set "
                f"{name} to what `openssl rand -hex 32` prints."
            )


def _weakness(key: str) -> str:
    """Why a secret key can be guessed, by the rules of Django's deployment check; empty if it is good enough."""
    if not key:
        return "is not set"
    if "openssl rand" in key or "random text" in key:
        return "is the description of a key"
    if len(key) < 50:
        return f"has {len(key)} characters, but needs at least 50"
    if len(set(key)) < 5:
        return "repeats fewer than 5 different characters"
    return "is an example of Django's" if key.startswith("django-insecure-") else ""


def _secret_key() -> str:
    key = os.environ.get("SECRET_KEY", "")
    if not DEV_MODE and (problem := _weakness(key)):
        raise ImproperlyConfigured(
            f"SECRET_KEY {problem}. Set it to a long random text, such as `openssl rand -hex 32` prints, or set "
            "APP_ENV=development for development mode."
        )
    if key:
        return key
    path = STATE_DIR / "secret_key"
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(48))
    return path.read_text()


_refuse_comments()
SECRET_KEY = _secret_key()
if DEBUG and not DEV_MODE:
    raise ImproperlyConfigured("DEBUG is on in production. Unset DEBUG, or set APP_ENV=development.")

try:
    CODEFORGE: Config = load_config(Path(os.environ.get("CODEFORGE_CONFIG") or BASE_DIR / "codeforge.yaml"))
except ConfigError as error:
    raise ImproperlyConfigured(str(error)) from None
OUTBOUND = CODEFORGE.outbound.rules(loopback=DEV_MODE)
DATASETS_DIR = CODEFORGE.datasets_path(BASE_DIR)

ALLOWED_HOSTS = _list("ALLOWED_HOSTS") or (["localhost", "127.0.0.1", "[::1]"] if DEV_MODE else [])
CSRF_TRUSTED_ORIGINS = _list("CSRF_TRUSTED_ORIGINS")
CSRF_FAILURE_VIEW = "codeforge.error_pages.without_csrf_token"

INSTALLED_APPS = [
    # Before the admin: their templates replace the admin's templates of the same name.
    "codeforge.apps.CodeForgeConfig",
    "tasks_app",
    "benchmarks",
    "frontend",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_htmx",
    "codeforge.apps.LogInsConfig",
]

MIDDLEWARE = [
    "codeforge.health.HealthMiddleware",
    "codeforge.telemetry.RequestIdMiddleware",
    "codeforge.security.BodySizeMiddleware",
    "django.middleware.gzip.GZipMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "codeforge.security.ForeignOriginMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "codeforge.security.ContentSecurityPolicyMiddleware",
    "codeforge.access.ReadingMiddleware",
    "codeforge.busy.BusyMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "codeforge.urls"
WSGI_APPLICATION = "codeforge.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "frontend.context_processors.site",
            ],
        },
    },
]

DATABASE_URL = os.environ.get("DATABASE_URL") or f"sqlite:///{STATE_DIR / 'codeforge.sqlite3'}"
DATABASES = {"default": database(DATABASE_URL)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = os.environ.get("REDIS_URL", "")
BACKUP_KEY = os.environ.get("CODEFORGE_BACKUP_KEY", "")
BACKUP_KEY_FILE = os.environ.get("CODEFORGE_BACKUP_KEY_FILE", "")
HUB_ENDPOINT = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
HUB_TOKEN = os.environ.get("HF_TOKEN", "")
CACHES = {
    "default": (
        {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": REDIS_URL}
        if REDIS_URL
        else {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
    )
}

CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_POOL = "threads"
CELERY_WORKER_CONCURRENCY = int(_number("CODEFORGE_WORKER_THREADS", 8))
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
SWEEP_SECONDS = _number("CODEFORGE_SWEEP_SECONDS", 10)
FIND_DATASETS_SECONDS = 5.0
WORKER_METRICS = _address("CODEFORGE_WORKER_METRICS")
if REDIS_URL:
    CELERY_BROKER_URL = REDIS_URL
    CELERY_TASK_DEFAULT_QUEUE = os.environ.get("CODEFORGE_QUEUE") or "codeforge"
else:
    BROKER_DIR = STATE_DIR / "broker"
    for folder in ("queue", "control"):
        (BROKER_DIR / folder).mkdir(parents=True, exist_ok=True)
    CELERY_BROKER_URL = f"{file_broker.SCHEME}://"
    CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {
        "data_folder_in": str(BROKER_DIR / "queue"),
        "data_folder_out": str(BROKER_DIR / "queue"),
        "control_folder": str(BROKER_DIR / "control"),
        "store_processed": False,
        "polling_interval": 0.02,
    }
    # Remote control would write files into the broker's folder that nobody reads.
    CELERY_WORKER_ENABLE_REMOTE_CONTROL = False

# The form of one task can contain as much as a dataset file.
DATA_UPLOAD_MAX_MEMORY_SIZE = 12 * 1024 * 1024
# A request with files: uploaded datasets, and runs of other tools.
MAX_UPLOAD_BYTES = 33 * 1024 * 1024

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = LOGOUT_REDIRECT_URL = "frontend:overview"
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
# Login by an OpenID Connect provider: codeforge/oidc.py. The names with RP and USE are those of mozilla-django-oidc.
OIDC_ISSUER = os.environ.get("OIDC_ISSUER", "").rstrip("/")
OIDC_NAME = os.environ.get("OIDC_NAME") or urlsplit(OIDC_ISSUER).hostname
if OIDC_ISSUER:
    OIDC_RP_CLIENT_ID = os.environ.get("OIDC_CLIENT_ID", "")
    OIDC_RP_CLIENT_SECRET = os.environ.get("OIDC_CLIENT_SECRET", "")
    if not (OIDC_RP_CLIENT_ID and OIDC_RP_CLIENT_SECRET):
        raise ImproperlyConfigured("OIDC_ISSUER is set. Set OIDC_CLIENT_ID and OIDC_CLIENT_SECRET too, or unset it.")
    if find_spec("mozilla_django_oidc") is None:
        raise ImproperlyConfigured(f"OIDC_ISSUER is set. Run `{how_to_install('oidc')}`, or unset it.")
    OIDC_RP_SCOPES = os.environ.get("OIDC_SCOPES") or "openid email profile"
    OIDC_RP_SIGN_ALGO = "RS256"
    OIDC_USE_PKCE = True
    OIDC_TIMEOUT = 10
    OIDC_USERNAME_CLAIM = os.environ.get("OIDC_USERNAME_CLAIM") or "email"
    OIDC_GROUPS_CLAIM = os.environ.get("OIDC_GROUPS_CLAIM") or "groups"
    OIDC_ROLES = _list("OIDC_ROLES")
    OIDC_DEFAULT_ROLE = os.environ.get("OIDC_DEFAULT_ROLE", "")
    LOGIN_REDIRECT_URL_FAILURE = LOGIN_URL
    AUTHENTICATION_BACKENDS.append("codeforge.oidc.Backend")
# Ten wrong passwords from one address, or for one account, block it for 15 minutes, counted in the database that all
# web processes share. Attempts during that time do not extend it.
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_LOCKOUT_PARAMETERS = "codeforge.access.lockout_parameters"
AXES_CLIENT_IP_CALLABLE = "codeforge.access.client_address"
AXES_VERBOSE = False

LANGUAGE_CODE = "en"
TIME_ZONE = os.environ.get("TZ") or "UTC"
USE_TZ = True
USE_I18N = False

STATIC_URL = "/static/"
STATIC_ROOT = Path(os.environ.get("STATIC_ROOT") or BASE_DIR / "staticfiles")
WHITENOISE_USE_FINDERS = DEV_MODE
WHITENOISE_AUTOREFRESH = DEBUG
WHITENOISE_SKIP_COMPRESS_EXTENSIONS = (*Compressor.SKIP_COMPRESS_EXTENSIONS, "map")
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": (
            "django.contrib.staticfiles.storage.StaticFilesStorage"
            if DEV_MODE
            else "codeforge.static_files.SmallerFilesStorage"
        )
    },
}

REST_FRAMEWORK = {
    "DEFAULT_SCHEMA_CLASS": "benchmarks.api.schema.Schema",
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "benchmarks.api.access.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["benchmarks.api.errors.BoundedJSONParser"],
    "DEFAULT_PERMISSION_CLASSES": [
        "benchmarks.api.access.ReadOrPermitted",
        "benchmarks.api.parameters.KnownParameters",
    ],
    "URL_FORMAT_OVERRIDE": None,
    "DEFAULT_PAGINATION_CLASS": "benchmarks.api.pagination.Pages",
    "DEFAULT_FILTER_BACKENDS": ["django_filters.rest_framework.DjangoFilterBackend"],
    "EXCEPTION_HANDLER": "benchmarks.api.errors.handle",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "CodeForge Benchmarks",
    "DESCRIPTION": "Start benchmark runs, follow them and read their results.",
    "VERSION": __version__,
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["benchmarks.api.access.ReadOrPermitted"],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "ENUM_NAME_OVERRIDES": {
        "KindEnum": "benchmarks.models.Dataset.Kind",
        "RunKindEnum": "benchmarks.models.run_parts.RunKind",
        "RunStatusEnum": "benchmarks.models.RunStatus",
        "StateEnum": "benchmarks.models.ResultState",
        "ProviderStatusEnum": "benchmarks.presentation.providers.STATUSES",
        "SystemMethodEnum": "benchmarks.services.systems.METHODS",
    },
    "PREPROCESSING_HOOKS": ["benchmarks.api.urls.without_trailing_slashes"],
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "benchmarks.api.schema.with_refusals",
    ],
}

SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_HTTPONLY = True
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
BEHIND_PROXY = _flag("BEHIND_PROXY")
if not DEV_MODE:
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _flag("SECURE_COOKIES", default=True)
    SECURE_SSL_REDIRECT = _flag("SECURE_SSL_REDIRECT", default=True)
    SECURE_HSTS_SECONDS = int(_number("SECURE_HSTS_SECONDS", 31_536_000))
    SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_SECONDS > 0
    # A browser's preload list holds for all of a domain, and takes months to leave.
    SECURE_HSTS_PRELOAD = _flag("SECURE_HSTS_PRELOAD")
    SILENCED_SYSTEM_CHECKS = ["security.W021"]
    if BEHIND_PROXY:
        SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

LOGGING = logging_config(
    as_json=not DEV_MODE,
    level=os.environ.get("LOG_LEVEL") or "INFO",
    secret_variables=CODEFORGE.secret_variables,
)
