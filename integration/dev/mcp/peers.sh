#!/usr/bin/env bash
# Tests fettle with other MCP programs: as a client of servers, and as a server of clients.
# Prints each step. Exits with 0 if all results are as expected, 1 if not, 2 if a
# requirement is missing.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

everything=$(npm_main "$(npm_package @modelcontextprotocol/server-everything "")")
filesystem=$(npm_main "$(npm_package @modelcontextprotocol/server-filesystem "")")
inspector=$(npm_main "$(npm_package @modelcontextprotocol/inspector "")")
sdk=$(npm_package @modelcontextprotocol/sdk "")
build fettle github.com/fettle-dev/fettle/cli/fettle

project=$work/project
mkdir -p "$project" "$work/home"
fettle() { env HOME="$work/home" "$work/fettle" --cwd "$project" "$@"; }
bad=0
# same NAME WANT GOT checks that two texts are equal, and has that GOT contains WANT.
same() { if [ "$2" = "$3" ]; then echo "ok    $1"; else echo "WRONG $1: expected $2, got $3" && bad=1; fi; }
has() { if [[ "$3" == *"$2"* ]]; then echo "ok    $1"; else echo "WRONG $1: $2 is not in: $3" && bad=1; fi; }
# of EXPRESSION prints a part of the JSON on stdin; the expression reads it from j.
of() { node -e 'const j = JSON.parse(require("fs").readFileSync(0, "utf8")); console.log(eval(process.argv[1]))' "$1"; }

# free_port prints an unused port.
free_port() { node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })'; }

echo "== server-everything and server-filesystem, used by fettle"
use() { # use NAME: checks that hold for every transport
	local name=$1 got
	got=$(fettle mcp test "$name" --json) || true
	echo "      $(of '`${j.server} over ${j.transport}, protocol ${j.protocol}, ${j.tools.length} tools, ${j.resources} resources, ${j.prompts.length} prompts, ${j.connectMs} ms`' <<<"$got")"
	same "$name is connected" connected "$(of j.state <<<"$got")"
	same "$name: no tool is dropped" 0 "$(of '(j.dropped ?? []).length' <<<"$got")"
}
call() { fettle --approval-mode yolo call "$@" 2>/dev/null || true; } # its JSON has the error

fettle mcp add --transport stdio -e FLOWER=narcissus everything node "$everything" stdio >/dev/null
fettle mcp add --transport stdio files node "$filesystem" "$project" >/dev/null
use everything
has "everything: echo" "Echo: hello" "$(call mcp_everything_echo '{"message":"hello"}' | of 'JSON.stringify(j.result)')"
has "everything: a sum" "5" "$(call mcp_everything_get-sum '{"a":2,"b":3}' | of 'JSON.stringify(j.result)')"
has "everything: an image" "image/png" "$(call mcp_everything_get-tiny-image '{}' | of 'JSON.stringify(j)')"
has "everything: a resource within a result" "plaintext resource" "$(call mcp_everything_get-resource-reference '{"resourceType":"Text","resourceId":1}' | of j.result)"
has "everything: a long operation" "Steps: 3" "$(call mcp_everything_trigger-long-running-operation '{"duration":1,"steps":3}' | of j.result)"
has "everything: it receives the directory" "file://$project" "$(call mcp_everything_get-roots-list '{}' | of j.result)"
same "everything: it does not receive this environment" false "$(SECRET_OF_MINE=tulip call mcp_everything_get-env '{}' | of 'j.result.includes("tulip")')"
has "everything: it receives the configured variable" "narcissus" "$(call mcp_everything_get-env '{}' | of j.result)"
has "everything: resources are listed" "features.md" "$(call list_mcp_resources '{"serverName":"everything"}' | of 'JSON.stringify(j.result)')"
has "everything: and read" "Features" "$(call read_mcp_resource '{"uri":"demo://resource/static/document/features.md"}' | of 'JSON.stringify(j.result)')"
same "everything: a call without an approver" nobody_to_ask "$(fettle call mcp_everything_echo '{"message":"hello"}' 2>/dev/null | of j.error.type)"
same "everything: invalid arguments" invalid_tool_params "$(call mcp_everything_get-sum '{"a":"x"}' | of j.error.type)"
use files
call mcp_files_write_file "{\"path\":\"$project/a.txt\",\"content\":\"one\\n\"}" >/dev/null
same "files: a file is written" one "$(cat "$project/a.txt" 2>/dev/null || true)"
has "files: and read" one "$(call mcp_files_read_text_file "{\"path\":\"$project/a.txt\"}" | of 'JSON.stringify(j.result)')"
same "files: outside of its directory" error "$(call mcp_files_read_text_file '{"path":"/etc/hostname"}' | of j.status)"

port=$(free_port)
start '(listening on port)' env PORT="$port" node "$everything" streamableHttp
fettle mcp add --transport http far "http://127.0.0.1:$port/mcp" >/dev/null
use far
has "far: echo" "Echo: hello" "$(call mcp_far_echo '{"message":"hello"}' | of 'JSON.stringify(j.result)')"
stop
same "far, which has ended" disconnected "$(fettle mcp test far --json 2>/dev/null | of j.state)"
fettle mcp remove far >/dev/null

port=$(free_port)
start '(running on port)' env PORT="$port" node "$everything" sse
fettle mcp add --transport sse older "http://127.0.0.1:$port/sse" >/dev/null
use older
has "older: echo" "Echo: hello" "$(call mcp_older_echo '{"message":"hello"}' | of 'JSON.stringify(j.result)')"
stop
for name in older everything files; do fettle mcp remove "$name" >/dev/null; done

echo "== clients of fettle mcp serve"
cat >"$work/serve" <<END
#!/bin/sh
HOME='$work/home' exec '$work/fettle' --cwd '$project' --approval-mode auto_edit mcp serve
END
chmod +x "$work/serve"
printf 'one\ntwo\nthree\n' >"$project/poem.txt"
# Each call is a separate session: only the hash proves the base of a change, and a
# refusal does not show a file that its session has not read.
inspect() { node "$inspector" --cli "$target" "$@"; }
tool() { # tool NAME [KEY=VALUE…]
	local name=$1 pair
	local -a args=()
	shift
	for pair in "$@"; do args+=(--tool-arg "$pair"); done
	inspect --method tools/call --tool-name "$name" "${args[@]}"
}
diff_of() { printf -- '--- a/poem.txt\n+++ b/poem.txt\n@@ -1,3 +1,3 @@\n one\n-%s\n+%s\n three\n' "$1" "$2"; }

session() {
	local got old
	printf 'one\ntwo\nthree\n' >"$project/poem.txt"
	got=$(inspect --method tools/list)
	echo "      $(of '`${j.tools.length} tools: ${j.tools.map(t => t.name).join(", ")}`' <<<"$got")"
	same "read_file is annotated as reading" true "$(of 'j.tools.find(t => t.name === "read_file").annotations.readOnlyHint' <<<"$got")"
	got=$(tool read_file "file_path=$project/poem.txt")
	old=$(of j.structuredContent.sha256 <<<"$got")
	same "read: the hash is the file's" "$(sha256sum "$project/poem.txt" | cut -d' ' -f1)" "$old"
	got=$(tool safe_patch "file_path=$project/poem.txt" "base_content_sha256=$old" "unified_diff=$(diff_of two TWO)")
	same "patch: no error" undefined "$(of j.isError <<<"$got")"
	same "patch: the file" "one TWO three" "$(tr '\n' ' ' <"$project/poem.txt" | sed 's/ $//')"
	old=$(sha256sum "$project/poem.txt" | cut -d' ' -f1)
	printf 'one\nTwo!\nthree\n' >"$project/poem.txt"
	echo "      (another program has changed the file)"
	got=$(tool safe_patch "file_path=$project/poem.txt" "base_content_sha256=$old" "unified_diff=$(diff_of TWO 2)")
	same "stale patch: refused" true "$(of j.isError <<<"$got")"
	has "stale patch: the remedy" 'Call read_file' "$(of 'JSON.stringify(j.content)' <<<"$got")"
	same "stale patch: the other program's change is kept" "one Two! three" "$(tr '\n' ' ' <"$project/poem.txt" | sed 's/ $//')"
	got=$(tool read_file "file_path=$project/poem.txt")
	old=$(of j.structuredContent.sha256 <<<"$got")
	got=$(tool safe_patch "file_path=$project/poem.txt" "base_content_sha256=$old" "unified_diff=$(diff_of Two! 2)")
	same "recovery: no error" undefined "$(of j.isError <<<"$got")"
	same "recovery: the file" "one 2 three" "$(tr '\n' ' ' <"$project/poem.txt" | sed 's/ $//')"
	got=$(tool run_shell_command "command=rm poem.txt")
	same "a command without an approver: refused" true "$(of j.isError <<<"$got")"
	has "and the remedy" "--allowed-tools" "$(of 'JSON.stringify(j.content)' <<<"$got")"
}
echo "-- inspector --cli over stdio"
target=$work/serve
session
echo "-- the TypeScript SDK's client over stdio, one session"
node "$here/session.mjs" "$sdk" "$project" "$target" || bad=1
echo "-- inspector --cli over streamable HTTP"
start '(http://[^ ]*/mcp)' env HOME="$work/home" "$work/fettle" --cwd "$project" --approval-mode auto_edit mcp serve --http 127.0.0.1:0
target=$match
session
echo "-- the TypeScript SDK's client over streamable HTTP, one session"
node "$here/session.mjs" "$sdk" "$project" "$target" || bad=1
stop
exit $bad
