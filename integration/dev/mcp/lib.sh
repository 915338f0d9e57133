# The common parts of conformance.sh, conformance-client.sh and peers.sh, which source it.

# missing prints a missing requirement and exits with 2.
missing() { echo "$0: $*" >&2; exit 2; }

# need_node checks that Node.js is installed in a sufficient version.
need_node() {
	command -v node >/dev/null || missing "node is not in the PATH; Node.js 22 or later is required; see README.md for one from npm"
	local major
	major=$(node -p 'process.versions.node.split(".")[0]')
	[ "$major" -ge 22 ] || missing "node has version $(node -v); 22 or later is required; see README.md for one from npm"
}

# npm_package NAME VERSION prints the directory of an npm package. It searches the
# node_modules directories in MCP_NODE_MODULES, separated by colons. If the package is in
# none of them, npm installs it into $work.
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
	command -v npm >/dev/null || missing "the npm package $name ${version:+of version $version }is in no directory of MCP_NODE_MODULES, and npm is not installed"
	dir=$work/npm/${name##*/}-${version:-latest}
	npm install --silent --no-save --prefix "$dir" "$name${version:+@$version}" >&2 || missing "npm could not install $name"
	echo "$dir/node_modules/$name"
}

# npm_main DIR prints the program of a package.
npm_main() {
	[ -n "$1" ] || exit 2 # npm_package has printed the reason
	node -p 'const p = require(process.argv[1] + "/package.json"); require("path").join(process.argv[1], typeof p.bin === "string" ? p.bin : Object.values(p.bin)[0])' "$1"
}

# build NAME PACKAGE builds a program of the repository into $work.
build() {
	(cd "$root/integration/dev" && go build -o "$work/$1" "$2") || missing "$2 cannot be built"
}

# start PATTERN COMMAND… runs a server in the background until stop. It waits until a
# line of stderr or stdout matches PATTERN, and sets match to its part in parentheses.
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
	echo "$0: $* did not start" >&2
	stop
	return 1
}

# stop ends the server of start, and waits for it.
stop() {
	if [ -n "${server:-}" ]; then
		kill "$server" 2>/dev/null || true
		wait "$server" 2>/dev/null || true
		server=
	fi
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
command -v go >/dev/null || missing "go is not in the PATH"
need_node
work=$(mktemp -d)
trap 'stop; rm -rf "$work"' EXIT
