package integration_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/fettle-dev/fettle/core/services/fork"
)

// makeFork is the command mkfork NAME DIR of the scripts: it creates a fork of the current directory, as a session with
// --fork does, with the files of DIR, which is below $WORK. An empty file removes one. A fork that exists gets the files.
func makeFork(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mkfork NAME DIR")
	}
	dir, err := filepath.EvalSymlinks(ts.MkAbs("."))
	ts.Check(err)
	id := sha256.Sum256([]byte(dir))
	store := fork.New(fork.Options{Dir: filepath.Join(ts.Getenv("HOME"), ".local", "state", ts.Getenv(layoutVariable), "forks", hex.EncodeToString(id[:8]))})
	f, err := store.Open(args[0], "")
	if err != nil {
		f, err = store.Create(context.Background(), fork.Request{Name: args[0], Dirs: []string{dir}, Mode: fork.Copy})
	}
	ts.Check(err)
	upper, from := f.Layers()[0].Upper, filepath.Join(ts.Getenv("WORK"), args[1])
	ts.Check(filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		to := filepath.Join(upper, rel)
		if len(data) == 0 {
			return os.Remove(to)
		}
		return errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, data, 0o644))
	}))
	ts.Check(f.Close())
}
