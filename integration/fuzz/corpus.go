package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// What is kept of a target's inputs: enough to begin the next run well, little
// enough to be cloned and run with every test.
const (
	maxFiles = 40
	maxBytes = 64 << 10
	maxInput = 8 << 10
)

// input is a file of a corpus.
type input struct {
	name string
	data []byte
}

// keep adds inputs that the go command has found interesting to the target's
// committed ones, up to the limits, and returns how many there are then. What
// is committed already is never taken away: it may be the input of a failure
// that was mended.
func keep(ctx context.Context, root string, t target) (int, error) {
	out, err := goTool(ctx, root, "env", "GOCACHE")
	if err != nil {
		return 0, err
	}
	pkg, err := goTool(ctx, root, "list", "./"+t.folder)
	if err != nil {
		return 0, err
	}
	cache := filepath.Join(strings.TrimSpace(string(out)), "fuzz", filepath.FromSlash(strings.TrimSpace(string(pkg))), t.name)
	found, err := inputs(cache)
	if err != nil {
		return 0, err
	}
	dir := t.seeds(root)
	have, err := inputs(dir)
	if err != nil {
		return 0, err
	}
	chosen := choose(have, found)
	for _, in := range chosen {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return len(have), err
		}
		if err := os.WriteFile(filepath.Join(dir, in.name), in.data, 0o644); err != nil {
			return len(have), err
		}
	}
	return len(have) + len(chosen), nil
}

// inputs reads a folder of inputs; one that is not there has none.
func inputs(dir string) (all []input, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("corpus: %w", err)
		}
		all = append(all, input{e.Name(), data})
	}
	return all, nil
}

// choose returns which of found to add to have: those that tell nothing of the
// machine, evenly spread over all sizes, so that neither the trivial nor the
// long ones fill the room.
func choose(have, found []input) (chosen []input) {
	room, bytes := maxFiles-len(have), maxBytes
	known := map[string]bool{}
	for _, in := range have {
		known[in.name] = true
		bytes -= len(in.data)
	}
	found = slices.DeleteFunc(slices.Clone(found), func(in input) bool {
		return known[in.name] || len(in.data) > maxInput || personal(string(in.data))
	})
	slices.SortFunc(found, func(a, b input) int {
		if d := len(a.data) - len(b.data); d != 0 {
			return d
		}
		return strings.Compare(a.name, b.name)
	})
	for i := range min(room, len(found)) {
		in := found[i*len(found)/min(room, len(found))]
		if bytes -= len(in.data); bytes < 0 {
			break
		}
		chosen = append(chosen, in)
	}
	return chosen
}

// personal reports whether a text may name a folder or the host of the machine
// that it was found on.
func personal(text string) bool {
	host, _ := os.Hostname()
	home, _ := os.UserHomeDir()
	for _, s := range []string{host, home, os.TempDir() + string(filepath.Separator)} {
		if len(s) > 1 && strings.Contains(text, s) {
			return true
		}
	}
	return false
}
