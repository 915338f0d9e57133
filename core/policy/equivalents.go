package policy

import (
	"slices"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/policy/shell"
)

// equivalents lists different spellings of the same command, one row each,
// separated by commas. A rule that denies or asks and whose prefix begins with
// one of them applies to the others as well; a rule that allows applies
// literally.
var equivalents = []string{
	"npm install, npm i, npm in, npm ins, npm inst, npm insta, npm instal, npm isnt, npm isnta, npm isntal, npm isntall, npm add",
	"npm ci, npm clean-install, npm ic, npm install-clean, npm isntall-clean",
	"npm uninstall, npm unlink, npm remove, npm rm, npm r, npm un",
	"npm publish, npm pub, npm publis",
	"npm run, npm run-script, npm rum, npm urn",
	"npm test, npm t, npm tst",
	"npm install-test, npm it, npm sit",
	"npm update, npm up, npm upgrade, npm udpate",
	"npm exec, npm x",
	"npm link, npm ln",
	"npm config, npm c",
	"npm version, npm verison",
	"npm dist-tag, npm dist-tags",
	"npm owner, npm author",
	"npm login, npm adduser, npm add-user",
	"npm create, npm init, npm innit",
	"pnpm install, pnpm i",
	"pnpm remove, pnpm rm, pnpm un, pnpm uninstall",
	"pnpm update, pnpm up, pnpm upgrade",
	"yarn publish, yarn npm publish",
	"yarn login, yarn npm login",
	"bun install, bun i",
	"bun add, bun a",
	"bun remove, bun rm",
	"pip, python -m pip, pypy -m pip, uv pip",
	"pipx, python -m pipx",
	"pytest, py.test, python -m pytest",
	"twine, python -m twine",
	"conda remove, conda uninstall",
	"brew uninstall, brew remove, brew rm",
	"cargo run, cargo r",
	"cargo build, cargo b",
	"cargo test, cargo t",
	"cargo check, cargo c",
	"cargo remove, cargo rm",
	"git branch -D, git branch -d -f",
	"git branch -M, git branch -m -f, git branch --move -f",
	"git branch -C, git branch -c -f, git branch --copy -f",
	"git commit --no-verify, git commit -n",
	"git remote remove, git remote rm",
	"git add, git stage",
	"git fetch --all, git remote update",
	"docker rm, docker container rm, docker container remove",
	"docker rmi, docker image rm, docker image remove",
	"docker ps, docker container ls, docker container list, docker container ps",
	"docker images, docker image ls, docker image list",
	"docker build, docker image build, docker buildx build, docker buildx b, docker builder build",
	"docker-compose, docker compose",
	"docker volume rm, docker volume remove",
	"docker network rm, docker network remove",
	"podman rm, podman container rm",
	"podman rmi, podman image rm",
	"podman build, podman image build, podman buildx build",
	"podman-compose, podman compose",
	"helm uninstall, helm un, helm delete, helm del",
	"helm list, helm ls",
	"helm dependency, helm dep, helm dependencies",
	"terraform destroy, terraform apply -destroy, terraform apply --destroy",
	"tofu destroy, tofu apply -destroy, tofu apply --destroy",
	"gh pr create, gh pr new",
	"gh issue create, gh issue new",
	"gh release create, gh release new",
	"gh repo create, gh repo new",
	"gh codespace, gh cs",
	"svn commit, svn ci",
	"svn delete, svn del, svn remove, svn rm",
	"svn checkout, svn co",
	"hg commit, hg ci",
	"hg remove, hg rm",
	"hg update, hg up, hg checkout, hg co",
}

// managed contains docker's and podman's commands that have the same name after
// "container" and "image".
var managed = map[string]string{
	"container": "attach commit cp create diff exec export kill logs pause port rename restart run start stats stop top unpause update wait",
	"image":     "history import load pull push save tag",
}

// rowsOfEquivalents returns the parsed rows by their program.
var rowsOfEquivalents = sync.OnceValue(func() map[string][][][]string {
	rows := make(map[string][][][]string)
	add := func(row [][]string) {
		var programs []string
		for _, words := range row {
			if p := family(words[0]); !slices.Contains(programs, p) {
				programs = append(programs, p)
				rows[p] = append(rows[p], row)
			}
		}
	}
	for _, text := range equivalents {
		var row [][]string
		for words := range strings.SplitSeq(text, ",") {
			row = append(row, strings.Fields(words))
		}
		add(row)
	}
	for _, program := range []string{"docker", "podman", "nerdctl"} {
		for group, names := range managed {
			for name := range strings.FieldsSeq(names) {
				add([][]string{{program, name}, {program, group, name}})
			}
		}
	}
	return rows
})

// sameAs returns the other spellings of a prefix.
func sameAs(prefix []string) [][]string {
	var out [][]string
	if name, next := shell.Module(prefix); name != "" {
		if plain := slices.Concat([]string{prefix[0], "-m", name}, prefix[next:]); !slices.Equal(plain, prefix) {
			out, prefix = [][]string{plain}, plain
		}
	}
	for _, row := range rowsOfEquivalents()[family(prefix[0])] {
		for i, words := range row {
			rest, ok := behind(prefix, words)
			if !ok {
				continue
			}
			for k, other := range row {
				if k != i {
					out = append(out, slices.Concat(other, rest))
				}
			}
			break
		}
	}
	return out
}

// behind returns the words of a prefix after the given ones; false if it does not
// begin with them. Words that begin with a dash may be anywhere in it.
func behind(prefix, words []string) ([]string, bool) {
	if len(words) > 1 && (!isOption(words[1]) || words[1] == "-m") && (len(prefix) < 2 || prefix[1] != words[1]) || family(prefix[0]) != family(words[0]) {
		return nil, false
	}
	rest := slices.Clone(prefix[1:])
	for _, w := range words[1:] {
		at := 0
		if isOption(w) && w != "-m" {
			at = slices.Index(rest, w)
		}
		if at < 0 || at >= len(rest) || rest[at] != w {
			return nil, false
		}
		rest = slices.Delete(rest, at, at+1)
	}
	return rest, true
}

// versioned lists programs whose name may contain their version, for example
// python3.12 and mkfs.ext4.
var versioned = []string{"python", "pypy", "pip", "ruby", "gem", "perl", "php", "lua", "node", "mkfs", "fsck"}

// family returns the form of a program's name that rules that tighten compare:
// [programName] without a version.
func family(word string) string {
	name := programName(word)
	short := strings.TrimRight(name, "0123456789.")
	if kind, _, ok := strings.Cut(name, "."); ok && (kind == "mkfs" || kind == "fsck") {
		short = kind
	}
	if short != name && slices.Contains(versioned, short) {
		return short
	}
	return name
}
