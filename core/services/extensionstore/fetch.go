package extensionstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
)

// fetchTimeout bounds the time to fetch a repository.
const fetchTimeout = 5 * time.Minute

// maxGitOutput bounds the kept output of git.
const maxGitOutput = 16 << 10

// fetch checks out the files of a repository at one revision into a new directory; ref
// "" is the default branch. No code of the repository runs: no hook, submodule or
// filter. git does not ask for passwords. environ is the environment of git, without
// variables that select another repository.
func fetch(ctx context.Context, from source, ref, dir string, environ []string) error {
	git, err := exec.LookPath("git")
	if err != nil {
		return fault.Wrap(fault.ExecutionFailed, "extensions.fetch", "The program git, which fetches repositories, was not found.", "Install git, or install the extension from a directory.", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return unwritable(dir, err)
	}
	ctx, stop := context.WithTimeoutCause(ctx, fetchTimeout, errFetchTimeout)
	defer stop()
	wanted := cmp.Or(ref, "HEAD")
	environ = gitEnvironment(environ, from.local)
	steps := [][]string{
		{"init", "--quiet", "--template="},
		{"fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-commit-graph", "--", from.url, wanted},
		{"checkout", "--quiet", "--detach", "FETCH_HEAD"},
	}
	for _, step := range steps {
		if err := runGit(ctx, git, dir, environ, step); err != nil {
			return fetchFailure(ctx, from, ref, err)
		}
	}
	return nil
}

var errFetchTimeout = errors.New("the fetch timed out")

// gitSettings prevent git from running hooks and configured commands of the repository.
func gitSettings() []string {
	var args []string
	for _, setting := range []string{
		"core.hooksPath=" + os.DevNull, "core.fsmonitor=false", "protocol.ext.allow=never", "submodule.recurse=false",
		"fetch.recurseSubmodules=false", "gc.auto=0", "maintenance.auto=false", "advice.detachedHead=false", "credential.interactive=never",
	} {
		args = append(args, "-c", setting)
	}
	return args
}

// gitEnvironment removes variables that select another repository or configuration from
// an environment, and disables prompts.
func gitEnvironment(environ []string, local bool) []string {
	kept := slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return strings.HasPrefix(name, "GIT_") && !slices.Contains([]string{"GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "GIT_EXEC_PATH"}, name) ||
			slices.Contains([]string{"SSH_ASKPASS", "LC_ALL", "LANGUAGE"}, name)
	})
	protocols := "https:http:ssh:sso"
	if local {
		protocols = "file"
	}
	kept = append(kept, "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "SSH_ASKPASS_REQUIRE=never", "GCM_INTERACTIVE=never",
		"GIT_ALLOW_PROTOCOL="+protocols, "GIT_PROTOCOL_FROM_USER=0", "GIT_LFS_SKIP_SMUDGE=1", "LC_ALL=C")
	if !slices.ContainsFunc(kept, func(entry string) bool { return strings.HasPrefix(entry, "GIT_SSH") }) {
		kept = append(kept, "GIT_SSH_COMMAND=ssh -oBatchMode=yes")
	}
	return kept
}

// gitError is the output of a failed git.
type gitError struct {
	output string
	err    error
}

func (e *gitError) Error() string { return e.output }
func (e *gitError) Unwrap() error { return e.err }

func runGit(ctx context.Context, git, dir string, environ, args []string) error {
	cmd := exec.CommandContext(ctx, git, append(gitSettings(), args...)...)
	cmd.Dir, cmd.Env = dir, environ
	output := &clippedBuffer{}
	cmd.Stdout, cmd.Stderr = output, output
	cmd.WaitDelay = 5 * time.Second // processes that keep its output open are not waited for
	endWithChildren(cmd)
	if err := cmd.Run(); err != nil {
		return &gitError{output.String(), err}
	}
	return nil
}

// clippedBuffer keeps the last bytes that are written to it.
type clippedBuffer struct{ bytes.Buffer }

func (b *clippedBuffer) Write(p []byte) (int, error) {
	n, err := b.Buffer.Write(p)
	if over := b.Len() - maxGitOutput; over > 0 {
		b.Next(over)
	}
	return n, err
}

// fetchFailure returns the error of a failed fetch, with the message of git.
func fetchFailure(ctx context.Context, from source, ref string, err error) error {
	if ended := ctx.Err(); ended != nil {
		if errors.Is(context.Cause(ctx), errFetchTimeout) {
			return fault.Wrap(fault.ExecutionFailed, "extensions.fetch", fmt.Sprintf("%s could not be fetched within %s.", from.location, fetchTimeout),
				"Try again, or clone it yourself and install it from that directory.", err)
		}
		return cancelled(ended)
	}
	output := "git could not be run: " + err.Error()
	if of := new(gitError); errors.As(err, &of) {
		output = lastWords(of.output)
	}
	what := from.location
	if ref != "" {
		what += " at " + ref
	}
	return fault.Wrap(fault.ExecutionFailed, "extensions.fetch", fmt.Sprintf("%s could not be fetched: %s.", what, strings.TrimRight(output, ".")),
		"Check the address and the ref, and that git can fetch it without asking.", err)
}

// lastWords returns the last line of git's output.
func lastWords(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	for _, line := range slices.Backward(lines) {
		for _, mark := range []string{"fatal: ", "error: ", "ERROR: "} {
			if rest, ok := strings.CutPrefix(line, mark); ok {
				return clip(rest)
			}
		}
	}
	return clip(lines[len(lines)-1])
}

// checkDir refuses a source that is not a directory.
func checkDir(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault.Wrap(fault.FileNotFound, "extensions.source", fmt.Sprintf("There is no directory %s.", path), "Give the path of a directory with a manifest, or the address of a git repository.", err)
	case err != nil:
		return unreadable(path, err)
	case !info.IsDir():
		return fault.New(fault.PathIsNotADirectory, "extensions.source", fmt.Sprintf("%s is no directory.", path), "Give the directory that the extension lies in: "+filepath.Dir(path)+".")
	}
	return nil
}
