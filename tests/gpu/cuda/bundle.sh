#!/usr/bin/env bash
# bundle.sh BUILD FAKE_DRIVER: makes the bundle, moves it, and runs it without the build tree: alone in a root folder of its own
# where this process may do that, else in an empty environment.
set -euo pipefail
build="$1" fake="$2"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
fail() { echo "bundle: $*" >&2; exit 1; }

cmake --install "$build" --component bundle --strip --prefix "$work/made" >"$work/log" 2>&1 || { cat "$work/log"; fail "was not made"; }
mkdir -p "$work/root/there"
mv "$work/made" "$work/root/there/moe4"
bundle="$work/root/there/moe4"
mib="$(du -sm "$bundle" | cut -f1)"
echo "$mib MiB"
[ "$mib" -lt 64 ] || fail "is larger than 64 MiB"
[ -f "$bundle/share/moe4/lists/smoke.cases" ] || fail "holds no lists"

# Whatever it needs lies in it, or belongs to the C library.
for file in "$bundle/bin/moe4" "$bundle"/lib/*; do
  readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | while read -r needed; do
    case "$needed" in
      ld-linux*|libc.so*|libm.so*|libdl.so*|librt.so*|libpthread.so*) ;;
      *) [ -e "$bundle/lib/$needed" ] || fail "$(basename "$file") needs $needed" ;;
    esac
  done
done
# Nothing of it leads back to where it was built.
if readelf -d "$bundle/bin/moe4" | grep -E 'R(UN)?PATH' | grep -qv 'ORIGIN'; then fail "has a path of this machine"; fi

cp "$fake" "$work/root/there/libcuda_fake.so"
run=(env -i OMP_WAIT_POLICY=passive)
at="$work/root"
# A root of its own: the bundle, the C library, and a name for the running program.
copied() { for library in "$@"; do mkdir -p "$work/root$(dirname "$library")"; cp -L "$library" "$work/root$library"; done; }
# shellcheck disable=SC2046
copied $(ldd "$bundle/bin/moe4" | grep -oE '/[^ ]*/(ld-linux[^ ]*|lib(c|m|dl|rt|pthread)\.so[^ ]*)' | sort -u)
mkdir -p "$work/root/proc/self" "$work/root/tmp" "$work/root/dev"
ln -s /there/moe4/bin/moe4 "$work/root/proc/self/exe"
: >"$work/root/dev/null"
if chroot "$work/root" /there/moe4/bin/moe4 --version >/dev/null 2>&1; then
  run=(chroot "$work/root" /there/moe4/bin/moe4)
  run=(env -i OMP_WAIT_POLICY=passive "$(command -v chroot)" "$work/root")
  at=""
  echo "in a root folder of its own"
else
  echo "in an empty environment"
fi

moe4() { "${run[@]}" "$at/there/moe4/bin/moe4" "$@"; }
moe4 gate --tier smoke --subject combine_once_f32 >"$work/out" || { cat "$work/out"; fail "gate"; }
grep -q '^PASSED' "$work/out" || { cat "$work/out"; fail "gate: not PASSED"; }
moe4 gate --tier smoke --subject combine_once_f32 --device cuda --cuda-driver "$at/there/libcuda_fake.so" >"$work/out" ||
  { cat "$work/out"; fail "gate --device cuda"; }
grep -q 'combine_once_f32/cuda' "$work/out" || { cat "$work/out"; fail "gate --device cuda: not there"; }
if moe4 gate --device cuda --cuda-driver /none --subject combine_once_f32 >"$work/out"; then fail "no driver is not red"; fi
grep -q 'SKIPPED(no device)' "$work/out" || { cat "$work/out"; fail "no driver is not said"; }
moe4 fixtures hardware record --device cuda --cuda-driver "$at/there/libcuda_fake.so" --count 32 --out "$at/tmp/recorded" >"$work/out" ||
  { cat "$work/out"; fail "record"; }
moe4 bench gpu --static >"$work/out" || { cat "$work/out"; fail "bench gpu"; }
echo "the bundle runs"
