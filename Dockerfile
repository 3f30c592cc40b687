# One image for web, worker and migrate; what a container does is its command. See docs/deployment.md.
ARG PYTHON=3.14.6-slim-trixie@sha256:cea0e6040540fb2b965b6e7fb5ffa00871e632eef63719f0ea54bca189ce14a6
FROM python:${PYTHON} AS packages
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/venv
# What else to install, such as --build-arg EXTRAS="litellm parquet opentelemetry".
ARG EXTRAS=""
COPY requirements*.txt /tmp/
RUN for name in requirements-slim ${EXTRAS:+$(printf 'requirements-%s ' $EXTRAS)}; do \
        /opt/venv/bin/pip install --no-deps --require-hashes --only-binary :all: -r /tmp/$name.txt || exit 1; \
    done

FROM python:${PYTHON}
ARG VERSION=0.1.0
ARG REVISION=""
LABEL org.opencontainers.image.title="CodeForge Benchmarks" \
    org.opencontainers.image.description="A self-hosted dashboard for benchmarking language models" \
    org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}"
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    APP_ENV=production \
    STATIC_ROOT=/srv/static \
    CODEFORGE_STATE_DIR=/srv/state
RUN groupadd --gid 10001 codeforge \
    && useradd --uid 10001 --gid codeforge --no-create-home --shell /usr/sbin/nologin codeforge \
    && install --directory --owner codeforge --group codeforge /srv/state
COPY --from=packages /opt/venv /opt/venv
WORKDIR /app
COPY . /app
# The key signs nothing here: collecting static files only has to get past the check that there is a good one.
RUN SECRET_KEY=$(python -c "import secrets; print(secrets.token_hex(32))") python manage.py collectstatic --noinput \
    && chown --recursive codeforge:codeforge /srv/state
USER codeforge
EXPOSE 8000
CMD ["gunicorn", "codeforge.wsgi", "--bind", "0.0.0.0:8000", "--worker-class", "gthread", "--workers", "2", \
     "--threads", "8", "--worker-tmp-dir", "/dev/shm", "--log-level", "warning"]
