#!/usr/bin/env bash
# What is measured on a GPU host, in one call: set-up, build, tests. The host needs a python3 with
# torch and triton, g++, cmake and ninja; no registry (carry .deps-stage there: scripts/stage-deps).
#
#   bench/gpu.sh [STEP...]      steps: machine setup build test doctor demo (default: all)
#
# PYTHON (default: python3), KW_DEPS (default: .deps-stage when it is there), JOBS (default: all
# cores), OUT (default: bench/out): logs and gpu.txt, the table of steps, written as each one ends.
# shellcheck disable=SC2317  # steps are called by name
set -uo pipefail
cd "$(dirname "$0")/.." || exit
steps=("$@")
[ ${#steps[@]} -gt 0 ] || steps=(machine setup build test doctor demo)
out=${OUT:-bench/out}
mkdir -p "$out"
export PYTHON=${PYTHON:-$(command -v python3)} BUILD=build-gpu
if [ -z "${KW_DEPS:-}" ] && [ -d .deps-stage ]; then export KW_DEPS=.deps-stage; fi
make=(make --no-print-directory)
[ -z "${JOBS:-}" ] || make+=("JOBS=$JOBS")
table=$out/gpu.txt
: >"$table"
status=0

step_machine() {
  uname -srm
  nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv,noheader
  "$PYTHON" -c 'import sys, torch, triton; print(sys.version.split()[0], torch.__version__, triton.__version__)'
  g++ --version | head -n 1
  git log -1 --format='commit %h' 2>/dev/null || true
}
step_setup() { "${make[@]}" setup; }
step_build() { "${make[@]}" build; }
step_test() {  # every C++ test binary and the workers' tests, on this machine's torch and triton
  "${make[@]}" test
}
step_doctor() { "$BUILD/kernelwright" doctor; }
step_demo() { scripts/demo; }

for step in "${steps[@]}"; do
  declare -F "step_$step" >/dev/null || { echo "gpu.sh: no step called $step" >&2 && exit 2; }
  echo "== $step"
  started=$SECONDS result=ok
  "step_$step" 2>&1 | tee "$out/$step.log"
  [ "${PIPESTATUS[0]}" = 0 ] || { result=FAILED && status=1; }
  printf '%-8s %5d s  %s\n' "$step" $((SECONDS - started)) "$result" >>"$table"
  if [ "$result" = FAILED ] && { [ "$step" = setup ] || [ "$step" = build ]; }; then break; fi
done
echo "== $(basename "$0")"
cat "$table"
exit $status
