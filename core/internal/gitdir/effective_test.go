package gitdir_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/internal/gitdir"
)

// runGit runs git in a directory and ignores failures: a canary may fail it.
func runGit(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_TEMPLATE_DIR=", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
		"GIT_PAGER_IN_USE=1", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true")
	_ = cmd.Run()
}

// newRepository creates a repository with two commits, a file with changes and an attribute that
// selects the drivers x.
func newRepository(t *testing.T) string {
	t.Helper()
	top := t.TempDir()
	git(t, top, "init", "-q", "-b", "main")
	write(t, top+"/.gitattributes", "*.x diff=x filter=x merge=x\n")
	write(t, top+"/a.x", "1\n")
	git(t, top, "add", ".")
	git(t, top, "commit", "-q", "-m", "first")
	write(t, top+"/a.x", "2\n")
	git(t, top, "commit", "-q", "-am", "second")
	write(t, top+"/a.x", "3\n")
	return top
}

// repositoryLike returns a copy of a repository, with the program .git/run that creates the file
// canary.
func repositoryLike(t *testing.T, template string) (top, canary string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.CopyFS(top, os.DirFS(template)))
	canary = filepath.Join(top, "canary")
	write(t, top+"/.git/run", "#!/bin/sh\ntouch "+canary+"\n")
	require.NoError(t, os.Chmod(top+"/.git/run", 0o700))
	return top, canary
}

// PB-02: every key by which a repository makes git run a program is an objection. Each program
// would run.
func TestProgramsOfARepository(t *testing.T) {
	template := newRepository(t)
	for key, run := range map[string]string{
		"core.fsmonitor":             "status",
		"core.sshCommand":            "ls-remote ssh://nowhere.invalid/x",
		"core.editor":                "",
		"core.pager":                 "",
		"core.askPass":               "",
		"core.gitProxy":              "ls-remote git://nowhere.invalid/x",
		"core.hooksPath":             "",
		"core.alternateRefsCommand":  "",
		"sequence.editor":            "",
		"diff.external":              "diff",
		"diff.x.command":             "diff",
		"diff.x.textconv":            "diff",
		"filter.x.clean":             "diff",
		"filter.x.smudge":            "checkout a.x",
		"filter.x.process":           "diff",
		"merge.x.driver":             "",
		"gpg.program":                "tag -s -m x v1",
		"gpg.ssh.program":            "",
		"gpg.x509.program":           "",
		"gpg.ssh.defaultKeyCommand":  "",
		"alias.st":                   "st",
		"alias.status":               "",
		"credential.helper":          "",
		"credential.x.helper":        "",
		"remote.o.uploadpack":        "-c remote.o.url=. ls-remote o",
		"remote.o.receivepack":       "-c remote.o.url=. push o main",
		"remote.o.vcs":               "",
		"pager.log":                  "",
		"interactive.diffFilter":     "",
		"trailer.x.command":          "",
		"trailer.x.cmd":              "",
		"mergetool.x.cmd":            "",
		"difftool.x.cmd":             "",
		"man.x.cmd":                  "",
		"browser.x.cmd":              "",
		"instaweb.browser":           "",
		"web.browser":                "",
		"sendemail.sendmailcmd":      "",
		"uploadpack.packObjectsHook": "",
		"gc.recentObjectsHook":       "",
		"ssh.variant":                "",
		"log.showSignature":          "",
		"format.pretty":              "",
		"pretty.x":                   "",
		"protocol.ext.allow":         "",
		"lfs.customtransfer.x.path":  "",
		"lfs.extension.x.clean":      "",
		"init.templateDir":           "",
		"fetch.bundleURI":            "",
		"core.worktree":              "",
		"extensions.unknown":         "",
		"new.key":                    "",
	} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			top, canary := repositoryLike(t, template)
			require.Empty(t, gitdir.Foreign(top))
			value := top + "/.git/run"
			if strings.HasPrefix(key, "alias.") || key == "credential.helper" {
				value = "!" + value
			}
			if key != "extensions.unknown" && key != "core.worktree" {
				git(t, top, "config", key, value)
			} else {
				section, name, _ := strings.Cut(key, ".")
				write(t, top+"/.git/config", "["+section+"]\n"+name+" = "+value+"\n")
			}
			foreign := gitdir.Foreign(top)
			require.Len(t, foreign, 1)
			require.Equal(t, strings.ToLower(key), strings.ToLower(foreign[0].Name))
			require.Equal(t, value, foreign[0].Value)
			require.Positive(t, foreign[0].Line)
			require.Contains(t, gitdir.NewWatch(nil, top).UnsafeReason(top+"/.git/.."), foreign[0].Name)
			require.Empty(t, gitdir.NewWatch(func(s gitdir.Setting) bool { return s.Identity() == foreign[0].Identity() }, top).UnsafeReason(top), "approved")

			other := foreign[0]
			other.Value += " "
			require.Contains(t, gitdir.NewWatch(func(s gitdir.Setting) bool { return s.Identity() == other.Identity() }, top).UnsafeReason(top), "not known to be harmless", "another value is approved")
			if run != "" {
				runGit(t, top, strings.Fields(run)...)
				require.FileExists(t, canary, "git runs it")
			}
		})
	}
}

// PB-02: wherever git finds the key.
func TestPlacesOfAConfiguration(t *testing.T) {
	template := newRepository(t)
	const monitor = "[core]\n\tfsmonitor = ./.git/run\n"
	for name, tt := range map[string]struct {
		do   func(t *testing.T, top string)
		dir  string
		none bool // there is no objection
	}{
		"an include": {func(t *testing.T, top string) {
			write(t, top+"/x.conf", monitor)
			git(t, top, "config", "include.path", "../x.conf")
		}, ".", false},
		"an include of an include": {func(t *testing.T, top string) {
			write(t, top+"/x.conf", monitor)
			write(t, top+"/y.conf", "[include]\npath = x.conf\n")
			git(t, top, "config", "include.path", top+"/y.conf")
		}, ".", false},
		"an include of itself": {func(t *testing.T, top string) { git(t, top, "config", "include.path", "config") }, ".", false},
		"a conditional include": {func(t *testing.T, top string) {
			write(t, top+"/x.conf", monitor)
			git(t, top, "config", "includeIf.onbranch:other.path", "../x.conf")
		}, ".", false},
		"a missing include": {func(t *testing.T, top string) { git(t, top, "config", "include.path", "../x.conf") }, ".", true},
		"a harmless include": {func(t *testing.T, top string) {
			write(t, top+"/x.conf", "[user]\nname = a\n")
			git(t, top, "config", "include.path", "../x.conf")
		}, ".", true},
		"another user's file": {func(t *testing.T, top string) { git(t, top, "config", "include.path", "~root/x.conf") }, ".", false},
		"the work tree's": {func(t *testing.T, top string) {
			git(t, top, "config", "extensions.worktreeConfig", "true")
			git(t, top, "config", "--worktree", "core.fsmonitor", "./.git/run")
		}, ".", false},
		"a linked work tree": {func(t *testing.T, top string) {
			git(t, top, "worktree", "add", "-q", "wt")
			git(t, top, "config", "core.fsmonitor", "x")
		}, "wt", false},
		"a linked work tree's": {func(t *testing.T, top string) {
			git(t, top, "config", "extensions.worktreeConfig", "true")
			git(t, top, "worktree", "add", "-q", "wt")
			git(t, top+"/wt", "config", "--worktree", "core.fsmonitor", "x")
		}, "wt", false},
		"another work tree's": {func(t *testing.T, top string) {
			git(t, top, "config", "extensions.worktreeConfig", "true")
			git(t, top, "worktree", "add", "-q", "wt")
			git(t, top+"/wt", "config", "--worktree", "core.fsmonitor", "x")
		}, ".", true},
		"a submodule's": {func(t *testing.T, top string) {
			submodule(t, top)
			git(t, top+"/sub", "config", "core.fsmonitor", top+"/.git/run")
		}, ".", false},
		"a submodule's, in a split index": {func(t *testing.T, top string) {
			submodule(t, top)
			git(t, top, "update-index", "--split-index")
			git(t, top+"/sub", "config", "core.fsmonitor", top+"/.git/run")
		}, ".", false},
		"a submodule's, in an index of version 4": {func(t *testing.T, top string) {
			submodule(t, top)
			git(t, top, "update-index", "--index-version", "4")
			git(t, top+"/sub", "config", "core.fsmonitor", top+"/.git/run")
		}, ".", false},
		"a submodule": {submodule, ".", true},
		"a submodule with its own directory": {func(t *testing.T, top string) {
			git(t, top, "init", "-q", "sub")
			git(t, top+"/sub", "commit", "-q", "--allow-empty", "-m", "x")
			git(t, top, "add", "sub")
			git(t, top+"/sub", "config", "core.fsmonitor", top+"/.git/run")
		}, ".", false},
		"a repository below": {func(t *testing.T, top string) {
			git(t, top, "init", "-q", "sub")
			git(t, top+"/sub", "config", "core.fsmonitor", top+"/.git/run")
		}, ".", true},
		"above an incomplete repository": {func(t *testing.T, top string) {
			write(t, top+"/sub/.git/HEAD", "ref: refs/heads/main\n")
			git(t, top, "config", "core.fsmonitor", "x")
		}, "sub", false},
		"above a repository with a bad head": {func(t *testing.T, top string) {
			git(t, top, "init", "-q", "sub")
			write(t, top+"/sub/.git/HEAD", "x")
			git(t, top, "config", "core.fsmonitor", "x")
		}, "sub", false},
		"a partial clone": {func(t *testing.T, top string) {
			git(t, top, "config", "remote.o.promisor", "true")
			git(t, top, "config", "remote.o.partialclonefilter", "blob:none")
			git(t, top, "config", "extensions.partialClone", "o")
		}, ".", true},
		"a partial clone's program": {func(t *testing.T, top string) {
			git(t, top, "config", "remote.o.promisor", "true")
			git(t, top, "config", "remote.o.uploadpack", top+"/.git/run")
		}, ".", false},
		"a bare repository": {func(t *testing.T, top string) {
			git(t, top, "init", "-q", "--bare", "lib")
			git(t, top+"/lib", "config", "core.fsmonitor", "x")
		}, "lib", false},
		"an invalid file": {func(t *testing.T, top string) { write(t, top+"/.git/config", "[core\n") }, ".", false},
		"a device":        {func(t *testing.T, top string) { git(t, top, "config", "include.path", "/dev/null") }, ".", false},
		"user.name":       {func(t *testing.T, top string) { git(t, top, "config", "user.name", "a") }, ".", true},
		"branches and remotes": {func(t *testing.T, top string) {
			git(t, top, "config", "branch.a.b.remote", "o")
			git(t, top, "remote", "add", "x.y", "https://example.org/x.git")
		}, ".", true},
		"an address with a helper": {func(t *testing.T, top string) { git(t, top, "config", "remote.o.url", "ext::sh -c x") }, ".", false},
		"an address instead":       {func(t *testing.T, top string) { git(t, top, "config", "url.ext::x.insteadOf", "https://") }, ".", false},
		"an update that runs":      {func(t *testing.T, top string) { git(t, top, "config", "submodule.x.update", "!touch y") }, ".", false},
		"git-lfs": {func(t *testing.T, top string) {
			git(t, top, "config", "filter.lfs.process", "git-lfs filter-process")
			git(t, top, "config", "filter.lfs.required", "true")
		}, ".", true},
		"git-lfs of the directory": {func(t *testing.T, top string) {
			git(t, top, "config", "filter.lfs.process", "./git-lfs filter-process")
		}, ".", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top, _ := repositoryLike(t, template)
			tt.do(t, top)
			settled(t, top)
			foreign := gitdir.Foreign(filepath.Join(top, tt.dir))
			require.Equal(t, tt.none, len(foreign) == 0, "%v", foreign)
			require.Equal(t, tt.none, gitdir.NewWatch(nil, filepath.Join(top, tt.dir)).UnsafeReason(filepath.Join(top, tt.dir)) == "")
		})
	}
}

// submodule adds the submodule sub.
func submodule(t *testing.T, top string) {
	t.Helper()
	git(t, t.TempDir(), "-c", "protocol.file.allow=always", "-C", top, "submodule", "--quiet", "add", top, "sub")
}

// PB-02: changes are noticed at once, also in files that were missing.
func TestConfigurationIsReadAgain(t *testing.T) {
	top, _ := repositoryLike(t, newRepository(t))
	git(t, top, "config", "include.path", "x.conf")
	settled(t, top)
	w := gitdir.NewWatch(nil)
	digest := func() bool { return strings.Contains(w.UnsafeReason(top), "fsmonitor") }
	require.False(t, digest())
	write(t, top+"/.git/x.conf", "[core]\nfsmonitor = x\n")
	for range 3 {
		require.NotEmpty(t, w.UnsafeReason(top))
	}
	w = gitdir.NewWatch(nil)
	settled(t, top)
	for range 3 {
		require.True(t, digest() || strings.Contains(w.UnsafeReason(top), "created or changed"))
	}
}

// PB-02: the parser reads what git reads.
func TestParserAgainstGit(t *testing.T) {
	dir := t.TempDir()
	for _, text := range []string{
		"[a]\nb = c\n", "[A]B=c ; x\n", "[a \"B c\"]\n\td\n", "[a.B]\nc = d", "[a] b = c\n[d]e=f", "[a]\nb = \" c \" d  # e\n", "[a]\nb = c\\\n  d\n", "[a]\nb = c\\\r\nd\r\n",
		"\ufeff[a]\nb = 1\n", "[a]\nb = \"x\\n\\t\\\"\\\\y\"\n", "[a \"x\\\"y\\z\"]\nb\n", "[a]\nb-c1 = 2\n", "; x\n# y\n[a]\n  ; z\nb =\n", "[a]\nb = x;y#z\n", "[a]\nb = \"x;y\"\n",
		"[a]\nb=c\n\n\n[a]\nb=d\n", "[a \"\"]\nb = 1\n", "[a]\nb", "[a]\r\nb = c \r\n", "[include]\npath = x\n", "[a \"b\"]c=d\n", "[a] # x\nb = 1\n", "[a]b=\n[c]\nd = \\\n\n",
		// git rejects these
		"[a\nb = c\n", "[a]\n1 = c\n", "[a]\nb = \"c\n", "[a]\nb = \\x\n", "[a \"b\nc\"]\nd = 1\n", "[a \"b\"x]\nd = 1\n", "[]\nb = 1\n", "[a]\nb c = d\n", "[a]\n= d\n", "[a_b]\nc = 1\n", "[a]\n_ = 1\n",
	} {
		file := filepath.Join(dir, "config")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		cmd := exec.Command("git", "config", "--file", file, "--no-includes", "--list", "-z")
		cmd.Env = append(os.Environ(), "LC_ALL=C")
		out, err := cmd.Output()
		all, parseErr := gitdir.ParseConfig([]byte(text))
		require.Equal(t, err == nil, parseErr == nil, "%q: %v, %v", text, err, parseErr)
		if err != nil {
			continue
		}
		var want, got []string
		for pair := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			name, value, ok := strings.Cut(pair, "\n")
			if !ok {
				value = "true"
			}
			want = append(want, name+"="+value)
		}
		for _, s := range all {
			got = append(got, s.Name+"="+s.Value)
		}
		require.Equal(t, want, got, "%q", text)
	}
}

// PB-02: the page on policy has the table of harmless keys.
func TestHarmlessKeysDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/policy-commands.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "<!-- harmless keys -->\n\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	require.Equal(t, strings.TrimSpace(gitdir.HarmlessTable()), table)
}
