# Sourced by scripts that run several things and add up what they counted.
#   stage TITLE MINUTES COMMAND...  runs the command; its last "N passed, N failed[, N skipped]" line is added to the sum. A command
#                                   that counted nothing is one case; one that fails without a counted failure is one failure.
#                                   Longer than MINUTES is a warning.
#   stages_end [MINUTES]            prints a table of the stages and the sum in the same form, and exits with it. All of them
#                                   together may take MINUTES: more is a warning, 1.5 times as long is a failure.
# Minutes are those of a quiet machine: before and after each stage every core counts to 250,000, which takes STAGES_QUIET ms on the machine for
# which they were set. Where that takes three times as long a stage may too: other people's work and slower cores are no fault of the tree's.
STAGES_QUIET=350
stages_passed=0 stages_failed=0 stages_skipped=0 stages_seconds=0 stages_quiet_ms=0 stages_table=""

# Per cent of the time that a quiet machine takes; the least of three, and never below 100.
stages_slowness() {
    local start end ms best=0 k i
    for k in 1 2 3; do
        start=$EPOCHREALTIME
        for ((i = $(nproc); i > 0; i--)); do (for ((k = 0; k < 250000; k++)); do :; done) & done
        wait
        end=$EPOCHREALTIME
        ms=$(((${end/[.,]/} - ${start/[.,]/}) / 1000))
        [ "$best" -eq 0 ] || [ "$ms" -lt "$best" ] && best=$ms
    done
    echo $((best > STAGES_QUIET ? 100 * best / STAGES_QUIET : 100))
}

stage() {
    local title=$1 minutes=$2 log status counts start slowness
    shift 2
    slowness=$(stages_slowness)
    start=$SECONDS
    printf '\n==== %s\n' "$title"
    log=$(mktemp)
    "$@" 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
    counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$' "$log" | tail -n 1 | tr -c '0-9\n' ' ')
    rm -f "$log"
    local passed=0 failed=0 skipped=0 seconds=$((SECONDS - start)) late=""
    if [ -n "$counts" ]; then
        read -r passed failed skipped <<<"$counts"
        : "${skipped:=0}"
    elif [ "$status" -eq 0 ]; then
        passed=1
    fi
    [ "$status" -ne 0 ] && [ "$failed" -eq 0 ] && failed=1
    slowness=$(((slowness + $(stages_slowness)) / 2))
    stages_quiet_ms=$((stages_quiet_ms + 100000 * seconds / slowness))
    [ "$slowness" -ge 120 ] && late="  machine at $((10000 / slowness)) %"
    [ $((100 * seconds)) -gt $((60 * minutes * slowness)) ] && late+="  warning: longer than $minutes minutes"
    stages_passed=$((stages_passed + passed))
    stages_failed=$((stages_failed + failed))
    stages_skipped=$((stages_skipped + skipped))
    stages_seconds=$((stages_seconds + seconds))
    stages_table+=$(stages_row "$title" "$seconds" "$passed" "$failed" "$skipped")$late$'\n'
    printf -- '---- %s: %d passed, %d failed, %d skipped, %d s%s\n' "$title" "$passed" "$failed" "$skipped" "$seconds" "$late"
}

stages_row() { # TITLE SECONDS PASSED FAILED SKIPPED
    printf '%-24s %4d:%02d %7d %7d %7d' "$1" $(($2 / 60)) $(($2 % 60)) "$3" "$4" "$5"
}

stages_end() {
    local skipped="" quiet=$((stages_quiet_ms / 1000))
    printf '\n%-24s %7s %7s %7s %7s\n%s' "stage" "min:s" "passed" "failed" "skipped" "$stages_table"
    stages_row "all" "$stages_seconds" "$stages_passed" "$stages_failed" "$stages_skipped"
    printf '\n'
    [ "$quiet" -lt "$stages_seconds" ] && printf 'on a quiet machine: about %d:%02d\n' $((quiet / 60)) $((quiet % 60))
    if [ $# -gt 0 ] && [ $((2 * quiet)) -gt $((180 * $1)) ]; then
        printf 'failed: this took more than one and a half times its %d minutes\n' "$1"
        stages_failed=$((stages_failed + 1))
    elif [ $# -gt 0 ] && [ "$quiet" -gt $((60 * $1)) ]; then
        printf 'warning: this took more than its %d minutes\n' "$1"
    fi
    [ "$stages_skipped" -gt 0 ] && skipped=", $stages_skipped skipped"
    printf '\n%d passed, %d failed%s\n' "$stages_passed" "$stages_failed" "$skipped"
    [ "$stages_failed" -eq 0 ]
    exit
}
