#!/usr/bin/env bash
# Runs the server scenarios of MCP's conformance suite against the example server
# with sessions and without, and those for a plain tool server against fettle.
# Usage: conformance.sh [FAILURES]; the failures, with their messages, go to that file.
# Exits with 0 if all expected scenarios pass, 1 if not, 2 if a requirement is missing.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

old=0.1.16 new=0.2.0-alpha.12
suites=("$old 2025-06-18" "$old 2025-11-25" "$new 2025-06-18" "$new 2025-11-25" "$new 2026-07-28")
declare -A program
for version in "$old" "$new"; do
	package=$(npm_package @modelcontextprotocol/conformance "$version")
	program[$version]=$(npm_main "$package")
done
failures=${1:-$work/failures.txt}
: >"$failures"

# scenarios SERVER URL REVISIONS runs the suites whose revisions match. Each writes a
# directory of results into $work/results.
scenarios() {
	local server=$1 url=$2 revisions=$3 suite version revision
	for suite in "${suites[@]}"; do
		read -r version revision <<<"$suite"
		[[ $revision =~ $revisions ]] || continue
		mkdir -p "$work/results/$server/$version/$revision"
		# The exit code is ignored: report.mjs evaluates the results.
		node "${program[$version]}" server --url "$url" --suite all --spec-version "$revision" \
			-o "$work/results/$server/$version/$revision" >>"$work/suite.log" 2>&1 || true
	done
}

build everything ./mcp/everything
start '(http://[^ ]*/mcp)' "$work/everything" -http 127.0.0.1:0
scenarios sessions "$match" 2025 # 2026-07-28 has no sessions
stop
start '(http://[^ ]*/mcp)' "$work/everything" -http 127.0.0.1:0 -stateless
scenarios stateless "$match" .
stop

# The scenarios that need no tool, resource or prompt of the suite.
plain="server-initialize server-session-lifecycle server-stateless logging-set-level ping tools-list resources-list
	resources-subscribe resources-unsubscribe server-sse-multiple-streams sep-2164-resource-not-found
	dns-rebinding-protection caching http-header-validation input-required-result-unsupported-methods"
build fettle github.com/fettle-dev/fettle/cli/fettle
mkdir -p "$work/project" "$work/home"
echo "# A project" >"$work/project/AGENTS.md"
served=(env HOME="$work/home" "$work/fettle" --cwd "$work/project" mcp serve --http 127.0.0.1:0)
start '(http://[^ ]*/mcp)' "${served[@]}"
scenarios fettle "$match" 2025
stop
start '(http://[^ ]*/mcp)' "${served[@]}" --stateless
scenarios fettle-stateless "$match" .
stop

node "$here/report.mjs" "$work/results" "$here/README.md" "$failures" $plain
