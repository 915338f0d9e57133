package policy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
)

// AR-26: no rule that allows a command covers git in a repository that the
// session has created, wherever the line runs it.
func TestRepositoriesOfTheSession(t *testing.T) {
	rule := writers()
	rule.CommandPrefix = append(rule.CommandPrefix, "git log", "git log --oneline", "git init", "go", "npm", "gh", "git -C named", "git")
	e := engine(t, rule)
	const made = "The repository was made during the session."
	for line, want := range map[string]policy.Verdict{
		"git status":                               policy.Allow,
		"cd lib && git status":                     policy.AskUser,
		"cd lib/sub; git log --oneline | head":     policy.AskUser,
		"cd ./x/../lib && git add .":               policy.AskUser,
		"(cd lib && git status)":                   policy.AskUser,
		"pushd lib && git status":                  policy.AskUser,
		"cd lib && go build ./...":                 policy.AskUser,
		"cd lib && npm test":                       policy.AskUser,
		"cd lib && gh pr list":                     policy.AskUser,
		"cd lib && /usr/bin/git status":            policy.AskUser,
		"cd lib && timeout 5 git status":           policy.AskUser,
		"cd lib && bash -c 'git status'":           policy.AskUser,
		"git -C lib status":                        policy.AskUser,
		"git -C sub -C ../lib status":              policy.AskUser,
		"git --git-dir=lib status":                 policy.AskUser,
		"git --git-dir lib --work-tree . status":   policy.AskUser,
		"go -C lib build":                          policy.AskUser,
		"d=lib; git -C $d status":                  policy.AskUser,
		"for d in sub lib; do git -C $d log; done": policy.AskUser,
		"GIT_DIR=lib git status":                   policy.AskUser,
		"env GIT_DIR=lib git status":               policy.AskUser,
		"export GIT_DIR=lib; git status":           policy.AskUser,
		"GIT_WORK_TREE=lib git status":             policy.AskUser,
		"git -C \"$(cat x)\" status":               policy.AskUser,
		"ls | xargs -I{} git -C {} status":         policy.AskUser,
		"git -C named status":                      policy.Allow,
		"cd lib && git init":                       policy.Allow,
		"cd lib && cat HEAD":                       policy.Allow,
		"cd sub && git status":                     policy.Allow,
		"git -C sub status":                        policy.Allow,
		"git add lib && git commit -m lib":         policy.Allow,

		// Created by the line itself.
		"tar xf e.tar -C sub && cd sub && git status":                        policy.AskUser,
		"cd sub && tar xf ../e.tar && git status":                            policy.AskUser,
		"cp -r evil sub; git -C sub status":                                  policy.AskUser,
		"echo x > sub/HEAD; cd sub; git status":                              policy.AskUser,
		"cp x sub/config && cd sub/deep && git status":                       policy.AskUser,
		"cd sub && git init && git status":                                   policy.AskUser,
		"git init sub && cd sub && git status":                               policy.AskUser,
		"unzip -d sub e.zip && cd sub && go build":                           policy.AskUser,
		"tar xf e.tar && git status":                                         policy.AskUser,
		"tar xf e.tar && cd sub && git diff":                                 policy.AskUser,
		"tar xf e.tar; git -C sub diff":                                      policy.AskUser,
		"curl -s u | tar xz && git -C sub status":                            policy.AskUser,
		"unzip e.zip && cd sub && git log":                                   policy.AskUser,
		"for i in 1 2; do (cd sub && git status); tar xf e.tar -C sub; done": policy.AskUser,
		"until git -C sub status; do tar xf a.tar -C sub; done":              policy.AskUser,
		"f() { git -C sub status; }; tar xf a.tar -C sub; f":                 policy.AskUser,
		"git -C sub status | tar xf a.tar -C sub":                            policy.AskUser,
		"cp -r a/. sub && git -C sub log --oneline":                          policy.AskUser,
		"patch -p1 < x.diff && git -C sub status":                            policy.AskUser,
		"tar czf e.tgz sub && cd sub && git status":                          policy.Allow,
		"cp a b && git status":                                               policy.Allow,
		"cd sub && go build -o bin/x && git commit -am msg":                  policy.Allow,
		"mkdir -p sub/a && cd sub && git add a":                              policy.Allow,
		"echo x > sub/a.txt && cd sub && git add a.txt":                      policy.Allow,
	} {
		c := command(t, line, policy.ModeAutoEdit)
		c.Dir, c.Roots = "/w", []string{"/w"}
		c.Repositories = map[string]policy.Repository{"/w/lib": {Objection: made}, "/w/lib/sub": {Objection: made}, "/w/named": {Objection: made}}
		d := e.Decide(c)
		require.Equal(t, want, d.Decision, "%s: %s", line, d.Reason)
		require.Subset(t, []string{"/w", "/w/lib", "/w/lib/sub", "/w/sub", "/w/named", "/w/sub/deep"}, append(e.GitDirs(c), "/w"), line)
		if want == policy.AskUser {
			if !strings.Contains(line, "GIT_") {
				require.Contains(t, d.Reason, "configuration and hooks", line)
			}
			require.NotEmpty(t, d.Remedy)
		}
		c.Mode = policy.ModeYolo
		require.Equal(t, policy.Allow, engine(t).Decide(c).Decision, line)
	}
	require.Empty(t, e.GitDirs(command(t, "cat a && grep git b", policy.ModeDefault)))
	require.Empty(t, e.GitDirs(called(t, "write_file", `{"file_path":"a"}`)))
}

// The top directory of a repository has that repository, whatever directory it
// is.
func TestTopDirectoryOfTheRepository(t *testing.T) {
	rule := writers()
	rule.CommandPrefix = append(rule.CommandPrefix, "git", "cd", "command", "alias", "export")
	e := engine(t, rule)
	for line, want := range map[string]policy.Verdict{
		`cd "$(git rev-parse --show-toplevel)" && git status`:                                policy.Allow,
		"cd $(git rev-parse --show-toplevel 2>/dev/null); git status":                        policy.Allow,
		`cd sub && cd "$(git rev-parse --show-toplevel)" && git status`:                      policy.Allow,
		`cd lib && cd "$(git rev-parse --show-toplevel)" && git status`:                      policy.AskUser,
		`cd "$(git rev-parse --show-toplevel)" && cd lib && git status`:                      policy.AskUser,
		`cd "$(git rev-parse --show-toplevel)" && git -C lib status`:                         policy.AskUser,
		`cd "$(git rev-parse --show-toplevel)/lib" && git status`:                            policy.AskUser,
		`cd "$(git -C lib rev-parse --show-toplevel)" && git status`:                         policy.AskUser,
		`git() { echo lib; }; cd "$(git rev-parse --show-toplevel)" && command git status`:   policy.AskUser,
		`cd "$(git rev-parse --show-toplevel)" && echo x > .git/config`:                      policy.AskUser,
		`export GIT_WORK_TREE=lib; cd "$(git rev-parse --show-toplevel)" && git status`:      policy.AskUser,
		`alias git='echo lib;'; cd "$(git rev-parse --show-toplevel)" && command git status`: policy.AskUser,
	} {
		c := command(t, line, policy.ModeAutoEdit)
		c.Dir, c.Roots = "/w", []string{"/w"}
		c.Repositories = map[string]policy.Repository{"/w/lib": {Objection: "The repository was made during the session."}}
		require.Equal(t, want, e.Decide(c).Decision, line)
	}
}
