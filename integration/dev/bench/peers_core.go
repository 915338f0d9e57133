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

// The contestants of gemini-cli-core, in a process of Node that runs during the whole case.
const (
	geminiCore      = "gemini-cli-core"
	geminiCoreAlone = "gemini-cli-core, the tool alone"
	jsdiff          = "jsdiff, read and written in Node"
)

// inNode prepares a driverTask for the driver of the Node packages.
func inNode(pkg string, make func(ctx context.Context, lab *Lab) (driverTask, error)) func(context.Context, *Lab) (*Prepared, error) {
	return func(ctx context.Context, lab *Lab) (*Prepared, error) {
		d, err := sharedDriver(ctx, lab, pkg) // before make, whose work is expensive
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

// viaCore returns two contestants that make the same call: through the scheduler, as a model does,
// and by building and executing the tool directly.
func viaCore(make func(lab *Lab) (driverTask, error)) []Contestant {
	way := func(alone bool) func(context.Context, *Lab) (*Prepared, error) {
		return inNode(coreNPM, func(_ context.Context, lab *Lab) (driverTask, error) {
			e, err := make(lab)
			if err == nil {
				e.Params["alone"] = alone
			}
			return e, err
		})
	}
	return []Contestant{{geminiCore, Peer, way(false)}, {geminiCoreAlone, Peer, way(true)}}
}

// shows checks that a result equals a text.
func shows(want string) func(string) error {
	return func(shown string) error {
		if shown != want {
			return fmt.Errorf("%d bytes instead of %d: %.80q", len(shown), len(want), shown)
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

// fileWith creates a file in a directory of its own.
func fileWith(lab *Lab, name, text string) (dir, path string, err error) {
	dir, err = lab.TempDir("peer")
	if err != nil {
		return "", "", err
	}
	path = filepath.Join(dir, name)
	return dir, path, os.WriteFile(path, []byte(text), 0o644)
}

// alternates checks that a file has the two texts alternately.
func alternates(path string, texts [2]string) func(done int) error {
	return func(done int) error {
		data, err := os.ReadFile(path)
		if err == nil && string(data) != texts[done%2] {
			err = errors.New("the file does not have the expected content after the change")
		}
		return err
	}
}

// coreReads reads a whole file of n bytes. Without end_line the result would be truncated.
func coreReads(n int) func(lab *Lab) (driverTask, error) {
	return func(lab *Lab) (driverTask, error) {
		dir, path, err := fileWith(lab, "f.go", source(n))
		args := []any{map[string]any{"file_path": path, "start_line": 1, "end_line": 1 << 20}}
		return driverTask{Work: "call", Params: map[string]any{"dir": dir, "tool": "read_file", "args": args}, Check: shows(source(n))}, err
	}
}

func coreReadsMany(_ context.Context, lab *Lab) (driverTask, error) {
	dir, err := lab.TempDir("peer-many")
	if err != nil {
		return driverTask{}, err
	}
	text := source(manyFilesSize)
	return driverTask{Work: "readMany", Params: map[string]any{"dir": dir, "args": map[string]any{"include": []string{"*.go"}}},
		Check: func(shown string) error {
			if n := strings.Count(shown, text); n != manyFiles {
				return fmt.Errorf("%d files were returned", n)
			}
			return nil
		}}, writeMany(dir)
}

// coreChanges lets a tool change one text into the other and back.
func coreChanges(tool string, texts [2]string, args func(path string) []any) func(lab *Lab) (driverTask, error) {
	return func(lab *Lab) (driverTask, error) {
		dir, path, err := fileWith(lab, changeFile, texts[0])
		return driverTask{Work: "call", Params: map[string]any{"dir": dir, "tool": tool, "args": args(path)}, After: alternates(path, texts)}, err
	}
}

func coreEdits(n int) func(lab *Lab) (driverTask, error) {
	return func(lab *Lab) (driverTask, error) {
		c := changeOf(n)
		return coreChanges("replace", c.Singles, func(path string) (args []any) {
			for i := range 2 {
				args = append(args, map[string]any{"file_path": path, "instruction": "Change the line.", "old_string": c.Lines[i], "new_string": c.Lines[1-i]})
			}
			return args
		})(lab)
	}
}

func coreWrites(n int) func(lab *Lab) (driverTask, error) {
	return func(lab *Lab) (driverTask, error) {
		c := changeOf(n)
		return coreChanges("write_file", c.Texts, func(path string) (args []any) {
			for i := range 2 {
				args = append(args, map[string]any{"file_path": path, "content": c.Texts[1-i]})
			}
			return args
		})(lab)
	}
}

func jsdiffApplies(n int) func(context.Context, *Lab) (driverTask, error) {
	return func(_ context.Context, lab *Lab) (driverTask, error) {
		c := changeOf(n)
		_, path, err := fileWith(lab, changeFile, c.Texts[0])
		return driverTask{Work: "jsdiff", Params: map[string]any{"file": path, "diffs": c.Diffs}, After: alternates(path, c.Texts)}, err
	}
}

// coreDecides lets the policy engine decide by the same rules as fettle's, which its own loader
// reads from a file, and by one of its default rules.
func coreDecides(n int, tool string, args map[string]any) func(context.Context, *Lab) (driverTask, error) {
	return func(_ context.Context, lab *Lab) (driverTask, error) {
		const userTier, defaultTier = 4, 1
		dir, rules, err := fileWith(lab, "rules.toml", rulesTOML(manyRules(n)))
		if err != nil {
			return driverTask{}, err
		}
		defaults := filepath.Join(dir, "defaults.toml")
		const reads = "[[rule]]\ntoolName = \"read_file\"\ndecision = \"allow\"\npriority = 50\n"
		return driverTask{Work: "policy", Short: true, Check: shows("allow"), Params: map[string]any{
			"files": []any{map[string]any{"path": rules, "tier": userTier}, map[string]any{"path": defaults, "tier": defaultTier}},
			"call":  map[string]any{"name": tool, "args": args},
		}}, os.WriteFile(defaults, []byte(reads), 0o644)
	}
}

// rulesTOML formats rules as TOML for gemini-cli.
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

// coreRegistry prepares a registry of n tools of an MCP server, with the schema of fettle's case.
func coreRegistry(what string, n int) func(context.Context, *Lab) (driverTask, error) {
	return func(_ context.Context, lab *Lab) (driverTask, error) {
		schema, err := tools.SchemaOf[arguments]("tool")
		if err != nil {
			return driverTask{}, err
		}
		dir, err := lab.TempDir("peer")
		declarations := make([]any, n)
		for i := range declarations {
			declarations[i] = map[string]any{"name": fmt.Sprintf("tool_%d", i), "description": "Does nothing.", "schema": schema.Raw()}
		}
		return driverTask{Work: "registry", Short: true, Check: shows(fmt.Sprint(n)),
			Params: map[string]any{"dir": dir, "what": what, "declarations": declarations}}, err
	}
}

func coreValidates(context.Context, *Lab) (driverTask, error) {
	schema, err := tools.SchemaOf[arguments]("sample")
	if err != nil {
		return driverTask{}, err
	}
	return driverTask{Work: "schema", Short: true, Check: shows(""),
		Params: map[string]any{"schema": schema.Raw(), "args": validArguments, "wrong": wrongArguments}}, nil
}

func coreAsks(_ context.Context, lab *Lab) (driverTask, error) {
	dir, err := lab.TempDir("peer")
	return driverTask{Work: "bus", Short: true, Check: shows("yes"), Params: map[string]any{"dir": dir}}, err
}

func coreDoesNothing(_ context.Context, lab *Lab) (driverTask, error) {
	dir, err := lab.TempDir("peer")
	return driverTask{Work: "noop", Short: true, Check: shows("done"), Params: map[string]any{"dir": dir, "args": noopArguments()}}, err
}

// coreRuns runs a command that is as fast as true and has an output to check.
func coreRuns(lab *Lab) (driverTask, error) {
	dir, err := lab.TempDir("peer")
	e := driverTask{Work: "call", Params: map[string]any{"dir": dir, "tool": "run_shell_command", "args": []any{map[string]any{"command": "true"}}}}
	e.Check = func(shown string) error {
		if strings.Contains(shown, "Exit Code") || !strings.Contains(shown, "Process Group PGID: ") {
			return fmt.Errorf("true did not succeed: %.200q", shown)
		}
		return nil
	}
	return e, err
}

// coreSearches searches a tree with its grep_search, with or without ripgrep.
func coreSearches(get func(*Lab, context.Context) (Tree, error), withRipgrep bool, p SearchPattern) func(context.Context, *Lab) (driverTask, error) {
	return func(ctx context.Context, lab *Lab) (driverTask, error) {
		if withRipgrep {
			if _, err := lab.Program("rg"); err != nil {
				return driverTask{}, err
			}
		}
		tree, err := get(lab, ctx)
		if err != nil {
			return driverTask{}, err
		}
		args := map[string]any{"pattern": p.Pattern, "dir_path": ".", "total_max_matches": 1 << 24}
		if withRipgrep {
			args["case_sensitive"] = !p.Fold
		}
		check := mentions("Found ")
		if p.Key == "rare" && tree.Files > 0 {
			check = mentions("Found 1 match ")
		}
		return driverTask{Work: "grep", Check: check, Params: map[string]any{"dir": tree.Top, "ripgrep": withRipgrep, "args": args}}, nil
	}
}

func coreGlobs(get func(*Lab, context.Context) (Tree, error), pattern string) func(context.Context, *Lab) (driverTask, error) {
	return func(ctx context.Context, lab *Lab) (driverTask, error) {
		tree, err := get(lab, ctx)
		if err != nil {
			return driverTask{}, err
		}
		check := mentions("Found ")
		if tree.Files > 0 {
			check = mentions(fmt.Sprintf("Found %d file", tree.Files/3))
		}
		return driverTask{Work: "call", Check: check, Params: map[string]any{"dir": tree.Top, "tool": "glob", "alone": true,
			"args": []any{map[string]any{"pattern": pattern}}}}, nil
	}
}

// coreSessions is the report of a process of Node with many sessions about itself.
type coreSessions struct {
	NS     float64 `json:"ns"`
	RSS    float64 `json:"rss"`
	Length int     `json:"length"` // number of working sessions
}

// coreSessionsOf prepares turns of one process with n sessions each. Cases that use different
// figures of it share the processes.
func coreSessionsOf(n int, of func(coreSessions) Measured) func(context.Context, *Lab) (*Prepared, error) {
	return func(ctx context.Context, lab *Lab) (*Prepared, error) {
		if n == mostSessions && !lab.Full {
			return nil, absent("%s sessions need -full", thousands(n))
		}
		_, modules, err := npmVersion(ctx, lab, coreNPM)
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
				if err := d.ask(ctx, map[string]any{"op": "import", "packages": modules, "names": []string{coreNPM}}, nil); err != nil {
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
