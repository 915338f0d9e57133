package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/files"
)

// setFiles is the number of files of a set.
const setFiles = 10

// fileCases are those of core/files, without tools or a session.
func fileCases() []Case {
	const readByHand = "read + SHA-256"
	var all []Case
	for _, n := range lineCounts() {
		all = append(all,
			Case{ID: fmt.Sprintf("files/read-%d-lines", n), Title: "`Read`, " + thousands(n) + " lines", Description: "The file is read and hashed.",
				Contestants: []Contestant{{"fettle", Ours, reading(n, readVerified)}, {readByHand, Floor, reading(n, hashByHand)}}},
			Case{ID: fmt.Sprintf("files/write-%d-lines", n), Title: "`Write`, " + thousands(n) + " lines", Description: "The whole file is replaced; its base is proved before and after the exchange.",
				Contestants: []Contestant{{"fettle", Ours, changing(n, writeVerified)}, {durably, Floor, durable(n)}}},
			Case{ID: fmt.Sprintf("files/patch-%d-lines", n), Title: "`Patch`, ten hunks in " + thousands(n) + " lines", Description: "A diff is parsed, located, applied and written.",
				Contestants: []Contestant{{"fettle", Ours, changing(n, patchVerified)}, {durably, Floor, durable(n)}}},
		)
	}
	return append(all,
		Case{ID: "files/set", Title: "`Apply`, ten files of 200 lines", Description: "Ten files are replaced together, with a journal.",
			Contestants: []Contestant{{"fettle", Ours, replacingSet}, {"ten times " + durably, Floor, replacingEach}}},
		Case{ID: "files/start", Title: "the program of the README", Description: "From start to end of a process that reads and patches a file.",
			Contestants: []Contestant{{"fettle", Ours, exampleProgram}, {doesNothing, Floor, command((*Lab).Nothing)}}},
		Case{ID: "files/size", Title: "the program of the README: its file", Description: "Built with -trimpath -ldflags '-s -w', without cgo.", Unit: Bytes, Turns: 1,
			Budgets:     []Budget{{Kind: Absolute, Most: 7e6}},
			Contestants: []Contestant{{"fettle", Ours, fileSize((*Lab).FilesProgram)}, {doesNothing, Floor, fileSize((*Lab).Nothing)}}},
	)
}

// openFiles opens a new directory of core/files with a copy of a text under each name.
func openFiles(lab *Lab, text string, names ...string) (*files.Dir, string, error) {
	dir, err := lab.TempDir("files")
	if err != nil {
		return nil, "", err
	}
	recovery, err := lab.TempDir("recovery")
	if err != nil {
		return nil, "", err
	}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return nil, "", err
		}
	}
	d, err := files.Open(dir, files.Options{Recovery: recovery})
	return d, dir, err
}

// reading prepares one read, repeated, with its hash.
func reading(n int, read func(ctx context.Context, d *files.Dir, dir string) (sum string, err error)) func(context.Context, *Lab) (*Prepared, error) {
	return func(ctx context.Context, lab *Lab) (*Prepared, error) {
		text := changeOf(n).Texts[0]
		d, dir, err := openFiles(lab, text, changeFile)
		if err != nil {
			return nil, err
		}
		if sum, err := read(ctx, d, dir); err != nil || sum != sumOf(text) {
			return nil, errors.Join(errors.New("the hash is wrong"), err, d.Close())
		}
		return &Prepared{InProcess: true, Close: d.Close, Run: timed(func(ctx context.Context) error {
			_, err := read(ctx, d, dir)
			return err
		})}, nil
	}
}

func readVerified(ctx context.Context, d *files.Dir, _ string) (string, error) {
	f, err := d.Read(ctx, changeFile)
	return f.SHA256, err
}

func hashByHand(_ context.Context, _ *files.Dir, dir string) (string, error) {
	data, err := os.ReadFile(filepath.Join(dir, changeFile))
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), err
}

// changing prepares two changes that alternate.
func changing(n int, change func(c Change, base files.File, at int) files.Change) func(context.Context, *Lab) (*Prepared, error) {
	return func(ctx context.Context, lab *Lab) (*Prepared, error) {
		c := changeOf(n)
		d, dir, err := openFiles(lab, c.Texts[0], changeFile)
		if err != nil {
			return nil, err
		}
		base, err := d.Read(ctx, changeFile)
		if err != nil {
			return nil, errors.Join(err, d.Close())
		}
		at := 0
		run := func(ctx context.Context) error {
			after, err := d.Apply(ctx, change(c, base, at))
			if err == nil {
				at, base = 1-at, after[0]
			}
			return err
		}
		for range 2 {
			if err := run(ctx); err != nil {
				return nil, errors.Join(err, d.Close())
			}
			if data, err := os.ReadFile(filepath.Join(dir, changeFile)); err != nil || string(data) != c.Texts[at] {
				return nil, errors.Join(errors.New("the file does not have the expected content"), err, d.Close())
			}
		}
		return &Prepared{InProcess: true, Run: timed(run), Close: d.Close}, nil
	}
}

func writeVerified(c Change, base files.File, at int) files.Change {
	return files.Write(base, []byte(c.Texts[1-at]))
}

func patchVerified(c Change, base files.File, at int) files.Change {
	return files.Patch(base, c.Diffs[at])
}

func setNames() (names []string) {
	for i := range setFiles {
		names = append(names, fmt.Sprintf("%s%d", changeFile, i))
	}
	return names
}

// replacingSet prepares a set that replaces all files, by turns with two texts.
func replacingSet(ctx context.Context, lab *Lab) (*Prepared, error) {
	texts := changeOf(lineCounts()[0]).Texts
	d, _, err := openFiles(lab, texts[0], setNames()...)
	if err != nil {
		return nil, err
	}
	bases := make([]files.File, setFiles)
	for i, name := range setNames() {
		if bases[i], err = d.Read(ctx, name); err != nil {
			return nil, errors.Join(err, d.Close())
		}
	}
	at := 0
	return &Prepared{InProcess: true, Close: d.Close, Run: timed(func(ctx context.Context) error {
		changes := make([]files.Change, setFiles)
		for i, base := range bases {
			changes[i] = files.Write(base, []byte(texts[1-at]))
		}
		after, err := d.Apply(ctx, changes...)
		if err == nil {
			at, bases = 1-at, after
		}
		return err
	})}, nil
}

func replacingEach(_ context.Context, lab *Lab) (*Prepared, error) {
	dir, err := lab.TempDir("each")
	if err != nil {
		return nil, err
	}
	text := []byte(changeOf(lineCounts()[0]).Texts[0])
	return &Prepared{InProcess: true, Run: timed(func(context.Context) error {
		for _, name := range setNames() {
			if err := replaceByHand(dir, name, text); err != nil {
				return err
			}
		}
		return nil
	})}, nil
}

// exampleProgram prepares the program of the README, in a directory with its file.
func exampleProgram(ctx context.Context, lab *Lab) (*Prepared, error) {
	path, err := lab.FilesProgram(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := lab.TempDir("hello")
	if err != nil {
		return nil, err
	}
	p := started(dir, os.Environ(), path)
	p.Reset = func(context.Context) error {
		return os.WriteFile(filepath.Join(dir, "hello.txt"), []byte("hello\n"), 0o644)
	}
	return p, nil
}
