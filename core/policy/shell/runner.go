package shell

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// runner lists the files that a program runs, or reads commands from, without an
// argument that names them. To add a program, add a row.
type runner struct {
	names string // separated by blanks
	words string // first arguments that make it run them; "": any
	// files are base names, in which * stands for any characters, or directories,
	// with a trailing slash, with all their files.
	files string
}

var runners = []runner{
	{names: "git", files: ".git/ .githooks/ .husky/ .gitconfig"},
	{names: "npm pnpm yarn bun npx bunx pnpx corepack node jest vitest mocha eslint prettier webpack vite rollup", files: "package.json .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs bunfig.toml .husky/ *.config.js *.config.cjs *.config.mjs *.config.ts .eslintrc* .prettierrc* .babelrc* .mocharc*"},
	{names: "npm pnpm yarn bun npx jest vitest mocha", files: "*.test.js *.test.ts *.test.mjs *.test.tsx *.spec.js *.spec.ts"},
	{names: "make gmake bmake", files: "*.mk"},
	{names: "just", files: "justfile Justfile .justfile"},
	{names: "task go-task", files: "Taskfile.yml Taskfile.yaml"},
	{names: "rake bundle rspec ruby", files: "Rakefile Gemfile *_spec.rb .rspec"},
	{names: "cargo", files: "build.rs Cargo.toml .cargo/"},
	{names: "cargo", words: "run r test t bench", files: "*.rs"},
	{names: "go", words: "run test generate", files: "*.go"},
	{names: "gradle gradlew", files: "*.gradle *.gradle.kts gradle.properties"},
	{names: "mvn mvnw", files: "pom.xml .mvn/"},
	{names: "pip pip3 python python3 uv poetry pdm hatch tox nox pytest py.test", files: "setup.py setup.cfg pyproject.toml conftest.py pytest.ini tox.ini noxfile.py sitecustomize.py usercustomize.py *.pth"},
	{names: "pytest py.test tox nox python python3", files: "test_*.py *_test.py"},
	{names: "cmake", files: "CMakeLists.txt *.cmake"},
	{names: "ninja", files: "*.ninja"},
	{names: "composer php", files: "composer.json"},
	{names: "pre-commit", files: ".pre-commit-config.yaml"},
	{names: "direnv", files: ".envrc"},
	{names: "mix", files: "mix.exs"},
	{names: "deno", files: "deno.json deno.jsonc"},
	{names: "dotnet", files: "*.csproj *.fsproj *.props *.targets"},
	{names: "bazel", files: "BUILD BUILD.bazel WORKSPACE MODULE.bazel *.bzl .bazelrc"},
	{names: "docker docker-compose podman", files: "Dockerfile docker-compose.yml docker-compose.yaml compose.yml compose.yaml"},
	{names: "vagrant", files: "Vagrantfile"},
	{names: "terraform tofu", files: "*.tf"},
	{names: "bash", files: ".bashrc .profile .bash_profile"},
}

// runnersOf returns the rows for a program. The table is parsed once.
var runnersOf = sync.OnceValue(func() map[string][]*runner {
	rows := map[string][]*runner{}
	for _, row := range runners {
		for name := range strings.FieldsSeq(row.names) {
			rows[name] = append(rows[name], &row)
		}
	}
	return rows
})

// runsFound records that a part may run files that its program finds by itself.
func (a *analysis) runsFound(sc *scope, index int, ws []arg) {
	if index < 0 {
		return
	}
	for _, row := range runnersOf()[programName(ws[0])] {
		if row.words != "" && !slices.ContainsFunc(ws[1:], func(w arg) bool { return !w.Static || in(row.words, w.Text) }) {
			continue
		}
		if len(a.ran) == maxFiles {
			a.problem = "it runs too many files"
			return
		}
		at := sc.under(index, len(a.parts[index].Words))
		a.ran = append(a.ran, ranFile{sc: at, file: ws[0], finds: row, before: len(a.wrote)})
	}
}

// finds reports whether one of some places is, or may be, that of a file that the
// program runs.
func (row *runner) finds(places []place) bool {
	for _, p := range places {
		dirs := strings.Split(p.path, "/")
		for name := range strings.FieldsSeq(row.files) {
			dir, isDir := strings.CutSuffix(name, "/")
			if isDir && (p.from == '?' || slices.Contains(dirs, dir)) {
				return true
			}
			if ok, err := path.Match(name, path.Base(p.path)); ok && err == nil && !isDir {
				return true
			}
		}
	}
	return false
}
