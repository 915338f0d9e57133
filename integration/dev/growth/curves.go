package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// decades returns the powers of ten from 10^from to 10^to.
func decades(from, to int) (all []int) {
	n := 1
	for i := 0; i <= to; i++ {
		if i >= from {
			all = append(all, n)
		}
		n *= 10
	}
	return all
}

func curves() []curve {
	files, bytes := decades(3, 6), decades(3, 7)
	return []curve{
		{"walk", "files", "files", files, "system calls that list directories", inFiles(func(ctx context.Context, f *discovery.Finder, start workspace.Path) error {
			_, err := f.Walk(ctx, discovery.Walk{Start: start, Depth: -1}, func(discovery.File) bool { return true })
			return err
		})},
		{"search", "files", "files", files, "opening, reading and closing each file", inFiles(func(ctx context.Context, f *discovery.Finder, start workspace.Path) error {
			pattern, err := discovery.CompilePattern("needle", true, false)
			if err == nil {
				_, err = f.Search(ctx, discovery.Search{Pattern: pattern, Start: start, MaxBytes: 1 << 30})
			}
			return err
		})},
		{"glob", "files", "files", files, "listing directories, and sorting the matches", inFiles(func(ctx context.Context, f *discovery.Finder, start workspace.Path) error {
			_, err := f.Find(ctx, discovery.Find{Pattern: "**/*7.go", Limit: 1 << 30})
			return err
		})},
		{"first checkpoint", "files", "files", files, "reading, hashing and storing each file", firstCheckpoint},
		{"read_file", "bytes", "bytes", bytes, "the hash, and the JSON text of the content", readFile},
		{"edit", "bytes", "bytes", bytes, "the hashes before and after the exchange; below 100 KB the two flushes", editFile},
		{"patch of 100,000 lines", "hunks", "hunks", decades(0, 4), "parsing and placing the hunks; below 1,000 hunks the lines of the file", patchFile},
		{"decision on a tool", "rules", "rules", decades(1, 5), "nothing that depends on the number of rules: they are indexed", decide("read_file", `{"file_path":"/w/a.go"}`)},
		{"decision on a command line", "rules", "rules", decades(1, 5), "parsing the line; the rules are indexed", decide("run_shell_command", `{"command":"git status | grep -v x"}`)},
		{"building the rules", "rules", "rules", decades(1, 5), "compiling the patterns, and sorting the rules", buildRules},
		{"declarations after a change", "tools", "tools", decades(1, 5), "sorting the tools by name", declarations},
		{"look-up of a tool", "tools", "tools", decades(1, 5), "one look-up in a map", lookUp},
		{"sessions", "sessions", "sessions", decades(0, 5), "the rules and tools of each session", sessions},
		{"loading a transcript", "messages", "messages", decades(2, 5), "decoding the JSON of each line", loadTranscript},
	}
}

// tree creates n small files, a hundred in a directory.
func tree(dir string, n int) error {
	for i := range n {
		path := filepath.Join(dir, fmt.Sprintf("d%03d/e%03d/f%d.go", i/10_000, i/100%100, i))
		if err := writeFile(path, fmt.Sprintf("package p\n\nfunc f%d() int { return %d }\n", i, i)); err != nil {
			return err
		}
	}
	return nil
}

// inFiles prepares a call of a finder in n files.
func inFiles(find func(ctx context.Context, f *discovery.Finder, start workspace.Path) error) func(context.Context, string, int) (work, error) {
	return func(_ context.Context, dir string, n int) (work, error) {
		if err := tree(dir, n); err != nil {
			return work{}, err
		}
		files, err := workspace.Open(dir)
		if err != nil {
			return work{}, err
		}
		start, err := files.Resolve(".")
		f := discovery.New(files).With(discovery.Options{MaxFiles: 1 << 30})
		return work{run: func(ctx context.Context) error { return find(ctx, f, start) }, close: files.Close}, err
	}
}

func firstCheckpoint(_ context.Context, dir string, n int) (work, error) {
	project := filepath.Join(dir, "project")
	if err := tree(project, n); err != nil {
		return work{}, err
	}
	files, err := workspace.Open(project)
	if err != nil {
		return work{}, err
	}
	turn := 0
	return work{close: files.Close, run: func(ctx context.Context) error {
		turn++
		finder := discovery.New(files).With(discovery.Options{MaxFiles: 1 << 30})
		r := checkpoint.New(checkpoint.Options{Dir: filepath.Join(dir, fmt.Sprint("store", turn))}).Record(checkpoint.RecorderOptions{
			Session: "growth", Files: files, Finder: func() *discovery.Finder { return finder },
		})
		call, err := r.Begin(ctx, checkpoint.Call{Tool: "run_shell_command"})
		if err == nil {
			call.End(ctx)
		}
		return errors.Join(err, r.Close())
	}}, nil
}

// text returns lines of n bytes.
func text(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "line %d of a file\n", i)
	}
	return b.String()[:n-1] + "\n"
}

// callIn prepares calls in a session whose file f has the given text.
func callIn(ctx context.Context, dir, content string, calls func(i int) (tool string, args any)) (work, error) {
	s, err := newSession(ctx, dir, func(p *config.Parameters) {
		p.Tools.Core = []string{"read_file", "edit"}
		p.Session.Limits = filestate.Limits{Lines: 1 << 30, Bytes: 1 << 30, ResultBytes: -1}
	})
	if err != nil {
		return work{}, err
	}
	if err := writeFile(filepath.Join(s.dir, "f"), content); err != nil {
		return work{}, errors.Join(err, s.config.Close())
	}
	if err := s.call(ctx, "read_file", map[string]any{"file_path": "f"}); err != nil {
		return work{}, errors.Join(err, s.config.Close())
	}
	i := 0
	return work{close: s.config.Close, run: func(ctx context.Context) error {
		tool, args := calls(i)
		i++
		return s.call(ctx, tool, args)
	}}, nil
}

func readFile(ctx context.Context, dir string, n int) (work, error) {
	return callIn(ctx, dir, text(n), func(int) (string, any) {
		return "read_file", map[string]any{"file_path": "f", "offset": 0, "limit": 1 << 30}
	})
}

func editFile(ctx context.Context, dir string, n int) (work, error) {
	words := []string{"line 3 of a file\n", "line three\n"}
	return callIn(ctx, dir, text(n), func(i int) (string, any) {
		return "edit", map[string]any{"file_path": "f", "old_string": words[i%2], "new_string": words[1-i%2]}
	})
}

func patchFile(_ context.Context, _ string, n int) (work, error) {
	const lines = 100_000
	var b, d strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	d.WriteString("--- a/f\n+++ b/f\n")
	for h := range n {
		at := h*(lines/n) + 1
		fmt.Fprintf(&d, "@@ -%d,3 +%d,3 @@\n line %d\n-line %d\n+changed\n line %d\n", at, at, at-1, at, at+1)
	}
	base, diff := b.String(), d.String()
	return work{run: func(context.Context) error {
		parsed, err := patch.Parse(diff)
		if err != nil {
			return err
		}
		c, err := patch.Correct(base, parsed)
		if err == nil {
			_, err = patch.ApplyStrict(base, c)
		}
		return err
	}}, nil
}

// rules returns n rules for other tools and commands, and two for the measured ones.
func rules(n int) []policy.Rule {
	var all []policy.Rule
	for i := range n - 2 {
		r := policy.Rule{Decision: []policy.Verdict{policy.Allow, policy.Deny, policy.AskUser}[i%3], Priority: i % 900, Tier: policy.TierUser, Tools: []string{fmt.Sprintf("tool_%d", i)}}
		switch i % 3 {
		case 0:
			r.Tools, r.CommandPrefix = []string{"run_shell_command"}, []string{fmt.Sprintf("program%d sub", i)}
		case 1:
			r.ArgsPattern = `"path":"[a-z]+"`
		}
		all = append(all, r)
	}
	return append(all,
		policy.Rule{Tools: []string{"read_file"}, Decision: policy.Allow, Priority: 5, Tier: policy.TierUser},
		policy.Rule{Tools: []string{"run_shell_command"}, Decision: policy.Allow, CommandPrefix: []string{"git status", "grep"}, Priority: 10, Tier: policy.TierUser})
}

// often repeats short work, whose single time the clock does not resolve.
const often = 1000

func decide(tool, params string) func(context.Context, string, int) (work, error) {
	return func(_ context.Context, _ string, n int) (work, error) {
		e, err := policy.NewEngine(policy.Options{Rules: rules(n)})
		if err != nil {
			return work{}, err
		}
		c, ok := policy.WellKnown(tool)
		if !ok {
			return work{}, fmt.Errorf("the policy has no tool %s", tool)
		}
		c.Params, c.Dir, c.Roots = json.RawMessage(params), "/w", []string{"/w"}
		return work{run: func(context.Context) error {
			for range often {
				if d := e.Decide(c); d.Decision != policy.Allow {
					return fmt.Errorf("the decision is %s: %s", d.Decision, d.Reason)
				}
			}
			return nil
		}}, nil
	}
}

func buildRules(_ context.Context, _ string, n int) (work, error) {
	all := rules(n)
	return work{run: func(context.Context) error {
		_, err := policy.NewEngine(policy.Options{Rules: all})
		return err
	}}, nil
}

// declared is a tool that is never called.
type declared struct{ spec tools.Spec }

func (d declared) Spec() tools.Spec { return d.spec }

func (d declared) Build(json.RawMessage) (tools.ToolInvocation, error) {
	return nil, errors.New("not callable")
}

func registry(n int) (*tools.Registry, error) {
	r := tools.NewRegistry(tools.RegistryOptions{})
	for i := range n {
		err := r.Register(declared{tools.Spec{Name: fmt.Sprintf("tool_%d", i), Description: "Does nothing.", Kind: tools.KindRead, Schema: []byte(`{}`)}})
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

func declarations(_ context.Context, _ string, n int) (work, error) {
	r, err := registry(n)
	extra := declared{tools.Spec{Name: "extra", Description: "X.", Kind: tools.KindRead, Schema: []byte(`{}`)}}
	return work{run: func(context.Context) error {
		if err := r.Register(extra); err != nil { // invalidates the list
			return err
		}
		r.Unregister("extra")
		if got := len(r.Declarations()); got != n {
			return fmt.Errorf("%d declarations", got)
		}
		return nil
	}}, err
}

func lookUp(_ context.Context, _ string, n int) (work, error) {
	r, err := registry(n)
	name := fmt.Sprintf("tool_%d", n/2)
	return work{run: func(context.Context) error {
		for range often {
			if _, err := r.Lookup(name); err != nil {
				return err
			}
		}
		return nil
	}}, err
}
