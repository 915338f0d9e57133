#!/usr/bin/env bash
# Runs the client scenarios of MCP's conformance suite against fettle's dialer and
# sign-in, with the program in conformance-client/, and prints a table.
# Usage: conformance-client.sh [SCENARIO…]; without one, all of them.
# Exits with 0 if all expected scenarios pass, 1 if not, 2 if a requirement is missing.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

old=0.1.16 new=0.2.0-alpha.12
suites=("$old 2025-06-18" "$old 2025-11-25" "$new 2025-06-18" "$new 2025-11-25" "$new 2026-07-28")
# Extensions of the protocol that fettle does not support: proof of possession,
# workload and enterprise identities, keys instead of secrets, skills.
absent='^(auth/(client-credentials-jwt|enterprise-managed-authorization|cross-app-access-complete-flow|dpop|dpop-nonce|wif-jwt-bearer)|sep-2640-.*)$'

build conformance-client ./mcp/conformance-client
passed=0 failed=0 skipped=0

# applies RANGE REVISION LAST checks whether a scenario with the RANGE of `list` belongs to a
# revision. Older sign-in and the extensions belong to the last revision of each version.
applies() {
	local range=$1 revision=$2 last=$3
	[[ $range == *"$revision"* ]] && return
	[ "$revision" = "$last" ] && [[ $range == *2025-03-26* || $range == *draft* || $range == *extension* ]]
}

# play PROGRAM VERSION REVISION SCENARIO runs a scenario and prints its row.
play() {
	local program=$1 version=$2 revision=$3 scenario=$4 result
	local -a pick=(--spec-version "$revision")
	[ "$5" = "" ] || pick=()
	if [[ $scenario =~ $absent ]]; then
		result=unsupported skipped=$((skipped + 1))
	elif node "$program" client --command "$work/conformance-client" --scenario "$scenario" "${pick[@]}" </dev/null >"$work/out.log" 2>&1; then
		result=passed passed=$((passed + 1))
	else
		result=FAILED failed=$((failed + 1))
		cp "$work/out.log" "$work/failed-$version-$revision-${scenario//\//_}.log"
	fi
	printf '%-15s %-11s %-46s %s\n' "$version" "$revision" "$scenario" "$result"
}

for suite in "${suites[@]}"; do
	read -r version revision <<<"$suite"
	last=2025-11-25
	[ "$version" = "$old" ] || last=2026-07-28
	program=$(npm_main "$(npm_package @modelcontextprotocol/conformance "$version")")
	while read -r dash scenario range; do
		[ "$dash" = - ] || continue
		[ $# -eq 0 ] || [[ " $* " == *" $scenario "* ]] || continue
		applies "$range" "$revision" "$last" || continue
		if [[ $range == *"$revision"* ]]; then
			play "$program" "$version" "$revision" "$scenario" ""
		else
			play "$program" "$version" "$revision" "$scenario" any
		fi
	done < <(node "$program" list | sed -n '/^Client scenarios/,/^$/p')
done

for log in "$work"/failed-*.log; do
	[ -f "$log" ] || continue
	echo
	echo "== ${log##*/failed-}"
	tail -n 40 "$log"
done
echo
echo "$passed passed, $failed failed, $skipped of unsupported extensions"
[ "$failed" -eq 0 ]
