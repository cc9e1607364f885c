#!/usr/bin/env bash
# Build the image and try compose.yaml with it, on a machine without a registry and without Docker: the base images are
# made of Debian's packages. Needs root and Debian's mmdebstrap, buildah, podman, runc, netavark and aardvark-dns, and
# podman-compose (PyPI). 10 to 20 minutes, 8 GB of disk; not part of CI. With a registry, build from the real base:
#   BASE=python:3.11-slim scripts/try_image.sh
# BUILD_OPTIONS are given to buildah, such as --volume /etc/ssl/certs:/etc/ssl/certs:ro for a proxy's certificates.
set -euo pipefail
cd "$(dirname "$0")/.."
work="$(mktemp -d)"
project=hazardmill-trial
auth="admin:$RANDOM$RANDOM$RANDOM"
export CONTAINERS_CONF="$work/containers.conf"
cat > "$CONTAINERS_CONF" <<'CONF'
[containers]
default_ulimits = ["nofile=1024:4096", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_backend = "netavark"
CONF
# Where no systemd runs, podman says with each container that no timer will check its health; it is checked below.
quietly() { "$@" 2> >(grep -v "unable to get systemd connection" >&2); }
compose() { quietly podman-compose --project-name "$project" --env-file "$work/env" --file compose.yaml "$@"; }
step() { printf '\n== %s (%ss)\n' "$1" "$SECONDS"; }
trap 'compose down --volumes > /dev/null 2>&1 || true; rm -rf "$work"' EXIT
build() { buildah bud --quiet --layers --isolation chroot --format docker ${BUILD_OPTIONS:-} "$@" > /dev/null; }

if [ -z "${BASE:-}" ]; then
    step "base images from Debian's packages"
    BASE=localhost/python:3.11-debian
    mmdebstrap --quiet --variant=minbase --include=python3,python3-venv,python3-pip,python-is-python3,ca-certificates \
        bookworm "$work/python.tar"
    printf 'FROM scratch\nADD python.tar /\n' > "$work/Dockerfile"
    build --tag "$BASE" "$work"
fi
if ! podman image exists docker.io/library/postgres:17; then
    # In place of the image that compose.yaml names: PostgreSQL 15, told as that image is told.
    cat > "$work/start" <<'START'
set -e
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    initdb --username "$POSTGRES_USER" --auth scram-sha-256 --pwfile <(echo "$POSTGRES_PASSWORD") > /dev/null
    echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"
    pg_ctl --wait --options "-c listen_addresses=''" start
    PGPASSWORD="$POSTGRES_PASSWORD" createdb --username "$POSTGRES_USER" "$POSTGRES_DB"
    pg_ctl --wait stop
fi
exec postgres -c listen_addresses='*'
START
    cat > "$work/Dockerfile" <<'FILE'
FROM localhost/python:3.11-debian
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends postgresql-15 > /dev/null
COPY start /start
ENV PATH=/usr/lib/postgresql/15/bin:$PATH PGDATA=/var/lib/postgresql/data
USER postgres
CMD ["bash", "/start"]
FILE
    build --tag docker.io/library/postgres:17 "$work"
fi

step "image on $BASE"
build --build-arg BASE="$BASE" --tag hazardmill .
podman images --format '{{.Repository}}:{{.Tag}} {{.Size}}' | grep -E "hazardmill:|python:|postgres:"

step "the jail in a container with compose's rights, without a network"
quietly podman run --rm --network none --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \
    localhost/hazardmill sh -c 'id && hazardmill doctor'

step "compose up"
key="$(quietly podman run --rm --network none localhost/hazardmill \
    python -c 'from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())')"
printf 'HAZARDMILL_AUTH=%s\nHAZARDMILL_DATABASE_PASSWORD=d%s\nHAZARDMILL_ENCRYPTION_KEY=%s\n' \
    "$auth" "$RANDOM$RANDOM" "$key" > "$work/env"
compose up --detach --no-build > /dev/null
healthy() {
    for _ in $(seq 90); do
        podman healthcheck run "${project}_$1_1" > /dev/null 2>&1 && { echo "$1: healthy"; return; }
        sleep 2
    done
    podman logs --tail 20 "${project}_$1_1"
    return 1
}
for service in database server worker; do healthy "$service"; done

step "deployments"
compose --profile deploy run --rm -T deploy > "$work/deploy.log" 2>&1 || { cat "$work/deploy.log"; exit 1; }
grep -E "^created" "$work/deploy.log"

step "a run of 20 records by the worker"
quietly podman exec "${project}_worker_1" prefect deployment run generate/neiss -p limit=20 --watch | tail -1

step "the view of its store"
healthy view
answer() { curl --silent --output /dev/null --write-out "$1: %{http_code}\n" "${@:2}"; }
answer "the view" http://127.0.0.1:8718/
answer "the view under another name (400)" --header "Host: evil.example" http://127.0.0.1:8718/
answer "the server's pages" http://127.0.0.1:4200/
answer "the server's API without a password (401)" --request POST http://127.0.0.1:4200/api/flows/filter
podman exec "${project}_view_1" touch /app/generated/file 2> /dev/null && { echo "the view could write"; exit 1; }
podman stats --no-stream --format '{{.Name}}: {{.MemUsage}}'
step "done"
