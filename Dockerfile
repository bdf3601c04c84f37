FROM python:3.11-slim-bookworm AS build
# The index of PyTorch's CPU-only build: --build-arg TORCH_INDEX=...
ARG TORCH_INDEX=""
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/venv
ENV PATH="/opt/venv/bin:$PATH"
RUN if [ -n "$TORCH_INDEX" ]; then export PIP_INDEX_URL="$TORCH_INDEX"; fi \
    && pip install torch==2.13.0
WORKDIR /build
COPY requirements/base.lock base.lock
RUN pip install --no-deps --require-hashes -r base.lock && pip check

FROM python:3.11-slim-bookworm
RUN groupadd --gid 10001 crowdqc \
    && useradd --uid 10001 --gid crowdqc --no-create-home --shell /usr/sbin/nologin crowdqc
COPY --from=build /opt/venv /opt/venv
ENV PATH="/opt/venv/bin:$PATH" PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    HOME=/tmp MALLOC_ARENA_MAX=2 CROWDQC_ENV=production STATIC_ROOT=/srv/static
WORKDIR /srv/app
COPY . .
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
    CMD ["python", "crowdqc/devstack/probe.py"]
CMD ["gunicorn", "crowdqc.wsgi:application", "--bind", "0.0.0.0:8000", \
     "--config", "python:crowdqc.web.server", "--worker-tmp-dir", "/dev/shm"]
