package hookrun

// Programs by their treatment of arguments.
var (
	// plain programs run none of them.
	plain = set(": true false [ test echo printf cat head tail wc tr cut sort uniq grep egrep fgrep jq yq date sleep exit return read kill " +
		"basename dirname realpath readlink pwd ls stat sha256sum md5sum diff cmp logger notify-send shift wait local export unset set command type which")
	// writers only write them.
	writers = set("tee touch mkdir rm rmdir truncate sponge")
	// copiers write the last one.
	copiers = set("cp mv ln install")
	// shells also accept command lines.
	shells = set("sh bash dash zsh ksh ash busybox eval")
	// interpreters run the first one: a file, a directory or a module.
	interpreters = set("python python2 python3 pypy3 node nodejs deno bun ruby perl php lua tsx ts-node Rscript java")
	// finders look up these files in their working directory.
	finders = map[string][]string{
		"make": {"GNUmakefile", "makefile", "Makefile"}, "gmake": {"GNUmakefile", "makefile", "Makefile"}, "just": {"justfile", "Justfile", ".justfile"},
		"task": {"Taskfile.yml", "Taskfile.yaml"}, "rake": {"Rakefile", "rakefile"}, "npm": {"package.json"}, "npx": {"package.json"},
		"pnpm": {"package.json"}, "yarn": {"package.json"}, "bunx": {"package.json"}, "deno": {"deno.json", "deno.jsonc"}, "bun": {"package.json"},
		"cargo": {"Cargo.toml", "build.rs"}, "go": {"go.mod"}, "mvn": {"pom.xml"}, "gradle": {"build.gradle", "build.gradle.kts"},
		"composer": {"composer.json"}, "tox": {"tox.ini"}, "nox": {"noxfile.py"}, "uv": {"pyproject.toml"}, "poetry": {"pyproject.toml"},
		"pytest": {"conftest.py", "pyproject.toml"}, "pre-commit": {".pre-commit-config.yaml"}, "lefthook": {"lefthook.yml"},
		"eslint": {"eslint.config.js", "eslint.config.mjs"}, "jest": {"jest.config.js"}, "run-parts": nil, "find": nil,
	}
)
