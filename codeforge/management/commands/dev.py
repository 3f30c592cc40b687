"""``manage.py dev``: the complete application on this machine, as ``make run`` starts it."""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import socket
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import BaseCommand, CommandError, CommandParser, call_command

from benchmarks.extras import command
from benchmarks.presentation.ranks import listed
from benchmarks.services.datasets.files import sync_datasets
from benchmarks.services.errors import NotPossible
from benchmarks.services.first_content import queue_first_runs
from benchmarks.services.operations.local_model import folder, local_port
from codeforge.celery import app as celery_app
from codeforge.local_model import LocalModelProcess
from codeforge.supervisor import Process, Sources, meanwhile, supervise

HOST = "127.0.0.1"
BACKLOG = 1024
"""Connections that wait while the web server restarts."""
WORKER = "worker --loglevel warning --without-gossip --without-mingle --without-heartbeat"
CELERY = f"-W ignore::UserWarning -m celery -A codeforge --quiet --skip-checks {WORKER}"


class Command(BaseCommand):
    help = "Migrate, import the datasets, and run the web server and a worker until Ctrl-C."
    requires_system_checks = ()  # a tenth of the start; they are for developers, and part of `make lint`

    def add_arguments(self, parser: CommandParser) -> None:
        help_text = "port of the web server (default: PORT, or 8080)"
        parser.add_argument("--port", type=int, default=settings.DEV_PORT, help=help_text)

    def handle(self, *args: Any, port: int, **options: Any) -> None:
        if not settings.DEV_MODE:
            raise CommandError(
                "dev requires development mode. Set APP_ENV=development. For production, see docs/deployment.md."
            )
        listener = _bound(port)
        settings.PORT_FILE.write_text(str(port))
        _copy_what_is_shipped()
        with meanwhile(self._prepare):
            import_module(settings.ROOT_URLCONF)  # what takes the web server longest; it runs as a copy of this process
        self.stdout.write(self.style.SUCCESS(f"CodeForge Benchmarks: http://localhost:{port}   (stop with Ctrl-C)"))
        self.stdout.write("No API key? Start a small model on this machine on the first page.")
        self.stdout.flush()
        model_port = local_port()
        optional = [] if model_port is None else [LocalModelProcess(folder(), model_port)]
        supervise([_web(port, listener), Process("worker", tuple(shlex.split(CELERY)), _work)], optional, _sources())

    def _prepare(self) -> None:
        try:
            call_command("migrate", verbosity=0)
        except CommandError as refusal:
            self.stderr.write(self.style.ERROR(str(refusal)))
            raise SystemExit(1) from None
        self._find_datasets()
        self._make_administrator()
        if queued := queue_first_runs():
            datasets = listed(list(dict.fromkeys(run.dataset.slug for run in queued)))
            self.stdout.write(f"First runs queued: built-in baselines on {datasets}")

    def _make_administrator(self) -> None:
        users = get_user_model()
        if users.objects.filter(is_superuser=True).exists():
            return
        password = secrets.token_urlsafe(12)
        users.objects.create_superuser("admin", password=password)
        self.stdout.write(
            f"Administrator for /admin/: user admin, password {password}\n"
            f"  (shown only once; to change it: {command('changepassword admin', python='.venv/bin/python')})"
        )

    def _find_datasets(self) -> None:
        try:
            self.stdout.write(str(sync_datasets(settings.DATASETS_DIR, quick=True)))  # the worker reads the others
        except NotPossible as refusal:
            self.stderr.write(self.style.WARNING(refusal.message))


def _copy_what_is_shipped() -> None:
    """Of an installed package, the configuration and datasets to where they are read and may be edited."""
    if settings.BASE_DIR == settings.SHIPPED_DIR:
        return
    settings.BASE_DIR.mkdir(parents=True, exist_ok=True)  # not there yet if the state is elsewhere
    if not (settings.BASE_DIR / "codeforge.yaml").exists():
        shutil.copy(settings.SHIPPED_DIR / "codeforge.yaml", settings.BASE_DIR)
    if not settings.DATASETS_DIR.exists():
        shutil.copytree(settings.SHIPPED_DIR / "datasets", settings.DATASETS_DIR)


def _bound(port: int) -> socket.socket:
    """The socket of the web server, which does not listen yet."""
    if not 1 <= port <= 65535:
        raise CommandError(f"{port} is not a valid port. Choose 1 to 65535.")
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        raise CommandError(
            f"Port {port} is not available ({error.strerror}). Choose another one: `PORT=9000 make run`, or in "
            "a package `codeforge up --port 9000`."
        ) from None
    return listener


def _sources() -> Sources | None:
    """The task classes, which people add; those of an installed package change with the package alone."""
    if settings.BASE_DIR != settings.SHIPPED_DIR:
        return None
    return Sources(settings.BASE_DIR / "tasks_app", "tasks_app.tasks.registered_tasks")


def _web(port: int, listener: socket.socket) -> Process:
    if settings.DEBUG:
        listener.close()
        return Process("web", ("-m", "django", "runserver", f"{HOST}:{port}"))
    listener.listen(BACKLOG)
    inherited = listener.fileno()
    listen = ("--socket", str(inherited))
    return Process(
        "web",
        ("-W", "ignore:No directory at", "-m", "codeforge.web_server", *listen),
        lambda: _serve(listen),
        sockets=(inherited,),
    )


def _serve(arguments: Sequence[str]) -> None:
    warnings.filterwarnings("ignore", "No directory at")
    from codeforge import web_server  # loading it makes the application

    web_server.main(list(arguments))


def _work() -> None:
    warnings.simplefilter("ignore", UserWarning)
    os.environ["CELERY_SKIP_CHECKS"] = "1"
    celery_app.worker_main(["--quiet", *shlex.split(WORKER)])
