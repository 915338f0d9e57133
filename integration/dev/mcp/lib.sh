# What conformance.sh and peers.sh have in common; it is sourced by them.

# missing says what is not there and ends with 2.
missing() { echo "$0: $*" >&2; exit 2; }

# need_node checks that there is a Node.js which the programs run on.
need_node() {
	command -v node >/dev/null || missing "there is no node on the PATH; Node.js 22 or later is needed (npm's package node carries one)"
	local major
	major=$(node -p 'process.versions.node.split(".")[0]')
	[ "$major" -ge 22 ] || missing "node is of version $(node -v); 22 or later is needed"
}

# npm_package NAME VERSION prints the directory of an npm package. It is looked for
# in the directories of MCP_NODE_MODULES, separated by colons, each of which has
# packages below it as npm installs them; else npm installs it into $work.
npm_package() {
	local name=$1 version=$2 dir found
	local -a dirs
	IFS=: read -ra dirs <<<"${MCP_NODE_MODULES:-}"
	for dir in "${dirs[@]}"; do
		[ -f "$dir/$name/package.json" ] || continue
		found=$(node -p 'require(process.argv[1]).version' "$dir/$name/package.json")
		if [ -z "$version" ] || [ "$found" = "$version" ]; then
			echo "$dir/$name"
			return
		fi
	done
	command -v npm >/dev/null || missing "the npm package $name ${version:+of version $version }is in no directory of MCP_NODE_MODULES, and there is no npm to install it"
	dir=$work/npm/${name##*/}-${version:-latest}
	npm install --silent --no-save --prefix "$dir" "$name${version:+@$version}" >&2 || missing "npm could not install $name"
	echo "$dir/node_modules/$name"
}

# npm_main FOLDER prints the program of a package.
npm_main() {
	[ -n "$1" ] || exit 2 # npm_package has said why
	node -p 'const p = require(process.argv[1] + "/package.json"); require("path").join(process.argv[1], typeof p.bin === "string" ? p.bin : Object.values(p.bin)[0])' "$1"
}

# build NAME FOLDER builds a program of the repository into $work.
build() {
	(cd "$root/integration/dev" && go build -o "$work/$1" "$2") || missing "$2 does not build"
}

# start PATTERN COMMAND… runs a server in the background until stop, and waits
# until a line of its stderr or stdout matches PATTERN. The part in parentheses is $match.
start() {
	local pattern=$1 tries
	shift
	: >"$work/server.log"
	"$@" >>"$work/server.log" 2>&1 </dev/null &
	server=$!
	for ((tries = 0; tries < 600; tries++)); do
		while IFS= read -r line; do
			if [[ $line =~ $pattern ]]; then
				match=${BASH_REMATCH[1]}
				return
			fi
		done <"$work/server.log"
		kill -0 "$server" 2>/dev/null || break
		sleep 0.1
	done
	cat "$work/server.log" >&2
	echo "$0: $* does not serve" >&2
	stop
	return 1
}

# stop ends the server that start has started, and waits for it.
stop() {
	if [ -n "${server:-}" ]; then
		kill "$server" 2>/dev/null || true
		wait "$server" 2>/dev/null || true
		server=
	fi
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
command -v go >/dev/null || missing "there is no go on the PATH"
need_node
work=$(mktemp -d)
trap 'stop; rm -rf "$work"' EXIT
