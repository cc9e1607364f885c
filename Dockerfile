# A worker in a container, for the process pool `mill` of a server elsewhere (docs/prefect.md, "Workers in containers").
#   docker build --tag hazardmill-worker .
# The lock of what runs is installed, in the versions that the tests ran with: no tools, no engine under the GPL.
FROM python:3.11-slim

ENV PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PYTHONUNBUFFERED=1 \
    DO_NOT_TRACK=1 \
    PREFECT_SERVER_ANALYTICS_ENABLED=false \
    PREFECT_WORKER_QUERY_SECONDS=2

RUN useradd --create-home --uid 10001 mill
WORKDIR /app

COPY requirements.lock ./
RUN python -m pip install --no-deps --require-hashes --requirement requirements.lock

COPY pyproject.toml README.md LICENSE CHANGELOG.md ./
COPY hazardmill hazardmill
COPY flows flows
COPY automations automations
COPY prefect.yaml ./
COPY prompts prompts
COPY sources sources
RUN python -m pip install --no-deps --no-build-isolation --editable . \
    && install --directory --owner mill generated evaluations releases review

USER mill
# Deployments run their flows in this folder: prefect.yaml names it by this variable, which no shell sets here.
ENV PWD=/app
VOLUME ["/app/generated", "/app/evaluations", "/app/releases", "/app/review"]
# A flow that is told to stop writes down how far it is, within half a minute: docker stop --time 40.
STOPSIGNAL SIGTERM
CMD ["prefect", "worker", "start", "--pool", "mill", "--type", "process"]
