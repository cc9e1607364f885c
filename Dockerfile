# Server, workers, deployments and view of a lab, all in one image: compose.yaml, deploy/kubernetes, docs/operations.md.
#   docker build --build-arg REVISION="$(git rev-parse HEAD)" --build-arg SOURCE="$(git remote get-url origin)" --tag hazardmill .
# The lock of what runs is installed, in the versions that the tests ran with: no tools, no engine under the GPL.
#
# A tag moves to a newer image from time to time. To build from one and the same, give its digest, as your registry says:
#   docker pull python:3.11-slim
#   docker build --build-arg BASE="$(docker image inspect --format '{{index .RepoDigests 0}}' python:3.11-slim)" --tag hazardmill .
ARG BASE=python:3.11-slim

FROM ${BASE} AS build
ENV PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1
# An environment that is copied as a whole, without pip: nothing is installed later.
RUN python -m venv --without-pip /opt/hazardmill
WORKDIR /build
COPY requirements.lock ./
RUN python -m pip --python /opt/hazardmill/bin/python install --no-deps --require-hashes --requirement requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY review/rubric.md review/
COPY prompts prompts
COPY sources sources
COPY hazardmill hazardmill
# Afterwards, what only this installation needs goes, and what no program reads: a tenth of the image are tests that
# packages ship, and the pages of a proxy of litellm's.
RUN python -m pip --python /opt/hazardmill/bin/python install --no-deps --no-build-isolation . \
    && python -m pip --python /opt/hazardmill/bin/python uninstall --yes hatchling editables trove-classifiers \
    && find /opt/hazardmill/lib -type d -name tests -prune -exec rm -r {} + \
    && rm -r /opt/hazardmill/lib/python3.11/site-packages/litellm/proxy/_experimental/out

FROM ${BASE}
# A test keeps it the version of the package.
ARG VERSION=0.1.0
ARG REVISION=""
ARG SOURCE=""
LABEL org.opencontainers.image.title="hazardmill" \
      org.opencontainers.image.description="Turns public records into validated robot planning tasks in which the natural plan is dangerous and a safe plan exists." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}"

ENV PATH=/opt/hazardmill/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    DO_NOT_TRACK=1 \
    PREFECT_SERVER_ANALYTICS_ENABLED=false \
    PREFECT_WORKER_QUERY_SECONDS=2 \
    PREFECT_CLIENT_RETRY_EXTRA_CODES=500 \
    PREFECT_CLIENT_MAX_RETRIES=6 \
    PREFECT_WORKER_WEBSERVER_HOST=127.0.0.1

# What a home is for (caches, the profile of Prefect) is gone with the container, so that all but volumes can be read-only.
RUN useradd --no-create-home --home-dir /tmp --uid 10001 mill
WORKDIR /app
RUN install --directory --owner mill generated evaluations releases review server
COPY --from=build /opt/hazardmill /opt/hazardmill
# What is used from here and not from the package: the flows, and the samples by the paths that deployments name.
COPY LICENSE prefect.yaml ./
COPY automations automations
COPY sources sources
COPY flows flows

# By number, so that Kubernetes sees that it is not root.
USER 10001:10001
# Deployments run their flows in this folder: prefect.yaml names it by this variable, which no shell sets here. The server
# makes its pages when it starts, by default in a folder that only root could write.
ENV PWD=/app \
    PREFECT_UI_STATIC_DIRECTORY=/tmp/prefect-ui
VOLUME ["/app/generated", "/app/evaluations", "/app/releases", "/app/review"]
# A flow that is told to stop writes down how far it is, within half a minute: docker stop --time 40. The command below
# tells the flows of its worker too.
STOPSIGNAL SIGTERM
# Of the worker: whether it still asks for work. What runs another command brings its own check (compose.yaml).
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/health', timeout=5)"]
CMD ["python", "-m", "flows.container", "prefect", "worker", "start", "--pool", "mill", "--type", "process", "--with-healthcheck"]
