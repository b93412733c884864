#!/usr/bin/env bash
# One step of the Python tests:
#
#   python.sh venv SOURCE WORK             a venv with what the tests need, NumPy from PyPI
#   python.sh install SOURCE WORK PREFIX   the wheel, against the moe4 installed at PREFIX; that into the venv
#   python.sh test SOURCE WORK             pytest
#   python.sh torch-venv SOURCE WORK PREFIX   for each Python that has a PyTorch a venv that sees it, and its NumPy
#   python.sh torch-test SOURCE WORK       pytest of what needs PyTorch in each of them
#   python.sh torch-docs SOURCE WORK MOE4  what docs say of the PyTorch example, in each of them
#
# PyTorch is Debian's, in /usr/bin/python3, and beside it a newer one where there is one: in the python3 of PATH, or in
# MOE4_TORCH_PYTHON. Exit code 77 is CTest's "skipped": something cannot be had on this machine. With MOE4_PYTHON=1, as in
# CI, that is a failure.
set -euo pipefail
step="$1" source="$2" work="$3" more="${4:-}"
venv="$work/venv"
pip=(-m pip --quiet --disable-pip-version-check)

if [ "${MOE4_PYTHON:-}" = 0 ]; then exit 77; fi

unavailable() {
  echo "$*" >&2
  [ "${MOE4_PYTHON:-}" != 1 ] || exit 1
  exit 77
}

# make_venv PYTHON FOLDER [PACKAGES]: with the requirements; what the folder PACKAGES has is seen, and its NumPy kept, since
# a PyTorch works with that of its time. Made anew only when one of these has changed.
make_venv() {
  local python="$1" folder="$2" packages="${3:-}" want keep=()
  if [ -n "$packages" ]; then
    keep=("numpy==$("$python" -c 'import numpy; print(numpy.__version__)')") || unavailable "$python has PyTorch and no NumPy"
  fi
  want="$("$python" -c 'import sys; print(sys.executable, sys.version)') $packages ${keep[*]}
$(cat "$source/tests/python/requirements.txt")" || unavailable "$python does not run"
  if [ -f "$folder/.requirements" ] && [ "$(cat "$folder/.requirements")" = "$want" ]; then return 0; fi
  rm -rf "$folder"
  mkdir -p "$work"
  "$python" -m venv "$folder" || unavailable "$python -m venv does not work (package python3-venv)"
  if [ -n "$packages" ]; then echo "$packages" >"$(echo "$folder"/lib/python3*/site-packages)/torch.pth"; fi
  "$folder/bin/python" "${pip[@]}" install "${keep[@]}" -r "$source/tests/python/requirements.txt" ||
    unavailable "pip cannot install what the tests need"
  printf '%s' "$want" >"$folder/.requirements"
}

# put_moe4 FOLDER: this tree's package into a venv, built once for each version of Python.
put_moe4() {
  local python="$1/bin/python" tag
  tag="$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')"
  compgen -G "$work/wheel/*-$tag-*.whl" >/dev/null ||
    "$python" "${pip[@]}" wheel --no-build-isolation --no-deps -w "$work/wheel" --config-settings=build-dir="$work/build/$tag" \
      --config-settings=cmake.define.moe4_DIR="$(echo "$more"/lib*/cmake/moe4)" --config-settings=cmake.define.CMAKE_CXX_FLAGS_RELEASE=-O1 "$source"
  "$python" "${pip[@]}" install --no-deps --force-reinstall "$work"/wheel/*-"$tag"-*.whl
}

# The folder of packages in which a Python has its PyTorch.
torch_of() {
  "$1" -c 'import os, torch; print(os.path.dirname(os.path.dirname(torch.__file__)))' 2>/dev/null
}

case "$step" in
  venv)
    command -v python3 >/dev/null || unavailable "no python3"
    make_venv python3 "$venv"
    ;;
  install)
    [ -f "$venv/.requirements" ] || unavailable "there is no venv"
    rm -rf "$work/wheel"
    put_moe4 "$venv"
    ;;
  test)
    [ -f "$venv/.requirements" ] || unavailable "there is no venv"
    cd "$source/tests/python"
    exec "$venv/bin/python" -m pytest -q -p no:cacheprovider --ignore=test_torch.py \
      --ignore=test_compressed_tensors.py .
    ;;
  torch-venv)
    packages="$(torch_of /usr/bin/python3)" || unavailable "/usr/bin/python3 has no PyTorch (package python3-torch)"
    make_venv /usr/bin/python3 "$work/venv-torch" "$packages"
    put_moe4 "$work/venv-torch"
    # The witness of test_compressed_tensors.py: the package alone, as it needs a newer PyTorch than Debian's.
    peer="compressed-tensors==$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["version"])' \
                                "$source/tests/python/compressed_tensors.json")"
    if [ "$(cat "$work/peer/.package" 2>/dev/null)" != "$peer" ]; then
      rm -rf "$work/peer"
      "$work/venv-torch/bin/python" "${pip[@]}" install --no-deps --target "$work/peer" "$peer" ||
        unavailable "pip cannot install $peer"
      printf '%s' "$peer" >"$work/peer/.package"
    fi
    newer="${MOE4_TORCH_PYTHON:-python3}"
    if also="$(torch_of "$newer")" && [ "$also" != "$packages" ]; then
      make_venv "$newer" "$work/venv-torch-newer" "$also"
      put_moe4 "$work/venv-torch-newer"
    else
      rm -rf "$work/venv-torch-newer"
    fi
    ;;
  torch-test | torch-docs)
    [ -f "$work/venv-torch/.requirements" ] || unavailable "there is no PyTorch"
    cd "$source/tests/python"
    for folder in "$work"/venv-torch*; do
      if [ "$step" = torch-test ]; then
        MOE4_PEER="$work/peer" "$folder/bin/python" -m pytest -q -p no:cacheprovider test_torch.py test_compressed_tensors.py
      else
        "$folder/bin/python" -B "$source/tests/docs/run_pytorch.py" "$more" "$source"
      fi
    done
    ;;
esac
