//go:build unix

package files_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/files"
)

// FD-01: names that lead out of the directory, and special files, are refused for reads and changes.
func TestNames(t *testing.T) {
	p := open(t, complete(t), map[string]string{"in": "in\n", "d/f": "f"})
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600))
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(p.path, "link")))
	require.NoError(t, os.Symlink(outside, filepath.Join(p.path, "linked")))
	require.NoError(t, os.Symlink("in", filepath.Join(p.path, "alias")))
	for name, want := range map[string]fault.Code{
		"../x": fault.PathNotInWorkspace, outside + "/secret": fault.PathNotInWorkspace, "link": fault.PathNotInWorkspace,
		"linked/secret": fault.PathNotInWorkspace, "": fault.InvalidToolParams, "a\x00": fault.InvalidToolParams,
		"d": fault.TargetIsDirectory, ".": fault.TargetIsDirectory, "in/x": fault.PathIsNotADirectory,
	} {
		_, err := p.Read(t.Context(), name)
		requireFault(t, err, want, "")
		for _, hash := range []string{"", sumOf("secret")} {
			_, err = p.Write(t.Context(), files.File{Name: name, SHA256: hash}, nil)
			requireFault(t, err, want, "")
			_, err = p.Apply(t.Context(), files.Move(p.read("in"), "new"), files.Write(files.File{Name: name, SHA256: hash}, nil))
			requireFault(t, err, want, "")
		}
	}
	_, err := p.Write(t.Context(), files.File{Name: "linked/new"}, nil)
	requireFault(t, err, fault.PathNotInWorkspace, "")
	_, err = p.Apply(t.Context(), files.Move(p.read("in"), "../out"))
	requireFault(t, err, fault.PathNotInWorkspace, "")
	require.Equal(t, "secret", string(must(os.ReadFile(filepath.Join(outside, "secret")))))
	require.Len(t, must(os.ReadDir(outside)), 1)

	alias, err := p.Edit(t.Context(), p.read("alias"), "in", "by its alias")
	require.NoError(t, err)
	require.Equal(t, "by its alias\n", p.tree()["in"], "a link inside is followed")
	_, err = p.Apply(t.Context(), files.Edit(alias, "by", "twice by"), files.Edit(p.read("in"), "by", "once by"))
	requireFault(t, err, fault.InvalidToolParams, "")
	_, err = p.Apply(t.Context())
	requireFault(t, err, fault.InvalidToolParams, "")
}

// FD-01: modes survive a change, and a move.
func TestModes(t *testing.T) {
	p := open(t, complete(t), map[string]string{"run.sh": "#!/bin/sh\n"})
	path := filepath.Join(p.path, "run.sh")
	require.NoError(t, os.Chmod(path, 0o751))
	f, err := p.Write(t.Context(), p.read("run.sh"), []byte("#!/bin/bash\n"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o751), must(os.Stat(path)).Mode())
	_, err = p.Apply(t.Context(), files.Move(f, "bin/run"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o751), must(os.Stat(filepath.Join(p.path, "bin/run"))).Mode())
}

// FD-01: links are not removed or moved, and the directories of Options lie outside.
func TestLinksAndDirectories(t *testing.T) {
	p := open(t, complete(t), map[string]string{"in": "in\n", "b": "b"})
	require.NoError(t, os.Symlink("in", filepath.Join(p.path, "alias")))
	for _, c := range []files.Change{files.Delete(p.read("alias")), files.Move(p.read("alias"), "c")} {
		_, err := p.Apply(t.Context(), c)
		requireFault(t, err, fault.NotARegularFile, "")
	}
	b := p.read("b")
	for name, changes := range map[string][]files.Change{
		"one file":      {files.Write(b, nil), files.Delete(b)},
		"one new name":  {files.Move(b, "c"), files.Move(p.read("in"), "c")},
		"its own name":  {files.Move(b, "b")},
		"name of other": {files.Move(b, "in"), files.Write(p.read("in"), nil)},
		"too many":      many(101),
	} {
		_, err := p.Apply(t.Context(), changes...)
		require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err), "%s: %v", name, err)
	}
	_, err := p.Apply(t.Context(), files.Move(b, "in"))
	requireFault(t, err, fault.AttemptToCreateExist, "")
	require.Equal(t, map[string]string{"in": "in\n", "b": "b"}, p.tree())

	for _, dir := range []string{filepath.Join(p.path, "recovery"), p.path, "recovery"} {
		for _, o := range []files.Options{{Recovery: dir}, {Versions: dir}} {
			_, err := files.Open(p.path, o)
			requireFault(t, err, fault.InvalidConfig, "")
		}
	}
	require.Len(t, must(os.ReadDir(p.path)), 3)
}

func many(n int) (changes []files.Change) {
	for i := range n {
		changes = append(changes, files.Write(files.File{Name: fmt.Sprint("new", i)}, nil))
	}
	return changes
}

// FD-01: a file with several hard links is rewritten in place only with Recovery.
func TestHardLinks(t *testing.T) {
	for _, o := range []files.Options{{}, complete(t)} {
		p := open(t, o, map[string]string{"a": "a"})
		require.NoError(t, os.Link(filepath.Join(p.path, "a"), filepath.Join(p.path, "twin")))
		_, err := p.Write(t.Context(), p.read("a"), []byte("c"))
		if want := "c"; o.Recovery == "" {
			requireFault(t, err, fault.FileWriteFailure, "")
			require.Equal(t, "a", p.tree()["twin"])
		} else {
			require.NoError(t, err)
			require.Equal(t, want, p.tree()["twin"])
		}
	}
}

// FD-01: earlier versions are readable only for their owner.
func TestVersionsArePrivate(t *testing.T) {
	o := complete(t)
	p := open(t, o, map[string]string{"secret": "old"})
	_, err := p.Write(t.Context(), p.read("secret"), []byte("new"))
	require.NoError(t, err)
	stored := 0
	require.NoError(t, filepath.WalkDir(o.Versions, func(path string, e os.DirEntry, err error) error {
		info := must(e.Info())
		require.Zero(t, info.Mode().Perm()&0o077, path)
		if info.Mode().IsRegular() {
			stored++
		}
		return err
	}))
	require.Equal(t, 1, stored)
}

// FD-01: messages show names with control characters escaped.
func TestHostileNames(t *testing.T) {
	const name = "a\x1b]0;x\a"
	p := open(t, files.Options{}, map[string]string{name: "a"})
	for _, err := range []error{
		second(p.Write(t.Context(), files.File{Name: name}, nil)),
		second(p.Write(t.Context(), files.File{Name: name, SHA256: sumOf("b")}, nil)),
		second(p.Edit(t.Context(), p.read(name), "b", "c")),
		second(p.Read(t.Context(), name+"x")),
	} {
		require.NotContains(t, err.Error(), "\x1b")
		require.NotContains(t, fault.As(err).Text(), "\x1b")
	}
}
