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

	"github.com/rogpeppe/go-internal/txtar"
)

// What is kept of a target's inputs: enough to begin the next run well, little
// enough to be cloned and run with every test.
const (
	maxFiles = 40
	maxBytes = 64 << 10
	maxInput = 8 << 10
)

// input is one of a corpus: its name, and the text that the go command writes.
type input struct {
	name string
	data []byte
}

// keep adds inputs to the target's archive and returns how many it has then:
// those that the go command has found interesting, up to the limits, and every
// failing input that it has written as a file, which goes into the archive and
// away. What is committed stays: it may be the input of a failure that was mended.
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
	failing, err := inputs(t.failures(root))
	if err != nil {
		return 0, err
	}
	have, err := archived(t.archive(root))
	if err != nil {
		return 0, err
	}
	all := slices.Concat(have, failing)
	all = append(all, choose(all, found)...)
	if len(all) == len(have) {
		return len(have), nil
	}
	if err := writeArchive(t.archive(root), all); err != nil {
		return len(have), err
	}
	return len(all), os.RemoveAll(t.failures(root))
}

// archived reads an archive of inputs; one that is absent has none.
func archived(file string) (all []input, err error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("corpus: %w", err)
	}
	for _, f := range txtar.Parse(data).Files {
		all = append(all, input{f.Name, f.Data})
	}
	return all, nil
}

// writeArchive writes the inputs in the order of their names. Those of the go
// command hold one line a value, so none holds a line that would part the archive.
func writeArchive(file string, all []input) error {
	slices.SortFunc(all, func(a, b input) int { return strings.Compare(a.name, b.name) })
	var archive txtar.Archive
	for _, in := range all {
		archive.Files = append(archive.Files, txtar.File{Name: in.name, Data: in.data})
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, txtar.Format(&archive), 0o644)
}

// inputs reads a directory of inputs; one that is absent has none.
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

// personal reports whether a text may name a directory or the host of the machine
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
