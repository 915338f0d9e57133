package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// The files of the case read/1000-files.
const (
	manyFiles     = 1_000
	manyFilesSize = 1 << 10
)

func readCases() []Case {
	const byHand = "read, SHA-256, JSON by hand"
	var all []Case
	for _, size := range readSizes() {
		c := Case{ID: "read/" + size.Name, Title: "`read_file`, " + size.Title,
			Description: "The whole file is read, hashed and returned as JSON, as in a first read.",
			Contestants: []Contestant{
				{"fettle", Ours, readWhole(size.Bytes)},
				{byHand, Floor, func(_ context.Context, lab *Lab) (*Prepared, error) {
					dir, err := lab.TempDir("read")
					if err != nil {
						return nil, err
					}
					path := filepath.Join(dir, "f.go")
					return &Prepared{InProcess: true, Run: timed(func(context.Context) error {
						_, err := stateByHand(path)
						return err
					})}, os.WriteFile(path, []byte(source(size.Bytes)), 0o644)
				}},
			}}
		c.Budgets = ratio(map[int]float64{1 << 10: 3, 1 << 20: 1.5}[size.Bytes], byHand)
		all = append(all, c)
	}
	const noop = "a tool that does nothing, called the same way"
	args := map[string]any{"file_path": "core/config/f.go"}
	deep := func(_ context.Context, s *session) error {
		_, err := s.write("core/config/f.go", source(1<<20))
		return err
	}
	return append(all,
		Case{ID: "read/unchanged", Title: "unchanged re-read, three directories deep", Description: "The model already has the file: its stat data is checked, and a placeholder is returned.",
			Budgets: []Budget{{Kind: Difference, Most: 10e3, Against: noop}},
			Contestants: []Contestant{
				{"fettle", Ours, caller("read_file", args, func(ctx context.Context, s *session) error {
					return errors.Join(deep(ctx, s), readTwice(ctx, s, args))
				})},
				{noop, Part, caller("noop", args, nil)},
			}},
		Case{ID: "read/1000-files", Title: "`read_many_files`, 1,000 of 1 KB", Description: "One call reads all files of a directory.",
			Contestants: []Contestant{
				{"fettle", Ours, readMany()},
				{"list, " + byHand, Floor, manyByHand},
			},
			Budgets: ratio(1.5, "list, "+byHand)})
}

// readWhole reads a file of n bytes with an explicit range, so that no placeholder replaces the
// content.
func readWhole(n int) func(context.Context, *Lab) (*Prepared, error) {
	args := map[string]any{"file_path": "f.go", "offset": 0, "limit": 1 << 20}
	return caller("read_file", args, func(ctx context.Context, s *session) error {
		text := source(n)
		if _, err := s.write("f.go", text); err != nil {
			return err
		}
		r, err := request("read_file", args)
		if err != nil {
			return err
		}
		for range 2 {
			response, err := s.call(ctx, r)
			if err != nil {
				return err
			}
			var state struct{ Content string }
			if err := json.Unmarshal([]byte(response.Result.LLMContent.String()), &state); err != nil || state.Content != text {
				return errors.Join(errors.New("read_file did not return the file"), err)
			}
		}
		return nil
	})
}

// readTwice reads a file twice and checks that the second result is the placeholder.
func readTwice(ctx context.Context, s *session, args any) error {
	r, err := request("read_file", args)
	if err != nil {
		return err
	}
	if _, err := s.call(ctx, r); err != nil {
		return err
	}
	again, err := s.call(ctx, r)
	if err == nil && !strings.Contains(again.Result.LLMContent.String(), filestate.StatusUnchanged) {
		err = fmt.Errorf("the second read did not return a placeholder: %.200s", again.Result.LLMContent.String())
	}
	return err
}

func writeMany(dir string) error {
	text := []byte(source(manyFilesSize))
	for i := range manyFiles {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%04d.go", i)), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func readMany() func(context.Context, *Lab) (*Prepared, error) {
	args := file.ReadManyFilesParams{Paths: []string{"*.go"}}
	return caller("read_many_files", args, func(ctx context.Context, s *session) error {
		if err := writeMany(s.dir); err != nil {
			return err
		}
		r, err := request("read_many_files", args)
		if err != nil {
			return err
		}
		for range 2 {
			response, err := s.call(ctx, r)
			if err != nil {
				return err
			}
			var states []struct{ Content string }
			if err := json.Unmarshal([]byte(response.Result.LLMContent.String()), &states); err != nil {
				return err
			}
			if len(states) != manyFiles || len(states[manyFiles-1].Content) != manyFilesSize {
				return fmt.Errorf("read_many_files returned %d files", len(states))
			}
		}
		return nil
	})
}

func manyByHand(_ context.Context, lab *Lab) (*Prepared, error) {
	dir, err := lab.TempDir("many")
	if err != nil {
		return nil, err
	}
	return &Prepared{InProcess: true, Run: timed(func(context.Context) error {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		var out bytes.Buffer
		for _, e := range entries {
			state, err := stateByHand(filepath.Join(dir, e.Name()))
			if err != nil {
				return err
			}
			out.Write(state)
		}
		if out.Len() < manyFiles*manyFilesSize {
			return fmt.Errorf("%d bytes were read", out.Len())
		}
		return nil
	})}, writeMany(dir)
}
