# Pinned by --build-arg PYTHON_IMAGE=python@sha256:...
ARG PYTHON_IMAGE=python:3.11-slim-bookworm
FROM ${PYTHON_IMAGE} AS base
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1
RUN python -m venv /opt/venv
ENV PATH="/opt/venv/bin:$PATH"
# The index of PyTorch's CPU-only build: --build-arg TORCH_INDEX=...
ARG TORCH_INDEX=""
WORKDIR /build
COPY requirements/torch.lock requirements/base.lock requirements/
# torch by its hash; then what this build of it needs besides (libraries of CUDA, or nothing new).
RUN if [ -n "$TORCH_INDEX" ]; then export PIP_INDEX_URL="$TORCH_INDEX"; fi \
    && pip install --no-deps --require-hashes -r requirements/torch.lock \
    && pip install torch==2.13.0
RUN pip install --no-deps --require-hashes -r requirements/base.lock && pip check

# The wheel and the documentation, from the files of the repository.
FROM base AS build
COPY requirements/build.lock requirements/
RUN pip install --no-deps --require-hashes -r requirements/build.lock
COPY . .
RUN hatchling build -t wheel -d /dist \
    && CROWDQC_HOME=/tmp/home python -m sphinx -W -n -q -b html -d /tmp/doctrees docs /dist/docs

FROM base AS installed
COPY --from=build /dist/*.whl /dist/
RUN pip install --no-deps /dist/*.whl && pip check

FROM ${PYTHON_IMAGE}
# What reports as PDF are drawn with.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends libpango-1.0-0 libpangoft2-1.0-0 \
        libharfbuzz-subset0 fonts-liberation \
    && rm -rf /var/lib/apt/lists/*
RUN groupadd --gid 10001 crowdqc \
    && useradd --uid 10001 --gid crowdqc --no-create-home --shell /usr/sbin/nologin crowdqc
COPY --from=installed /opt/venv /opt/venv
COPY --from=build /dist/docs /srv/docs
ENV PATH="/opt/venv/bin:$PATH" PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    HOME=/tmp MALLOC_ARENA_MAX=2 CROWDQC_ENV=production STATIC_ROOT=/srv/static \
    CROWDQC_DOCS=/srv/docs
WORKDIR /srv/app
COPY manage.py crowdqc/devstack/probe.py ./
# Settings of this one step only; the running container brings its own or refuses to start.
RUN SECRET_KEY="$(python -c 'import secrets; print(secrets.token_urlsafe(48))')" \
    ALLOWED_HOSTS=localhost DATABASE_URL=postgresql://localhost/build \
    BROKER_URL=redis://localhost EMAIL_URL=consolemail:// \
    python manage.py collectstatic --noinput --verbosity 0
# A volume that is first used here gets this owner: the proxy runs as the same user.
RUN install -d -o 10001 -g 10001 -m 0700 /srv/proxy /srv/backups
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "probe.py"]
CMD ["gunicorn", "crowdqc.wsgi:application", "--bind", "0.0.0.0:8000", \
     "--config", "python:crowdqc.web.server", "--worker-tmp-dir", "/dev/shm"]
