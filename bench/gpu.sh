#!/usr/bin/env bash
# What is measured on a GPU host, in one call: set-up, build, tests. The host needs a python3 with
# torch and triton, g++, cmake and ninja; no registry (carry .deps-stage there: scripts/stage-deps).
#
#   bench/gpu.sh [STEP...]      steps: machine setup build doctor test parity teacher families examples
#                               agreement warm verdicts selftest truth throughput intervals numerics
#                               replay suites profile products pairs learning ablation policies unseen predicates
#                               collect reports libraries kernels largest sanitize (default: all but the last fifteen)
#
# PYTHON (default: python3), KW_DEPS (default: .deps-stage when it is there), JOBS (default: all
# cores), BUILD (default: build-gpu), OUT (default: bench/out): results,
# gpu.log, and gpu.txt, the table of steps, written as each one ends. `ablation`, `policies`,
# `unseen`, `collect` and `reports` use all GPUs that there are (CUDA_VISIBLE_DEVICES). LEVELS: "1 2 5"; COMMIT: what results
# name where there is no git.
# shellcheck disable=SC2317  # steps are called by name
set -uo pipefail
cd "$(dirname "$0")/.." || exit
steps=("$@")
[ ${#steps[@]} -gt 0 ] ||
  steps=(machine setup build doctor test parity teacher families examples agreement warm
         verdicts selftest truth throughput intervals numerics replay)
out=${OUT:-bench/out}
mkdir -p "$out"
export PYTHON=${PYTHON:-$(command -v python3)} BUILD=${BUILD:-build-gpu}
if [ -z "${KW_DEPS:-}" ] && [ -d .deps-stage ]; then export KW_DEPS=.deps-stage; fi
make=(make --no-print-directory)
[ -z "${JOBS:-}" ] || make+=("JOBS=$JOBS")
table=$out/gpu.txt
: >"$table"
: >"$out/gpu.log"
status=0

gpus() {
  if [ -n "${CUDA_VISIBLE_DEVICES:-}" ]; then tr ',' '\n' <<<"$CUDA_VISIBLE_DEVICES"; else nvidia-smi -L; fi |
    grep -c .
}

step_machine() {
  uname -srm
  nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv,noheader
  "$PYTHON" -c 'import sys, torch, triton; print(sys.version.split()[0], torch.__version__, triton.__version__)'
  g++ --version | head -n 1
  git log -1 --format='commit %h' 2>/dev/null || true
}
step_setup() { "${make[@]}" setup; }
step_build() {  # the product, its tests and the tools that measure
  # shellcheck source=/dev/null
  "${make[@]}" build && . "$BUILD/setup.env" && "$KW_NINJA" -C "$BUILD" tests
}
step_doctor() { "$BUILD/kernelwright" doctor; }
step_test() {  # the C++ tests on this torch, and what only a device can show
  local code=0 gpu_tests=0
  # shellcheck source=/dev/null
  . "$BUILD/setup.env"
  KW_BUILD_DIR=$PWD/$BUILD "$PYTHON" -m pytest -q tests/gpu >"$out/pytest.txt" 2>&1 & gpu_tests=$!
  "${KW_CMAKE%cmake}ctest" --test-dir "$BUILD" -j 8 --output-on-failure || code=1
  wait $gpu_tests || code=1
  cat "$out/pytest.txt"
  return $code
}
step_parity() {  # every operator of the table against eager PyTorch on this device
  "$PYTHON" tests/operators/parity.py --tool "$BUILD/replay_program" --backend cuda \
    --cases "${CASES:-25}" --out "$out/parity.json"
}
step_teacher() {  # random cases of each operator, written and judged; ALL=1: of more than the 61
  "$PYTHON" tests/operators/teacher_coverage.py --kernelwright "$BUILD/kernelwright" \
    --backend cuda --cases "${CASES:-20}" --jobs "${EVALS:-4}" ${ALL:+--all} \
    --out "$out/teacher_coverage.json"
}
# The teacher's schedules, family by family, against eager, torch.compile and the physical floor.
# FAMILIES="softmax,scan": of these (results of the others stay); SAMPLES: schedules for each model.
step_families() {
  "$PYTHON" bench/families.py "$BUILD/kernelwright" --out "$out/families.json" \
    --samples "${SAMPLES:-12}" ${FAMILIES:+--only "$FAMILIES"}
}
# Models (of EXAMPLES, where it is set; results of the others stay) against eager and torch.compile, by all GPUs.
optimize_models() {  # folder of results, models
  "$PYTHON" bench/optimize_models.py "$BUILD/kernelwright" --out "$1" --gpus "$(gpus)" --budget "${BUDGET:-90s}" \
    --minutes "${MINUTES:-1e9}" --store "$BUILD/store.sqlite" \
    --commit "${COMMIT:-$(git rev-parse --short HEAD 2>/dev/null)}" "${@:2}"
}
gather_examples() {  # as STEP.json, from a folder of results
  "$PYTHON" bench/collect_examples.py "$2" "${BUDGET:+BUDGET=$BUDGET }bench/gpu.sh $1" >"$out/$1.part" || return
  mv "$out/$1.part" "$out/$1.json"
  (cd "$2" && tar czf - ./*/optimized.py ./*/report.html ./*/verdict.json) >"$out/$1.tar.gz"
}
step_examples() {
  local code=0
  rm -rf "$BUILD/results/warm"  # of other results
  # shellcheck disable=SC2086
  optimize_models "$BUILD/results" ${EXAMPLES:-examples/*.py} || code=1
  gather_examples examples "$BUILD/results" && return $code
}
# The same of the model of each family of kernels that takes eager PyTorch longest (LARGEST: some of their files).
step_largest() {
  local code=0
  rm -rf "$BUILD/largest-models"
  "$PYTHON" bench/families.py --largest bench/h200/families.json --keep "$BUILD/largest-models" || return
  # shellcheck disable=SC2086
  optimize_models "$BUILD/largest" ${LARGEST:-"$BUILD"/largest-models/*.py} || code=1
  gather_examples largest "$BUILD/largest" && return $code
}

step_agreement() {  # the results of `examples` again in plain PyTorch, timed by CUDA events
  local code=0
  "$PYTHON" bench/plain_python.py "$BUILD"/results/*/optimized.py >"$BUILD/results/plain.json" || code=1
  gather_examples agreement "$BUILD/results" || code=1
  return $code
}

step_warm() {  # the examples once more: what the store knows need not be found again
  local code=0
  # shellcheck disable=SC2086
  optimize_models "$BUILD/results/warm" ${EXAMPLES:-examples/*.py} || code=1
  gather_examples warm "$BUILD/results" && return $code
}

step_profile() {  # what each kernel of the examples' results does, beside torch.compile's
  local files=()
  for model in ${EXAMPLES:-examples/*.py}; do
    files+=("$BUILD/results/$(basename "$model" .py)/optimized.py")
  done
  "$PYTHON" bench/ncu.py "${files[@]}" >"$out/profile.json"
}

step_verdicts() {  # what judging the results of `examples` costs, in seconds and memory
  "$PYTHON" bench/verdicts.py "$BUILD/kernelwright" "$BUILD"/results/*/ --backend cuda \
    --out "$out/verdicts.json"
}

step_selftest() {  # the labelled corpora on this device, in PARTS at once
  local code=0 parts=${PARTS:-4} part pids=()
  for part in $(seq "$parts"); do
    "$BUILD/kernelwright" selftest --backend cuda --json --part "$part" --parts "$parts" \
      >"$out/selftest-$part.jsonl" &
    pids+=($!)
  done
  for part in "${pids[@]}"; do wait "$part" || code=1; done
  cat "$out"/selftest-*.jsonl >"$out/selftest.jsonl"
  rm "$out"/selftest-*.jsonl
  return $code
}

step_sanitize() {  # both corpora under compute-sanitizer; findings are listed, and no surprise but in programs that are wrong
  local parts=${PARTS:-28}
  export BUILD out parts
  seq "$parts" | xargs -P "${AT_ONCE:-7}" -I{} bash -c \
    '"$BUILD/kernelwright" selftest --backend cuda --sanitize --json --part {} --parts $parts >"$out/sanitized-{}.jsonl"'
  local code=$?
  "$PYTHON" bench/sanitized.py "$out"/sanitized-*.jsonl --out "$out/sanitized.json" --commit "${COMMIT:-}" || code=1
  rm "$out"/sanitized-*.jsonl
  return $code
}

step_truth() {  # what is handed out for files that lie, run in plain Python on this device; GRAPHED=1: by CUDA graphs
  "$PYTHON" tests/truth_cases.py "$BUILD/kernelwright" --backend cuda --jobs "${EVALS:-5}" ${GRAPHED:+--graphed} \
    >"$out/truth${GRAPHED:+_graphed}.jsonl"
}

step_libraries() {  # models of libraries, as this host has them; PACKAGES: a folder with further ones
  "$PYTHON" bench/library_models.py "$BUILD/kernelwright" --jobs "${EVALS:-8}" \
    ${PACKAGES:+--packages "$PACKAGES"} --out "$out/library_models.jsonl"
}

step_kernels() {  # kernels of libraries that are installed in the folder PACKAGES (docs/real-kernels.md)
  KW_BUILD_DIR=$PWD/$BUILD "$PYTHON" tests/real_kernels.py --packages "${PACKAGES:?}" \
    --out "$out/real_kernels.jsonl" -- --backend cuda
}

step_throughput() {  # verdicts a second; CLASSES="small,products": of these, SCALE: of the candidates, EXECUTORS="1,2,4"
  "$PYTHON" bench/throughput.py "$BUILD/kernelwright" ${CLASSES:+--only "$CLASSES"} \
    --scale "${SCALE:-1}" --executors "${EXECUTORS:-0}" --out "$out/throughput.json"
}

step_intervals() {  # ten tasks timed five times: do the intervals contain what they should
  "$PYTHON" bench/intervals.py "$BUILD/kernelwright" --out "$out/intervals.json"
}

step_suites() {  # suites/ anew: a hundred tasks of each level for tests, clean at full size
  mkdir -p "$out/suites"
  local code=0 level cover
  for level in ${LEVELS:-1 2 5 20}; do
    cover=--cover
    [ "$level" -le 2 ] || cover=
    # shellcheck disable=SC2086
    "$BUILD/kernelwright" synth --level "$level" $cover --split test --count "${COUNT:-100}" \
      --seed 2026 --twin 2^24:2^28 --backend cuda --out "$out/suites/level$level.jsonl" || code=1
  done
  (cd "$out" && tar czf suites.tar.gz suites)
  return $code
}

# suites/ on other inputs, and what the teacher makes of them by itself; TASKS=A:B: of some of them.
step_replay() {
  local code=0 level
  for level in ${LEVELS:-1 2 5 20}; do
    "$PYTHON" bench/suites.py "$BUILD/kernelwright" --level "$level" --seed "${SEED:-$RANDOM}" \
      --samples "${SAMPLES:-3}" --trials "${TRIALS:-0}" ${TASKS:+--tasks "$TASKS"} \
      >>"$out/suites.jsonl" || code=1
  done
  return $code
}

step_products() {  # what fetching operands by the TMA is worth, in kernels written by hand
  "$PYTHON" bench/products.py >"$out/products.txt"
}

step_pairs() {  # of each operator and kind of schedule one pair, and RANDOM_PROGRAMS at random
  local code=0 judge=(--check cuda --executors 6 --low 24 --high 28 --log-elements 26)
  [ "${CELL_PROGRAMS:-6000}" = 0 ] ||
    "$BUILD/train_pairs" --levels 1 --seed 41 --count "${CELL_PROGRAMS:-6000}" --batch 2000 --cells 1 \
      "${judge[@]}" --report "$out/pairs_cells.json" || code=1
  "$PYTHON" bench/pairs.py "$BUILD/train_pairs" --gpus "$(gpus)" --programs "${RANDOM_PROGRAMS:-1300}" \
    --minutes "${MINUTES:-9}" --commit "${COMMIT:-}" --out "$out/pairs_random.json" -- \
    --levels 1,2,3,5,8,12,20 --seed "${PAIRS_SEED:-43}" "${judge[@]}" || code=1
  return $code
}

step_learning() {  # tokens a second, beside plain PyTorch and transformers
  "$PYTHON" bench/learning.py "$BUILD/train_measure" --out "$out/learning.json"
}

# Objectives of reinforcement learning. MINUTES: nothing is begun after so many. Another call on the same host goes
# on. Results come as runs end: a call that is killed keeps those.
step_ablation() {
  "$PYTHON" bench/ablation.py "$BUILD/kernelwright" --runs "$BUILD/ablation" --out "$BUILD/ablation.json" \
    --minutes "${MINUTES:-9}" --side-by-side "$(gpus)" --commit "${COMMIT:-}" &
  local run=$!
  while kill -0 $run 2>/dev/null; do
    sleep 2
    cp -u "$BUILD/ablation.json" "$out/" 2>/dev/null
  done
  wait $run || return
  cp "$BUILD/ablation.json" "$out/"
}

# What the embedded models and the teacher make of suites (SUITES: a folder) at LEVELS, in MINUTES. Another call
# goes on; on another host, of the same COMMIT, with what the first one left (RUNS: its policies-runs.tar.gz).
# FLAGS: of bench/policies.py, such as "--search 60s --count 25"; POLICIES: some of them.
measure_policies() {  # suites' folder, levels, name
  local code=0 runs=$BUILD/$3-runs
  if [ -n "${RUNS:-}" ] && [ ! -d "$runs" ] && tar tzf "$RUNS" | grep -q "^$3-runs/"; then
    tar xzf "$RUNS" -C "$BUILD" || return
  fi
  local policy asked=()
  for policy in ${POLICIES:-sft=models/embedded rl=models/embedded-rl teacher@1}; do asked+=(--policy "$policy"); done
  # shellcheck disable=SC2086
  "$PYTHON" bench/policies.py "$BUILD/kernelwright" --runs "$runs" --out "$BUILD/$3.json" --suites "$1" \
    --levels "${2// /,}" "${asked[@]}" \
    --gpus "$(gpus)" --minutes "${MINUTES:-9}" --commit "${COMMIT:-}" ${FLAGS:-} || code=1
  tar czf "$out/$3-runs.tar.gz" -C "$BUILD" "$3-runs" "$3.json" || code=1
  cp "$BUILD/$3.json" "$out/" && return $code
}
step_policies() { measure_policies "${SUITES:-suites}" "${LEVELS:-1 2 5 20}" policies; }

step_unseen() {  # the same of ordered pairs of operators that nothing was trained on
  local suite=suites/unseen/level2.jsonl
  if [ ! -s "$suite" ]; then
    suite=$BUILD/unseen/level2.jsonl
    mkdir -p "$BUILD/unseen"
    "$BUILD/kernelwright" synth --level 2 --cover --split unseen --count "${COUNT:-100}" --seed 2026 \
      --twin 2^24:2^28 --backend cuda --out "$suite" || return
    cp "$suite" "$out/unseen-level2.jsonl"
  fi
  measure_policies "$(dirname "$suite")" 2 unseen
}

# Rows by the teacher and by torch.compile of 500 drawn tasks (WINDOW: of their work), in MINUTES; another call goes on.
step_collect() {
  local code=0
  "$PYTHON" bench/collect_rows.py "$BUILD/kernelwright" --runs "$BUILD/rows" --out "$BUILD/collect.json" \
    --window "${WINDOW:-2^26:2^28}" --gpus "$(gpus)" --minutes "${MINUTES:-8}" --commit "${COMMIT:-}" || code=1
  tar cJf "$out/rows.tar.xz" -C "$BUILD" rows
  cp "$BUILD/collect.json" "$out/" && return $code
}

# Pages on the embedded model and the teacher, alone and with searches, in MINUTES; another call goes on.
step_reports() {
  local code=0
  "$PYTHON" bench/reports.py "$BUILD/kernelwright" --runs "$BUILD/report-runs" --out "$BUILD/reports" \
    --gpus "$(gpus)" --minutes "${MINUTES:-9}" --commit "${COMMIT:-}" || code=1
  tar cJf "$out/reports.tar.xz" -C "$BUILD" reports report-runs && return $code
}

step_predicates() {  # which of several ways to say which taps reach a position are compiled rightly
  "$PYTHON" bench/predicates.py --out "$out/predicates.json"
}

step_numerics() {  # how far products in each precision, sums, norms and exponentials are off
  "$PYTHON" bench/numerics.py --out "$out/numerics.json"
}

for step in "${steps[@]}"; do
  declare -F "step_$step" >/dev/null || { echo "gpu.sh: no step called $step" >&2 && exit 2; }
  echo "== $step"
  started=$SECONDS result=ok
  "step_$step" 2>&1 | tee -a "$out/gpu.log"
  [ "${PIPESTATUS[0]}" = 0 ] || { result=FAILED && status=1; }
  printf '%-8s %5d s  %s\n' "$step" $((SECONDS - started)) "$result" >>"$table"
  if [ "$result" = FAILED ] && { [ "$step" = setup ] || [ "$step" = build ]; }; then break; fi
done
echo "== $(basename "$0")"
cat "$table"
exit $status
