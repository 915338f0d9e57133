package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// gitApply is the name of git's contestant, which a budget refers to.
const gitApply = "git apply"

const (
	durably     = "write, flush, rename by hand"
	changeFile  = "f"
	patchBudget = 50_000 // number of lines of the case about allocated memory
	shownLines  = 2_000  // lines that one read shows, and that a success repeats
)

// changeCases are safe_patch, edit and write_file. Each makes a change and reverts it by turns.
func changeCases() []Case {
	var patches, edits, writes []Case
	for _, n := range lineCounts() {
		// By the number of lines; 0: there is none.
		limits := map[int]struct{ patch, edit, write float64 }{200: {patch: 1.2}, 5_000: {patch: 1, edit: 1.5}, patchBudget: {patch: 1, edit: 1.5, write: 4}}[n]
		patches = append(patches, Case{ID: fmt.Sprintf("patch/%d-lines", n), Title: "`safe_patch`, ten hunks in " + thousands(n) + " lines",
			Description: "A diff of ten hunks is parsed, located, applied and written, and the base hash is verified.",
			Contestants: []Contestant{
				{"fettle", Ours, changer(n, patchRequests)},
				{durably, Floor, durable(n)},
			},
			Budgets: ratio(limits.patch, gitApply)})
		edits = append(edits, Case{ID: fmt.Sprintf("edit/%d-lines", n), Title: "`edit`, one of " + thousands(n) + " lines", Description: "One line is replaced by another.",
			Contestants: []Contestant{
				{"fettle", Ours, changer(n, editRequests)},
				{"read, replace, " + durably, Floor, edited(n)},
			},
			Budgets: ratio(limits.edit, "read, replace, "+durably)})
		writes = append(writes, Case{ID: fmt.Sprintf("write/%d-lines", n), Title: "`write_file`, " + thousands(n) + " lines", Description: "The whole file is written again; ten lines differ.",
			Contestants: []Contestant{
				{"fettle", Ours, changer(n, writeRequests)},
				{durably, Floor, durable(n)},
			},
			Budgets: ratio(limits.write, durably)})
	}
	patches = append(patches, Case{ID: "patch/50000-lines-allocated", Title: "`safe_patch`, ten hunks in 50,000 lines: memory allocated", Unit: Bytes, Turns: 5,
		Description: "The memory that the call allocates, compared with the size of the file.",
		Budgets:     []Budget{{Kind: Ratio, Most: 6, Against: "the file"}},
		Contestants: []Contestant{
			{"fettle", Ours, allocatedBytes(changer(patchBudget, patchRequests))},
			{"the file", Floor, func(context.Context, *Lab) (*Prepared, error) {
				size := float64(len(changeOf(patchBudget).Texts[0]))
				return &Prepared{Run: func(context.Context) (Measured, error) { return Measured{Value: size}, nil }}, nil
			}},
		}})
	return append(append(patches, edits...), writes...)
}

// changer prepares two calls that alternate. After each call, the file must equal the corresponding
// entry of texts.
func changer(n int, requests func(Change) (calls [2]scheduler.Request, texts [2]string, err error)) func(context.Context, *Lab) (*Prepared, error) {
	return func(ctx context.Context, lab *Lab) (_ *Prepared, err error) {
		calls, texts, err := requests(changeOf(n))
		if err != nil {
			return nil, err
		}
		s, err := newSession(ctx, lab, func(p *config.Parameters) {
			p.Session.Limits, p.Tools.Core = filestate.Limits{}, []string{"read_file", "safe_patch", "edit", "write_file"}
		})
		if err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, s.config.Close())
			}
		}()
		path, err := s.write(changeFile, texts[0])
		if err != nil {
			return nil, err
		}
		if err := readInParts(ctx, s, changeFile); err != nil {
			return nil, err
		}
		at := 0
		run := func(ctx context.Context) error {
			_, err := s.call(ctx, calls[at])
			at = 1 - at
			return err
		}
		for range 2 {
			if err := run(ctx); err != nil {
				return nil, err
			}
			if data, err := os.ReadFile(path); err != nil || string(data) != texts[at] {
				return nil, errors.Join(errors.New("the file does not have the expected content after the call"), err)
			}
		}
		return &Prepared{InProcess: true, Run: timed(run), Close: s.config.Close}, nil
	}
}

// readInParts reads a file as a model does that needs all of it.
func readInParts(ctx context.Context, s *session, name string) error {
	var part struct {
		NextOffset *int `json:"next_offset"`
	}
	for offset := 0; ; offset = *part.NextOffset {
		r, err := request("read_file", map[string]any{"file_path": name, "offset": offset})
		if err != nil {
			return err
		}
		response, err := s.call(ctx, r)
		if err != nil {
			return err
		}
		part.NextOffset = nil
		if err := json.Unmarshal([]byte(response.Result.LLMContent.String()), &part); err != nil || part.NextOffset == nil {
			return err
		}
	}
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func patchRequests(c Change) (calls [2]scheduler.Request, texts [2]string, err error) {
	for i := range calls {
		var e error
		calls[i], e = request("safe_patch", file.SafePatchParams{FilePath: changeFile, UnifiedDiff: c.Diffs[i], BaseContentSHA256: sumOf(c.Texts[i])})
		err = errors.Join(err, e)
	}
	return calls, c.Texts, err
}

func editRequests(c Change) (calls [2]scheduler.Request, texts [2]string, err error) {
	for i := range calls {
		var e error
		calls[i], e = request("edit", file.EditParams{FilePath: changeFile, OldString: c.Lines[i], NewString: c.Lines[1-i]})
		err = errors.Join(err, e)
	}
	return calls, c.Singles, err
}

func writeRequests(c Change) (calls [2]scheduler.Request, texts [2]string, err error) {
	for i := range calls {
		var e error
		calls[i], e = request("write_file", file.WriteFileParams{FilePath: changeFile, Content: c.Texts[1-i], BaseContentSHA256: sumOf(c.Texts[i])})
		err = errors.Join(err, e)
	}
	return calls, c.Texts, err
}

// durable writes the two texts alternately and reads nothing.
func durable(n int) func(context.Context, *Lab) (*Prepared, error) {
	return func(_ context.Context, lab *Lab) (*Prepared, error) {
		dir, err := lab.TempDir("durable")
		if err != nil {
			return nil, err
		}
		texts := [2][]byte{}
		for i, text := range changeOf(n).Texts {
			texts[i] = []byte(text)
		}
		at := 0
		return &Prepared{InProcess: true, Run: timed(func(context.Context) error {
			at = 1 - at
			return replaceByHand(dir, changeFile, texts[at])
		})}, nil
	}
}

// edited replaces one line and returns the new state as JSON, as edit does: with as much content as
// one read would show.
func edited(n int) func(context.Context, *Lab) (*Prepared, error) {
	return func(_ context.Context, lab *Lab) (*Prepared, error) {
		dir, err := lab.TempDir("edited")
		if err != nil {
			return nil, err
		}
		c := changeOf(n)
		path := filepath.Join(dir, changeFile)
		at := 0
		return &Prepared{InProcess: true, Run: timed(func(context.Context) error {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			old := []byte(c.Lines[at])
			if bytes.Count(data, old) != 1 {
				return errors.New("the line does not occur exactly once")
			}
			data = bytes.Replace(data, old, []byte(c.Lines[1-at]), 1)
			at = 1 - at
			if err := replaceByHand(dir, changeFile, data); err != nil {
				return err
			}
			state := map[string]any{"sha256": sumOf(string(data)), "content": nil}
			if n <= shownLines {
				state["content"] = string(data)
			}
			_, err = json.Marshal(state)
			return err
		})}, os.WriteFile(path, []byte(c.Texts[0]), 0o644)
	}
}
