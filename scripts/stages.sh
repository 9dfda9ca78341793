# Sourced by scripts that run several things and add up what they counted.
#   stage TITLE COMMAND...  runs the command; its last "N passed, N failed[, N skipped]" line is added to the sum. A command that
#                           counted nothing is one case; one that fails without a counted failure is one failure.
#   stages_end              prints the sum in the same form and exits with it.
stages_passed=0 stages_failed=0 stages_skipped=0

stage() {
    local title=$1 log status counts
    shift
    printf '\n==== %s\n' "$title"
    log=$(mktemp)
    SECONDS=0
    "$@" 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
    counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$' "$log" | tail -n 1 | tr -c '0-9\n' ' ')
    rm -f "$log"
    local passed=0 failed=0 skipped=0
    if [ -n "$counts" ]; then
        read -r passed failed skipped <<<"$counts"
        : "${skipped:=0}"
    elif [ "$status" -eq 0 ]; then
        passed=1
    fi
    [ "$status" -ne 0 ] && [ "$failed" -eq 0 ] && failed=1
    stages_passed=$((stages_passed + passed))
    stages_failed=$((stages_failed + failed))
    stages_skipped=$((stages_skipped + skipped))
    printf -- '---- %s: %d passed, %d failed, %d skipped, %d s\n' "$title" "$passed" "$failed" "$skipped" "$SECONDS"
}

stages_end() {
    local skipped=""
    [ "$stages_skipped" -gt 0 ] && skipped=", $stages_skipped skipped"
    printf '\n%d passed, %d failed%s\n' "$stages_passed" "$stages_failed" "$skipped"
    [ "$stages_failed" -eq 0 ]
    exit
}
