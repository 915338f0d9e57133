package file_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// viewed returns the text of a view.
func viewed(t testing.TB, s *configtest.Session, path string, lines ...int) string {
	t.Helper()
	a := args{"command": "view", "path": path}
	if lines != nil {
		a["view_range"] = lines
	}
	r := s.Call(file.TextEditor, a)
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%s", r.Result.LLMContent.String())
	return r.Result.LLMContent.String()
}

func replaceArgs(path, from, to string) args {
	return args{"command": "str_replace", "path": path, "old_str": from, "new_str": to}
}

func insertArgs(path string, line int, text string) args {
	return args{"command": "insert", "path": path, "insert_line": line, "insert_text": text}
}

// ED-02: a view numbers lines from 1, and is a read: after all lines were shown the file may be changed.
func TestTextEditorView(t *testing.T) {
	s := newSession(t)
	s.Write("a.txt", base)
	require.Equal(t, "1: one\n", viewed(t, s, "a.txt", 1, 1))
	refuse(t, s.Call(file.TextEditor, replaceArgs("a.txt", "two", "TWO")), fault.EditRequiresPriorRead, fault.PartialRead)
	require.Equal(t, "2: two\n3: three\n", viewed(t, s, "a.txt", 2, -1))
	report := succeed(t, s.Call(file.TextEditor, replaceArgs("a.txt", "two", "TWO")))
	require.Equal(t, "Replaced 1 occurrence(s) successfully.", report.Message)
	require.Equal(t, changed, s.Read("a.txt"))
	require.Equal(t, "1: one\n2: TWO\n3: three\n", viewed(t, s, "a.txt"))
	require.Equal(t, "1: one\n2: TWO\n3: three\n", viewed(t, s, "a.txt"), "repeated, without a placeholder")
	require.Equal(t, "1: one\n2: TWO\n3: three\n", viewed(t, s, "a.txt", 1, 99))
	readPlaceholder(t, s, "a.txt")

	// A read by read_file counts too, and the other way round.
	s.Write("b.txt", "x")
	read(t, s, "b.txt")
	succeed(t, s.Call(file.TextEditor, replaceArgs("b.txt", "x", "y")))
	s.Write("c.txt", base)
	viewed(t, s, "c.txt")
	succeed(t, patchAll(s, two("c.txt")))

	s.Write("empty.txt", "")
	require.Equal(t, "[The file is empty.]", viewed(t, s, "empty.txt"))
	s.Write("open.txt", "a\nb")
	require.Equal(t, "1: a\n2: b", viewed(t, s, "open.txt"))
	require.NoError(t, os.Mkdir(s.Path("dir"), 0o755))
	s.Write("dir/x.go", "package x\n")
	require.Contains(t, viewed(t, s, "dir"), `"name":"x.go"`)
	s.Write("bin", "\x00\x01\x02")
	require.Contains(t, viewed(t, s, "bin"), "Cannot display")

	r := s.Call(file.TextEditor, args{"command": "view", "path": "a.txt", "view_range": []int{7, -1}})
	requireError(t, r, fault.InvalidToolParams, "")
	require.Contains(t, r.Result.Error.Message, "Line 7 lies beyond the end")
	require.Len(t, s.Confirmations(), 3, "of the changes")
}

// ST-08: a view fits the client with its numbers, and names the rest. All pages together show the file.
func TestTextEditorViewFits(t *testing.T) {
	for _, most := range []int{1000, 2000, 8000} {
		s := newSession(t, bounded(most), autoEdit)
		var lines strings.Builder
		for i := range 3000 {
			fmt.Fprintf(&lines, "%d\n", i%7)
		}
		s.Write("a.txt", lines.String())
		var shown strings.Builder
		for first := 1; first <= 3000; {
			text := viewed(t, s, "a.txt", first, -1)
			require.Less(t, len(jsonOf(t, text)), most)
			page, note, partial := strings.Cut(text, "\n[")
			for line := range strings.Lines(page + "\n") {
				number, content, ok := strings.Cut(line, ": ")
				if !ok {
					continue
				}
				require.Equal(t, fmt.Sprint(first), number)
				shown.WriteString(content)
				first++
			}
			require.Equal(t, first <= 3000, partial)
			if partial {
				require.Contains(t, note, fmt.Sprintf("use view_range: [%d, -1].", first))
			}
		}
		require.Equal(t, lines.String(), strings.TrimSuffix(shown.String(), "\n")[:len(lines.String())-1]+"\n")
		succeed := s.Call(file.TextEditor, insertArgs("a.txt", 0, "first"))
		require.Equal(t, scheduler.StatusSuccess, succeed.Status, "%s", succeed.Result.LLMContent.String())
	}
}

// ED-02: insert adds whole lines with the line endings of the file.
func TestTextEditorInsert(t *testing.T) {
	for name, c := range map[string]struct {
		text     string
		line     int
		insert   string
		want     string
		code     fault.Code
		contains string
	}{
		"beginning":              {text: "a\nb\n", line: 0, insert: "x\n", want: "x\na\nb\n"},
		"middle, no newline":     {text: "a\nb\n", line: 1, insert: "x", want: "a\nx\nb\n"},
		"end":                    {text: "a\nb\n", line: 2, insert: "x\ny", want: "a\nb\nx\ny\n"},
		"end, not terminated":    {text: "a\nb", line: 2, insert: "x", want: "a\nb\nx"},
		"end, then terminated":   {text: "a\nb", line: 2, insert: "x\n", want: "a\nb\nx\n"},
		"empty line":             {text: "a\nb\n", line: 1, insert: "\n", want: "a\n\nb\n"},
		"CRLF":                   {text: "a\r\nb\r\n", line: 1, insert: "x\ny\n", want: "a\r\nx\r\ny\r\nb\r\n"},
		"CRLF, not terminated":   {text: "a\r\nb", line: 2, insert: "x\n", want: "a\r\nb\r\nx\r\n"},
		"empty file":             {text: "", line: 0, insert: "x", want: "x\n"},
		"one line, CRLF in text": {text: "a", line: 1, insert: "b\r\n", want: "a\r\nb\r\n"},
		"byte order mark":        {text: "\ufeffa\n", line: 0, insert: "x", want: "\ufeffx\na\n"},
		"beyond the end":         {text: "a\nb\n", line: 3, insert: "x", code: fault.InvalidToolParams, contains: "which has 2 lines"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, autoEdit)
			s.Write("a.txt", c.text)
			viewed(t, s, "a.txt")
			r := s.Call(file.TextEditor, insertArgs("a.txt", c.line, c.insert))
			if c.code != "" {
				requireError(t, r, c.code, "")
				require.Contains(t, r.Result.Error.Message, c.contains)
				require.Equal(t, c.text, s.Read("a.txt"))
				return
			}
			report := succeed(t, r)
			require.Equal(t, fmt.Sprintf("Inserted after line %d successfully.", c.line), report.Message)
			require.Equal(t, c.want, s.Read("a.txt"))
		})
	}
}

// ED-03: a refused edit changes nothing, and is refused as by the other dialects. Its message names the tool's arguments.
func TestTextEditorRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		setUp    func(p *config.Parameters)
		before   func(s *configtest.Session)
		args     args
		code     fault.Code
		reason   fault.Reason
		shown    bool
		contains string
	}{
		"unseen": {
			before: func(s *configtest.Session) { s.Write("b.txt", base) }, args: replaceArgs("b.txt", "two", "TWO"),
			code: fault.EditRequiresPriorRead, reason: fault.NeverRead,
		},
		"stale": {
			before: func(s *configtest.Session) { s.Write("a.txt", base+"four\n") }, args: replaceArgs("a.txt", "two", "TWO"),
			code: fault.FileChangedSinceRead, reason: fault.Changed, shown: true, contains: "State Mismatch",
		},
		"stale insert": {
			before: func(s *configtest.Session) { s.Write("a.txt", "zero\n"+base) }, args: insertArgs("a.txt", 1, "x"),
			code: fault.FileChangedSinceRead, reason: fault.Changed, shown: true, contains: "State Mismatch",
		},
		"disappeared": {
			before: func(s *configtest.Session) { _ = os.Remove(s.Path("a.txt")) }, args: replaceArgs("a.txt", "two", "TWO"),
			code: fault.FileChangedSinceRead, reason: fault.Disappeared,
		},
		"absent": {args: replaceArgs("none.txt", "two", "TWO"), code: fault.FileNotFound, contains: "the command create"},
		"exists": {args: args{"command": "create", "path": "a.txt", "file_text": "x"}, code: fault.AttemptToCreateExist, shown: true},
		"ambiguous": {
			args: replaceArgs("a.txt", "e\n", "x"), code: fault.EditOccurrenceMismatch, shown: true,
			contains: "Expected 1 occurrence(s) of old_str in % but found 2, at lines 1, 3. Add the lines around the text to old_str until it is unique.",
		},
		"no place": {
			args: replaceArgs("a.txt", "one\n  two", "x"), code: fault.EditNoOccurrenceFound, shown: true,
			contains: `old_str does not occur in %. Nearest is line 2, which reads "two" where old_str has "  two".`,
		},
		"no change": {args: replaceArgs("a.txt", "two", "two"), code: fault.EditNoChange, shown: true, contains: "old_str and new_str are the same"},
		"outside":   {args: replaceArgs("../a.txt", "two", "TWO"), code: fault.PathNotInWorkspace},
		"directory": {before: func(s *configtest.Session) { _ = os.Mkdir(s.Path("dir"), 0o755) }, args: replaceArgs("dir", "a", "b"), code: fault.TargetIsDirectory},
		"a hook denies": {
			setUp: func(p *config.Parameters) {
				p.Calls.Before = append(p.Calls.Before, func(_ context.Context, p scheduler.Proposal) (scheduler.Advice, error) {
					if p.Spec.Mutates() && strings.Contains(string(p.Args), "a.txt") {
						return scheduler.Advice{Verdict: policy.Deny, Reason: "no"}, nil
					}
					return scheduler.Advice{}, nil
				})
			},
			args: replaceArgs("a.txt", "two", "TWO"), code: fault.PolicyViolation,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, autoEdit, func(p *config.Parameters) {
				if c.setUp != nil {
					c.setUp(p)
				}
			})
			s.Write("a.txt", base)
			viewed(t, s, "a.txt")
			if c.before != nil {
				c.before(s)
			}
			before := tree(t, s.Dir)
			r := s.Call(file.TextEditor, c.args)
			requireError(t, r, c.code, c.reason)
			require.Equal(t, before, tree(t, s.Dir))
			require.Contains(t, r.Result.Error.Text(), strings.ReplaceAll(c.contains, "%", s.Path("a.txt")))
			if c.shown {
				requireShown(t, reportOf(t, r).LatestFileState)
			}
			if c.code == fault.FileChangedSinceRead && c.reason == fault.Changed { // the state in the result is the next base
				require.Equal(t, "Make the change again for latest_file_state.", r.Result.Error.Remedy)
				succeed(t, s.Call(file.TextEditor, replaceArgs("a.txt", "two", "TWO")))
			}
		})
	}
}

// ED-03: a rule that denies one of the dialects denies each of them, by file too, and leaves reads.
func TestRulesGovernDialects(t *testing.T) {
	for _, rule := range append(file.EditDialects(), file.Edit, "replace") {
		s := newSession(t, autoEdit, func(p *config.Parameters) { p.Policy.Paths = []string{ruleFile(t, rule)} })
		s.Write("a.txt", base)
		s.Write("b.txt", base)
		readTwo(t, s)
		if rule != file.TextEditor {
			require.Equal(t, "1: one\n2: two\n3: three\n", viewed(t, s, "./b.txt"))
		}
		for _, m := range mutators {
			for _, dialect := range file.EditDialects() {
				if m.tool == dialect {
					requireError(t, s.Call(m.tool, m.change("b.txt")), fault.PolicyViolation, "")
				}
			}
		}
		require.Equal(t, base, s.Read("b.txt"))
		require.Equal(t, scheduler.StatusSuccess, s.Call(file.TextEditor, mutators[4].change("a.txt")).Status)
	}
}

// ED-03: a view is decided as a read: rules about reads apply to it, plan mode and a missing approver do not refuse it,
// and no checkpoint is made of it.
func TestTextEditorViewIsRead(t *testing.T) {
	for _, rule := range []string{file.ReadFile, file.TextEditor} {
		s := newSession(t, func(p *config.Parameters) { p.Policy.Paths = []string{ruleFile(t, rule)} })
		s.Write("a.txt", base)
		s.Write("b.txt", base)
		viewed(t, s, "a.txt")
		requireError(t, s.Call(file.TextEditor, args{"command": "view", "path": "sub/../b.txt"}), fault.PolicyViolation, "")
	}
	for _, mode := range []policy.ApprovalMode{policy.ModePlan, policy.ModeDefault} {
		s := newSession(t, func(p *config.Parameters) { p.Policy.ApprovalMode = mode })
		s.Write("a.txt", base)
		viewed(t, s, "a.txt")
		require.Empty(t, s.Confirmations())
		r := s.Call(file.TextEditor, replaceArgs("a.txt", "two", "TWO"))
		require.Equal(t, mode == policy.ModePlan, r.Preview)
		require.Equal(t, mode == policy.ModePlan, s.Read("a.txt") == base)
	}

	// A rule that asks about reads asks about views; an approval of one does not last, since it would include edits.
	rules := ruleFile(t, file.ReadFile)
	text, err := os.ReadFile(rules)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(rules, []byte(strings.ReplaceAll(string(text), `"deny"`, `"ask_user"`)), 0o600))
	s := newSession(t, func(p *config.Parameters) { p.Policy.Paths = []string{rules} })
	s.Write("b.txt", base)
	viewed(t, s, "b.txt")
	require.Len(t, s.Confirmations(), 1)
	require.Equal(t, []bus.Outcome{bus.ProceedOnce, bus.Cancel}, s.Confirmations()[0].Outcomes)
}

// ED-03: rules about list_directory apply to views, by its argument too, and leave other paths.
func TestTextEditorViewOfDirectories(t *testing.T) {
	s := newSession(t, func(p *config.Parameters) {
		name := filepath.Join(t.TempDir(), "rules.toml")
		rule := "[[rule]]\ntoolName = \"list_directory\"\nargsPattern = '\"dir_path\":\"[^\"]*secret'\ndecision = \"deny\"\npriority = 900\n"
		require.NoError(t, os.WriteFile(name, []byte(rule), 0o600))
		p.Policy.Paths = []string{name}
	})
	require.NoError(t, os.MkdirAll(s.Path("secret"), 0o755))
	s.Write("secret/x.go", "package x\n")
	s.Write("a.txt", base)
	for tool, a := range map[string]args{file.ListDirectory: {"dir_path": "secret"}, file.TextEditor: {"command": "view", "path": "secret"}} {
		requireError(t, s.Call(tool, a), fault.PolicyViolation, "")
	}
	require.Contains(t, viewed(t, s, "."), `"name":"a.txt"`)
}

// ED-03: a file that may not be read can neither be viewed nor changed without its content.
func TestTextEditorOfHiddenFiles(t *testing.T) {
	s := newSession(t, func(p *config.Parameters) { p.Policy.Paths = []string{ruleFile(t, file.ReadFile)} })
	s.Write("b.txt", base)
	r := s.Call(file.TextEditor, replaceArgs("b.txt", "two", "TWO"))
	require.NotNil(t, r.Result.Error)
	require.NotContains(t, r.Result.LLMContent.String(), "three")
	require.Equal(t, base, s.Read("b.txt"))
}

// ED-03: changes have checkpoints, confirmations with a diff, and may be edited by the user.
func TestTextEditorConfirmationAndCheckpoint(t *testing.T) {
	on := true
	s := newSession(t, func(p *config.Parameters) { p.Session.Checkpoints = &on })
	s.Write("a.txt", base)
	s.Write("void.txt", "")
	viewed(t, s, "a.txt")
	viewed(t, s, "void.txt")
	succeed(t, s.Call(file.TextEditor, replaceArgs("a.txt", "two", "TWO")))
	asked := s.Confirmations()
	require.Len(t, asked, 1)
	require.Equal(t, s.Path("a.txt"), asked[0].Details.FilePath)
	require.Contains(t, asked[0].Details.FileDiff, "+TWO")

	s.Edit = func(bus.ToolConfirmationRequest) string { return "edited\n" }
	s.Answer = func(q bus.ToolConfirmationRequest) bus.Outcome {
		if q.Modified {
			return bus.ProceedOnce
		}
		return bus.ModifyWithEditor
	}
	for _, c := range []struct {
		path string
		args args
		want string
	}{
		{"a.txt", replaceArgs("a.txt", "TWO", "2"), `"command":"str_replace","new_str":"edited\n","old_str":"one\nTWO\nthree\n"`},
		{"void.txt", insertArgs("void.txt", 0, "x"), `"command":"insert","insert_line":0,"insert_text":"edited\n"`},
		{"new.txt", args{"command": "create", "path": "new.txt", "file_text": "x\n"}, `"command":"create","file_text":"edited\n"`},
	} {
		r := s.Call(file.TextEditor, c.args)
		succeed(t, r)
		require.Equal(t, "edited\n", s.Read(c.path))
		require.JSONEq(t, `{"path":"`+c.path+`",`+c.want+`}`, string(r.Params))
	}
	kept, err := s.Checkpoints()
	require.NoError(t, err)
	for _, n := range []string{"1.4", "1.3", "1.2", "1.1"} {
		w, err := checkpoint.ParseSelection(n)
		require.NoError(t, err)
		plan, err := kept.Plan(t.Context(), w)
		require.NoError(t, err)
		_, err = kept.Restore(t.Context(), plan)
		require.NoError(t, err)
	}
	require.Equal(t, base, s.Read("a.txt"))
	require.Empty(t, s.Read("void.txt"))
	require.NoFileExists(t, s.Path("new.txt"))
}
