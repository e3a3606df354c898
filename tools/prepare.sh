# Sourced by demo.sh and test.sh: installs what is missing on Debian or Ubuntu and leaves alone what is there.
# shellcheck shell=bash

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_ROOT_USER_ACTION=ignore PIP_USE_PEP517=1

say() { printf '%s\n' "ovnlb: $*" >&2; }

fail() {
    printf '%s\n' "ovnlb: error: $*" >&2
    exit 1
}

# packages PROFILE: the Debian packages that bindep.txt lists for it.
packages() {
    awk -v profile="$1" '/^[a-z]/ && /platform:dpkg/ {
        line = $0; gsub(/[][]/, " ", line); n = split(line, word, " ")
        for (i = 2; i <= n; i++) if (word[i] == profile) print word[1]
    }' "$TOP/bindep.txt"
}

# missing PACKAGE...: those that dpkg does not know as installed.
missing() {
    local package
    for package in "$@"; do
        dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^.i' || printf '%s\n' "$package"
    done
}

# Run as root with package names as arguments, hence the single quotes. A policy-rc.d keeps the distribution from starting services
# during the installation; one that is already there is respected and stays. Nothing installed is ever removed:
# a machine with MySQL does not lose it to MariaDB.
# shellcheck disable=SC2016
INSTALL='
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap "rm -f $policy" EXIT
    trap "exit 1" HUP INT TERM
    printf "#!/bin/sh\nexit 101\n" > "$policy" && chmod 755 "$policy"
fi
export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1
apt-get -q -o Acquire::Retries=3 update &&
    apt-get -q -o Acquire::Retries=3 install -y --no-remove --no-install-recommends "$@"
'

# root_command: "" for root, "sudo" where it can work, fails otherwise.
root_command() {
    if [ "$(id -u)" -eq 0 ]; then return 0; fi
    if ! command -v sudo >/dev/null; then return 1; fi
    if ! sudo -n true 2>/dev/null && [ ! -t 0 ]; then return 1; fi
    echo sudo
}

# install_packages PROFILE: what the profile lacks, by apt. A suitable Python spares the distribution's.
install_packages() {
    local wanted lacking as_root log
    mapfile -t wanted < <(packages "$1")
    if find_python any >/dev/null; then
        mapfile -t wanted < <(printf '%s\n' "${wanted[@]}" | grep -v '^python3')
    fi
    if ! command -v dpkg-query >/dev/null; then
        say "no dpkg here: taking it for granted that these are installed: ${wanted[*]}"
        return
    fi
    mapfile -t lacking < <(missing "${wanted[@]}")
    [ "${#lacking[@]}" -gt 0 ] || return 0
    as_root=$(root_command) || fail "these packages are missing and installing them needs root or sudo. As root, run:
    apt-get install --no-install-recommends ${lacking[*]}"
    say "installing ${lacking[*]}"
    log=$(mktemp)
    # shellcheck disable=SC2086
    if ! $as_root sh -c "$INSTALL" sh "${lacking[@]}" </dev/null >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        fail "apt-get could not install ${lacking[*]}: see above"
    fi
    rm -f "$log"
}

# interpreters: candidate Python executables, best first; pyenv's versions are found even without its shims.
interpreters() {
    local root name
    if [ -n "${PYTHON:-}" ]; then
        type -P "$PYTHON"
        return
    fi
    for name in python3.11 python3.12 python3.13 python3; do
        type -aP "$name" || true
    done
    for root in "${PYENV_ROOT:-}" "${HOME:-}/.pyenv" "$(dirname "$(command -v pyenv || echo /nonexistent/bin/pyenv)")/.."; do
        [ -d "$root/versions" ] && printf '%s\n' "$root"/versions/3.1[1-9]*/bin/python3
    done
    return 0
}

# version_of PYTHON: "3.11", or nothing when it does not start or cannot make virtual environments.
version_of() {
    "$1" -c 'import ensurepip, sys, venv; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || true
}

# find_python VERSION|any: prints the first interpreter of that version, "any" being 3.11 or later; fails without one.
find_python() {
    local candidate version
    while read -r candidate; do
        version=$(version_of "$candidate")
        case "$1:$version" in
            any:3.1[1-9]* | "$1:$1")
                printf '%s\n' "$candidate"
                return 0 ;;
        esac
    done < <(interpreters)
    return 1
}

# make_venv FOLDER PIP-ARGUMENTS...: a virtual environment that holds them. Made once; installed again only when
# the arguments or the files that decide about the installation have changed.
make_venv() {
    local folder=$1 python wanted
    shift
    python=$(find_python any) || fail "${PYTHON:+PYTHON=$PYTHON: }no Python 3.11 or later with the venv module was found. \
Debian 12 and Ubuntu 24.04 have it; elsewhere install one and set PYTHON=/path/to/python3"
    wanted=$(printf '%s\n' "$TOP" "$@" | cat - "$TOP/pyproject.toml" "$TOP"/tests/constraints/*.txt | sha256sum)
    if ! "$folder/bin/python" -c '' 2>/dev/null; then
        "$python" -m venv --clear "$folder" || fail "$python cannot make a virtual environment in $folder"
    elif [ "$(cat "$folder/installed" 2>/dev/null)" = "$wanted" ]; then
        return 0
    fi
    say "installing Python packages in ${folder#"$TOP"/} ($("$folder/bin/python" -V))"
    rm -f "$folder/installed"
    "$folder/bin/python" -m pip install -qq "$@" || fail "pip could not install: $* (is a package index reachable?)"
    printf '%s\n' "$wanted" >"$folder/installed"
}
