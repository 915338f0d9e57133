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

// Limits of the stored inputs of a target: sufficient to start the next run, and
// small enough to be cloned and run with every test.
const (
	maxFiles = 40
	maxBytes = 64 << 10
	maxInput = 8 << 10
)

// input is an entry of a corpus: its name, and the text in the format of the go
// command.
type input struct {
	name string
	data []byte
}

// keep adds inputs to the target's archive and returns their number. It adds interesting inputs of
// the go command up to the limits, and moves every failing input that the go command wrote into the
// archive. Committed inputs stay, because each may be the input of a repaired failure.
func keep(ctx context.Context, root string, t target) (int, error) {
	out, err := goTool(ctx, root, "env", "GOCACHE")
	if err != nil {
		return 0, err
	}
	pkg, err := goTool(ctx, root, "list", "./"+t.dir)
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

// archived reads an archive of inputs; a missing one is empty.
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

// writeArchive writes the inputs sorted by name. Inputs of the go command have one line per value,
// so that no line looks like a separator of the archive.
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

// inputs reads a directory of inputs; a missing one is empty.
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

// choose returns the inputs of found to add to have. They contain no data of the machine, and are
// evenly distributed over all sizes.
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

// personal reports whether a text may contain a directory or the host name of the
// machine.
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
