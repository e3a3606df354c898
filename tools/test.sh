#!/usr/bin/env bash
# Installs what is missing and runs the tests: the tox environments given as arguments, else every one in STAGES.
# A stage that fails does not stop the next; the exit code is 0 only when all of them passed. One that starts a
# whole cloud is run once more when it fails, and reported as "second" when it passes then.
set -euo pipefail
# shellcheck source=tools/prepare.sh
. "$(dirname "${BASH_SOURCE[0]}")/prepare.sh"

STAGES=(lint mypy docs security wheel py313 py312 newest 2026.2)
CLOUDS=(smoke e2e faults tempest octavia-api)
REPORT=()
# Most of these make network and mount namespaces, which takes root with its capabilities.
for stage in "${CLOUDS[@]}"; do
    case "$stage" in
        smoke | e2e | tempest)
            if ! unshare --net --mount true 2>/dev/null; then
                REPORT+=("$(printf '%-11s not run: namespaces cannot be made here, it needs root' "$stage")")
                continue
            fi ;;
    esac
    STAGES+=("$stage")
done
if [ "$#" -gt 0 ]; then
    STAGES=("$@")
    REPORT=()
fi

install_packages test
case " ${STAGES[*]} " in
    *" e2e "* | *" datapath "* | *" smoke "* | *" tempest "*) install_packages stack ;;
esac
make_venv "$TOP/.tox/runner" 'tox>=4.30' 'tox-uv>=1.29'

# uv looks for interpreters on PATH only and must not download any
export UV_PYTHON_DOWNLOADS=never
[ -w "${HOME:-}" ] || export UV_CACHE_DIR="${UV_CACHE_DIR:-$TOP/.tox/uv-cache}"
declare -A HERE=()
for version in 3.11 3.12 3.13; do
    python=$(find_python "$version") || continue
    HERE[$version]=$python
    PATH="$PATH:$(dirname "$("$python" -c 'import os, sys; print(os.path.realpath(sys.executable))')")"
done

LOGS=$(mktemp -d)
trap 'rm -rf "$LOGS"' EXIT

# python_of STAGE: the interpreter version that the stage asks for.
python_of() {
    case "$1" in
        py3[0-9][0-9]) printf '3.%s\n' "${1#py3}" ;;
        2026.2 | newest) printf '3.11\n' ;;
    esac
}

# run STAGE: quiet when it passes; CI keeps the whole output.
run() {
    local log=$LOGS/$1 status=0
    local -a tox=("$TOP/.tox/runner/bin/tox" run --skip-missing-interpreters false -c "$TOP/tox.ini" -e "$1")
    if [ -n "${CI:-}" ]; then
        "${tox[@]}" </dev/null 2>&1 | tee "$log" || status=$?
    else
        "${tox[@]}" </dev/null >"$log" 2>&1 || { status=$?; cat "$log"; }
    fi
    return "$status"
}

# minutes: how long all of this has taken until now.
minutes() { printf '%d\n' $((($(date +%s) - STARTED) / 60)); }

# is_cloud STAGE: whether it starts a whole cloud, whose servers share one machine's time.
is_cloud() { [[ " ${CLOUDS[*]} " == *" $1 "* ]]; }

# pytest_line STAGE: the closing line of its pytest run, without ornaments, if it had one.
pytest_line() { sed 's/\x1b\[[0-9;]*m//g' "$LOGS/$1" | grep -E '^=*.*[0-9]+ (passed|failed|error|skipped).* in [0-9.]+s' | tail -n 1 | tr -d '=' | xargs; }

# counted WORDS: the sum over all stages of the numbers before one of these words.
counted() {
    printf '%s\n' "${LINES_[@]}" | grep -oE "[0-9]+ ($1)" | awk '{ sum += $1 } END { print sum + 0 }'
}

failed=0
STARTED=$(date +%s)
LINES_=("")
for stage in "${STAGES[@]}"; do
    version=$(python_of "$stage")
    if [ -n "$version" ] && [ -z "${HERE[$version]:-}" ]; then
        say "$stage: there is no Python $version here, not run"
        REPORT+=("$(printf '%-11s not run: no Python %s here' "$stage" "$version")")
        continue
    fi
    # Continuous integration ends after 90 minutes.
    if [ -n "${CI:-}" ] && is_cloud "$stage" && [ "$(minutes)" -ge 68 ]; then
        say "$stage: no time left, not run"
        REPORT+=("$(printf '%-11s not run: no time left' "$stage")")
        continue
    fi
    say "$stage: running"
    SECONDS=0
    outcome=passed
    if ! run "$stage"; then
        outcome=FAILED
        if is_cloud "$stage" && [ "$(minutes)" -lt 50 ] && say "$stage: FAILED, once more" && run "$stage"; then
            outcome=second
        else
            failed=1
        fi
    fi
    line=$(pytest_line "$stage" || true)
    LINES_+=("$line")
    REPORT+=("$(printf '%-11s %-6s %4d s  %s' "$stage" "$outcome" "$SECONDS" "$line")")
    say "$stage: $outcome after $SECONDS s"
done

printf '\n'
printf '%s\n' "${REPORT[@]}"
printf '%s passed, %s failed, %s skipped\n' "$(counted passed)" "$(counted 'failed|errors?')" "$(counted skipped)"
exit "$failed"
