package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/tools"
)

// The contestants of gemini-cli-core, in a process of Node that runs all the while.
const (
	geminiCore      = "gemini-cli-core"
	geminiCoreAlone = "gemini-cli-core, the tool alone"
	jsdiff          = "jsdiff, read and written in Node"
)

// inNode prepares an errand for the driver of the Node packages.
func inNode(pkg string, make func(ctx context.Context, lab *Lab) (errand, error)) func(context.Context, *Lab) (*Prepared, error) {
	return func(ctx context.Context, lab *Lab) (*Prepared, error) {
		d, err := sharedDriver(ctx, lab, pkg) // before what make makes, which costs something
		if err != nil {
			return nil, err
		}
		e, err := make(ctx, lab)
		if err != nil {
			return nil, err
		}
		if lab.Quick {
			return d.prepare(ctx, e, 0)
		}
		return d.prepare(ctx, e, warmTime)
	}
}

// viaCore returns two contestants that make the same call: through the scheduler,
// as a model's call goes, and built and executed by itself.
func viaCore(make func(lab *Lab) (errand, error)) []Contestant {
	way := func(alone bool) func(context.Context, *Lab) (*Prepared, error) {
		return inNode(coreNPM, func(_ context.Context, lab *Lab) (errand, error) {
			e, err := make(lab)
			if err == nil {
				e.Params["alone"] = alone
			}
			return e, err
		})
	}
	return []Contestant{{geminiCore, Peer, way(false)}, {geminiCoreAlone, Peer, way(true)}}
}

// shows checks that a result is a text.
func shows(want string) func(string) error {
	return func(shown string) error {
		if shown != want {
			return fmt.Errorf("%d bytes in place of %d: %.80q", len(shown), len(want), shown)
		}
		return nil
	}
}

// mentions checks that a result contains a text.
func mentions(want string) func(string) error {
	return func(shown string) error {
		if !strings.Contains(shown, want) {
			return fmt.Errorf("%q is not in %.200q", want, shown)
		}
		return nil
	}
}

// fileWith makes a file in a directory of its own.
func fileWith(lab *Lab, name, text string) (dir, path string, err error) {
	dir, err = lab.TempDir("peer")
	if err != nil {
		return "", "", err
	}
	path = filepath.Join(dir, name)
	return dir, path, os.WriteFile(path, []byte(text), 0o644)
}

// alternates checks that a file holds the one text and the other by turns.
func alternates(path string, texts [2]string) func(done int) error {
	return func(done int) error {
		data, err := os.ReadFile(path)
		if err == nil && string(data) != texts[done%2] {
			err = errors.New("the file is not as the change should have made it")
		}
		return err
	}
}

// coreReads reads a file of n bytes whole; without end_line it would be cut.
func coreReads(n int) func(lab *Lab) (errand, error) {
	return func(lab *Lab) (errand, error) {
		dir, path, err := fileWith(lab, "f.go", source(n))
		args := []any{map[string]any{"file_path": path, "start_line": 1, "end_line": 1 << 20}}
		return errand{Work: "call", Params: map[string]any{"dir": dir, "tool": "read_file", "args": args}, Check: shows(source(n))}, err
	}
}

func coreReadsMany(_ context.Context, lab *Lab) (errand, error) {
	dir, err := lab.TempDir("peer-many")
	if err != nil {
		return errand{}, err
	}
	text := source(manyFilesSize)
	return errand{Work: "readMany", Params: map[string]any{"dir": dir, "args": map[string]any{"include": []string{"*.go"}}},
		Check: func(shown string) error {
			if n := strings.Count(shown, text); n != manyFiles {
				return fmt.Errorf("%d files were given", n)
			}
			return nil
		}}, writeMany(dir)
}

// coreChanges has a tool make of the one text the other and back.
func coreChanges(tool string, texts [2]string, args func(path string) []any) func(lab *Lab) (errand, error) {
	return func(lab *Lab) (errand, error) {
		dir, path, err := fileWith(lab, changeFile, texts[0])
		return errand{Work: "call", Params: map[string]any{"dir": dir, "tool": tool, "args": args(path)}, After: alternates(path, texts)}, err
	}
}

func coreEdits(n int) func(lab *Lab) (errand, error) {
	return func(lab *Lab) (errand, error) {
		c := changeOf(n)
		return coreChanges("replace", c.Singles, func(path string) (args []any) {
			for i := range 2 {
				args = append(args, map[string]any{"file_path": path, "instruction": "Change the line.", "old_string": c.Lines[i], "new_string": c.Lines[1-i]})
			}
			return args
		})(lab)
	}
}

func coreWrites(n int) func(lab *Lab) (errand, error) {
	return func(lab *Lab) (errand, error) {
		c := changeOf(n)
		return coreChanges("write_file", c.Texts, func(path string) (args []any) {
			for i := range 2 {
				args = append(args, map[string]any{"file_path": path, "content": c.Texts[1-i]})
			}
			return args
		})(lab)
	}
}

func jsdiffApplies(n int) func(context.Context, *Lab) (errand, error) {
	return func(_ context.Context, lab *Lab) (errand, error) {
		c := changeOf(n)
		_, path, err := fileWith(lab, changeFile, c.Texts[0])
		return errand{Work: "jsdiff", Params: map[string]any{"file": path, "diffs": c.Diffs}, After: alternates(path, c.Texts)}, err
	}
}

// coreDecides has the policy engine decide by the rules that fettle's decides by,
// as a file that its own loader reads, and by a rule of its default ones.
func coreDecides(n int, tool string, args map[string]any) func(context.Context, *Lab) (errand, error) {
	return func(_ context.Context, lab *Lab) (errand, error) {
		const userTier, defaultTier = 4, 1
		dir, rules, err := fileWith(lab, "rules.toml", rulesTOML(manyRules(n)))
		if err != nil {
			return errand{}, err
		}
		defaults := filepath.Join(dir, "defaults.toml")
		const reads = "[[rule]]\ntoolName = \"read_file\"\ndecision = \"allow\"\npriority = 50\n"
		return errand{Work: "policy", Short: true, Check: shows("allow"), Params: map[string]any{
			"files": []any{map[string]any{"path": rules, "tier": userTier}, map[string]any{"path": defaults, "tier": defaultTier}},
			"call":  map[string]any{"name": tool, "args": args},
		}}, os.WriteFile(defaults, []byte(reads), 0o644)
	}
}

// rulesTOML writes rules as gemini-cli reads them.
func rulesTOML(rules []policy.Rule) string {
	list := func(texts []string) string {
		if len(texts) == 1 {
			return "'" + texts[0] + "'"
		}
		quoted := make([]string, len(texts))
		for i, t := range texts {
			quoted[i] = "'" + t + "'"
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	}
	var b strings.Builder
	for _, r := range rules {
		fmt.Fprintf(&b, "[[rule]]\ntoolName = %s\ndecision = '%s'\npriority = %d\n", list(r.Tools), r.Decision, r.Priority)
		if r.Server != "" {
			fmt.Fprintf(&b, "mcpName = '%s'\n", r.Server)
		}
		if r.ArgsPattern != "" {
			fmt.Fprintf(&b, "argsPattern = '%s'\n", r.ArgsPattern)
		}
		if len(r.CommandPrefix) > 0 {
			fmt.Fprintf(&b, "commandPrefix = %s\n", list(r.CommandPrefix))
		}
	}
	return b.String()
}

// coreRegistry has a registry of n tools of an MCP server, with the schema of fettle's.
func coreRegistry(what string, n int) func(context.Context, *Lab) (errand, error) {
	return func(_ context.Context, lab *Lab) (errand, error) {
		schema, err := tools.SchemaOf[arguments]("tool")
		if err != nil {
			return errand{}, err
		}
		dir, err := lab.TempDir("peer")
		declarations := make([]any, n)
		for i := range declarations {
			declarations[i] = map[string]any{"name": fmt.Sprintf("tool_%d", i), "description": "Does nothing.", "schema": schema.Raw()}
		}
		return errand{Work: "registry", Short: true, Check: shows(fmt.Sprint(n)),
			Params: map[string]any{"dir": dir, "what": what, "declarations": declarations}}, err
	}
}

func coreValidates(context.Context, *Lab) (errand, error) {
	schema, err := tools.SchemaOf[arguments]("sample")
	if err != nil {
		return errand{}, err
	}
	return errand{Work: "schema", Short: true, Check: shows(""),
		Params: map[string]any{"schema": schema.Raw(), "args": validArguments, "wrong": wrongArguments}}, nil
}

func coreAsks(_ context.Context, lab *Lab) (errand, error) {
	dir, err := lab.TempDir("peer")
	return errand{Work: "bus", Short: true, Check: shows("yes"), Params: map[string]any{"dir": dir}}, err
}

func coreDoesNothing(_ context.Context, lab *Lab) (errand, error) {
	dir, err := lab.TempDir("peer")
	return errand{Work: "noop", Short: true, Check: shows("done"), Params: map[string]any{"dir": dir, "args": noopArguments()}}, err
}

// coreRuns runs a command that is as quick as true and has an output to check.
func coreRuns(lab *Lab) (errand, error) {
	dir, err := lab.TempDir("peer")
	e := errand{Work: "call", Params: map[string]any{"dir": dir, "tool": "run_shell_command", "args": []any{map[string]any{"command": "true"}}}}
	e.Check = func(shown string) error {
		if strings.Contains(shown, "Exit Code") || !strings.Contains(shown, "Process Group PGID: ") {
			return fmt.Errorf("true did not succeed: %.200q", shown)
		}
		return nil
	}
	return e, err
}

// coreSearches has a tree searched by its grep_search, with the help of ripgrep or without.
func coreSearches(get func(*Lab, context.Context) (Tree, error), withRipgrep bool, p Sought) func(context.Context, *Lab) (errand, error) {
	return func(ctx context.Context, lab *Lab) (errand, error) {
		if withRipgrep {
			if _, err := lab.Program("rg"); err != nil {
				return errand{}, err
			}
		}
		tree, err := get(lab, ctx)
		if err != nil {
			return errand{}, err
		}
		args := map[string]any{"pattern": p.Pattern, "dir_path": ".", "total_max_matches": 1 << 24}
		if withRipgrep {
			args["case_sensitive"] = !p.Fold
		}
		check := mentions("Found ")
		if p.Key == "rare" && tree.Files > 0 {
			check = mentions("Found 1 match ")
		}
		return errand{Work: "grep", Check: check, Params: map[string]any{"dir": tree.Top, "ripgrep": withRipgrep, "args": args}}, nil
	}
}

func coreGlobs(get func(*Lab, context.Context) (Tree, error), pattern string) func(context.Context, *Lab) (errand, error) {
	return func(ctx context.Context, lab *Lab) (errand, error) {
		tree, err := get(lab, ctx)
		if err != nil {
			return errand{}, err
		}
		check := mentions("Found ")
		if tree.Files > 0 {
			check = mentions(fmt.Sprintf("Found %d file", tree.Files/3))
		}
		return errand{Work: "call", Check: check, Params: map[string]any{"dir": tree.Top, "tool": "glob", "alone": true,
			"args": []any{map[string]any{"pattern": pattern}}}}, nil
	}
}

// coreSessions is what a process of Node with many sessions has found out of itself.
type coreSessions struct {
	NS     float64 `json:"ns"`
	RSS    float64 `json:"rss"`
	Length int     `json:"length"` // how many are usable
}

// coreSessionsOf prepares turns each of which is a process with n sessions, shared
// by the cases that take several figures of it.
func coreSessionsOf(n int, of func(coreSessions) Measured) func(context.Context, *Lab) (*Prepared, error) {
	return func(ctx context.Context, lab *Lab) (*Prepared, error) {
		if n == mostSessions && !lab.Full {
			return nil, absent("%s sessions are made with -full", thousands(n))
		}
		_, folder, err := npmVersion(ctx, lab, coreNPM)
		if err != nil {
			return nil, err
		}
		if _, err := lab.Program("node"); err != nil {
			return nil, err
		}
		turn := 0
		return &Prepared{Run: func(ctx context.Context) (Measured, error) {
			turn++
			s, err := Shared(ctx, lab, fmt.Sprintf("sessions of %s %d %d", geminiCore, n, turn), func(ctx context.Context) (s coreSessions, _ func() error, err error) {
				dir, err := lab.TempDir("peer-sessions")
				if err != nil {
					return s, nil, err
				}
				d, err := newDriver(ctx, lab)
				if err != nil {
					return s, nil, err
				}
				defer func() { err = errors.Join(err, d.close()) }()
				if err := d.ask(ctx, map[string]any{"op": "import", "packages": folder, "names": []string{coreNPM}}, nil); err != nil {
					return s, nil, err
				}
				err = d.ask(ctx, map[string]any{"op": "sessions", "params": map[string]any{"dir": dir, "count": n}}, &s)
				if err == nil && s.Length != n {
					err = fmt.Errorf("wrong result: %d of %d sessions have tools", s.Length, n)
				}
				return s, nil, err
			})
			return of(s), err
		}}, nil
	}
}

func creationOf(n int) func(coreSessions) Measured {
	return func(s coreSessions) Measured { return Measured{Elapsed: max(1, time.Duration(s.NS/float64(n)))} }
}

func residentOf(s coreSessions) Measured { return Measured{Value: s.RSS} }
