#!/usr/bin/env bash
# One step of the Python tests: python.sh venv|install|test SOURCE WORK [PREFIX of an installed moe4]
#
# Exit code 77 is CTest's "skipped": Python's packages cannot be had on this machine. With MOE4_PYTHON=1, as in CI,
# that is a failure.
set -euo pipefail
step="$1" source="$2" work="$3" prefix="${4:-}"
venv="$work/venv"
stamp="$venv/.requirements"

if [ "${MOE4_PYTHON:-}" = 0 ]; then exit 77; fi

unavailable() {
  echo "$*"
  [ "${MOE4_PYTHON:-}" != 1 ] || exit 1
  exit 77
}

case "$step" in
  venv)
    want="$(python3 --version) $(cat "$source/tests/python/requirements.txt")" || unavailable "no python3"
    if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ]; then exit 0; fi
    rm -rf "$venv"
    mkdir -p "$work"
    python3 -m venv "$venv" || unavailable "python3 -m venv does not work (package python3-venv)"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$source/tests/python/requirements.txt" ||
      unavailable "pip cannot install what the tests need"
    printf '%s' "$want" >"$stamp"
    ;;
  install)
    [ -f "$stamp" ] || unavailable "there is no venv"
    config="$(echo "$prefix"/lib*/cmake/moe4)"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall \
      -Cbuild-dir="$work/build" -Ccmake.define.moe4_DIR="$config" \
      -Ccmake.define.CMAKE_CXX_FLAGS_RELEASE=-O1 "$source"
    ;;
  test)
    [ -f "$stamp" ] || unavailable "there is no venv"
    cd "$source/tests/python"
    exec "$venv/bin/python" -m pytest -q -p no:cacheprovider .
    ;;
esac
