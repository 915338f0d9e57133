package file_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
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
	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// dialect is a form in which a model changes a file.
type dialect struct {
	tool string
	// change returns the arguments that make a text of another. The call relies on the text as the base, by its hash if the
	// tool takes one.
	change func(path, from, to string) args
	// seen reports that the tool needs a prior read even with the right hash, as it takes none.
	seen bool
	// whole reports that the tool has no hunks, so that no change is ambiguous.
	whole bool
}

// hunks returns the unified diff from one text to another, with few lines of context.
func hunks(path, from, to string) string {
	return patch.Between(from, to).Unified("a/"+path, "b/"+path)
}

// dialects are all forms. A new one is one entry.
var dialects = map[string]dialect{
	"safe_patch": {tool: file.SafePatch, change: func(path, from, to string) args { return patchArgs(path, hunks(path, from, to), sum(from)) }},
	"write_file": {tool: file.WriteFile, whole: true, change: func(path, from, to string) args { return writeArgs(path, to, sum(from)) }},
	"edit":       {tool: file.Edit, seen: true, change: func(path, from, to string) args { return editArgs(path, from, to) }},
	"apply_patch V4A": {tool: file.ApplyPatch, seen: true, change: func(path, from, to string) args {
		_, lines, _ := strings.Cut(hunks(path, from, to), "\n@@ ")
		_, lines, _ = strings.Cut(lines, "\n")
		return args{"input": envelope("*** Update File: " + path + "\n@@\n" + lines)}
	}},
	"apply_patch unified": {tool: file.ApplyPatch, seen: true, change: func(path, from, to string) args { return args{"input": hunks(path, from, to)} }},
	"apply_patch bases": {tool: file.ApplyPatch, change: func(path, from, to string) args {
		return args{"input": hunks(path, from, to), "bases": args{path: sum(from)}}
	}},
	"apply_patch set": {tool: file.ApplyPatch, seen: true, change: func(path, from, to string) args {
		return args{"input": "--- /dev/null\n+++ b/other.txt\n@@ -0,0 +1 @@\n+other\n" + hunks(path, from, to)}
	}},
	"str_replace_based_edit_tool": {tool: file.TextEditor, seen: true, change: replaceArgs},
}

// ED-03: every safety case has the same result in every dialect: nothing changes, and the error has the same code.
func TestEveryDialect(t *testing.T) {
	t.Parallel()
	type given struct {
		*configtest.Session
		d dialect
	}
	call := func(g given, path string) scheduler.Response {
		return g.Call(g.d.tool, g.d.change(path, base, changed))
	}
	denies := func(tool, pattern string) func(t *testing.T, p *config.Parameters) {
		return func(t *testing.T, p *config.Parameters) {
			name := filepath.Join(t.TempDir(), "rules.toml")
			rule := "[[rule]]\ntoolName = \"" + tool + "\"\ndecision = \"deny\"\npriority = 900\n"
			if pattern != "" {
				rule += "argsPattern = '" + pattern + "'\n"
			}
			require.NoError(t, os.WriteFile(name, []byte(rule), 0o600))
			p.Policy.Paths = []string{name}
		}
	}
	before := func(f scheduler.Before) func(*testing.T, *config.Parameters) {
		return func(_ *testing.T, p *config.Parameters) { p.Calls.Before = append(p.Calls.Before, f) }
	}
	for name, c := range map[string]struct {
		setUp  func(t *testing.T, p *config.Parameters)
		call   func(t *testing.T, g given) scheduler.Response // after a.txt was written and read
		unless func(d dialect) bool
		code   fault.Code
		reason fault.Reason
	}{
		"unseen": {
			call:   func(_ *testing.T, g given) scheduler.Response { g.Write("new.txt", base); return call(g, "new.txt") },
			unless: func(d dialect) bool { return !d.seen }, code: fault.EditRequiresPriorRead, reason: fault.NeverRead,
		},
		"stale": {
			call: func(_ *testing.T, g given) scheduler.Response {
				g.Write("a.txt", "zero\n"+base)
				return call(g, "a.txt")
			},
			code: fault.FileChangedSinceRead, reason: fault.Changed,
		},
		"ambiguous": {
			call: func(t *testing.T, g given) scheduler.Response {
				twice := strings.Repeat("one\ntwo\nthree\nx\n", 2)
				g.Write("a.txt", twice)
				read(t, g.Session, "a.txt")
				a := g.d.change("a.txt", "two\n", "TWO\n")
				for name, value := range a { // the hash of the file, and no numbers of lines
					switch text := value.(type) {
					case string:
						a[name] = strings.ReplaceAll(strings.ReplaceAll(text, sum("two\n"), sum(twice)), "@@ -1 +1 @@", "@@ @@")
					case args:
						text["a.txt"] = sum(twice)
					}
				}
				r := g.Call(g.d.tool, a)
				if g.d.tool == file.Edit || g.d.tool == file.TextEditor {
					require.Equal(t, fault.EditOccurrenceMismatch, r.Result.Error.Code)
					r.Result.Error.Code = fault.AmbiguousDiff
				}
				require.Contains(t, r.Result.Error.Text(), "2")
				require.Contains(t, r.Result.Error.Text(), "6")
				return r
			},
			unless: func(d dialect) bool { return d.whole }, code: fault.AmbiguousDiff,
		},
		"outside": {
			call: func(_ *testing.T, g given) scheduler.Response { return call(g, "../a.txt") }, code: fault.PathNotInWorkspace,
		},
		"link to outside": {
			call: func(t *testing.T, g given) scheduler.Response {
				outside := filepath.Join(t.TempDir(), "o.txt")
				require.NoError(t, os.WriteFile(outside, []byte(base), 0o600))
				require.NoError(t, os.Symlink(outside, g.Path("link.txt")))
				r := call(g, "link.txt")
				data, err := os.ReadFile(outside)
				require.NoError(t, err)
				require.Equal(t, base, string(data))
				return r
			}, code: fault.PathNotInWorkspace,
		},
		"denied by a rule on edit": {
			setUp:  denies("edit", `"file_path":"[^"]*a\.txt"`),
			call:   func(_ *testing.T, g given) scheduler.Response { return call(g, "a.txt") },
			unless: func(d dialect) bool { return d.tool == file.WriteFile }, code: fault.PolicyViolation,
		},
		"denied by a rule on write_file": {
			setUp:  denies("write_file", ""),
			call:   func(_ *testing.T, g given) scheduler.Response { return call(g, "a.txt") },
			unless: func(d dialect) bool { return d.tool == file.SafePatch || d.tool == file.Edit }, code: fault.PolicyViolation,
		},
		"hook that blocks": {
			setUp: before(func(_ context.Context, p scheduler.Proposal) (scheduler.Advice, error) {
				if p.Spec.Kind == "edit" {
					return scheduler.Advice{Verdict: policy.Deny, Reason: "no"}, nil
				}
				return scheduler.Advice{}, nil
			}),
			call: func(_ *testing.T, g given) scheduler.Response { return call(g, "a.txt") }, code: fault.PolicyViolation,
		},
		"hook that rewrites to a path outside": {
			setUp: before(func(_ context.Context, p scheduler.Proposal) (scheduler.Advice, error) {
				if p.Spec.Kind != "edit" {
					return scheduler.Advice{}, nil
				}
				return scheduler.Advice{Args: json.RawMessage(strings.NewReplacer("a/a.txt", "a/../a.txt", "b/a.txt", "b/../a.txt", "a.txt", "../a.txt").Replace(string(p.Args)))}, nil
			}),
			call: func(_ *testing.T, g given) scheduler.Response { return call(g, "a.txt") }, code: fault.PathNotInWorkspace,
		},
		"declined": {
			call: func(_ *testing.T, g given) scheduler.Response {
				g.Answer = func(bus.ToolConfirmationRequest) bus.Outcome { return bus.Cancel }
				return call(g, "a.txt")
			}, code: fault.DeniedByUser,
		},
		"directory in place of the file": {
			call: func(t *testing.T, g given) scheduler.Response {
				require.NoError(t, os.Remove(g.Path("a.txt")))
				require.NoError(t, os.Mkdir(g.Path("a.txt"), 0o755))
				return call(g, "a.txt")
			}, code: fault.TargetIsDirectory,
		},
		"deleted": {
			call: func(t *testing.T, g given) scheduler.Response {
				require.NoError(t, os.Remove(g.Path("a.txt")))
				return call(g, "a.txt")
			}, code: fault.FileChangedSinceRead, reason: fault.Disappeared,
		},
		"huge": {
			setUp: func(_ *testing.T, p *config.Parameters) { p.Session.Limits.FileBytes = 1000 },
			call: func(_ *testing.T, g given) scheduler.Response {
				g.Write("a.txt", strings.Repeat("x\n", 1000))
				return call(g, "a.txt")
			}, code: fault.FileTooLarge,
		},
		"binary": {
			call: func(_ *testing.T, g given) scheduler.Response {
				g.Write("a.txt", "\x00\x01\x02\xff")
				return call(g, "a.txt")
			},
			code: fault.FileChangedSinceRead, reason: fault.Changed,
		},
		"changed after the approval": {
			call: func(_ *testing.T, g given) scheduler.Response {
				g.Answer = func(bus.ToolConfirmationRequest) bus.Outcome { g.Write("a.txt", "theirs\n"); return bus.ProceedOnce }
				return call(g, "a.txt")
			}, code: fault.FileChangedSinceRead, reason: fault.Changed,
		},
	} {
		for form, d := range dialects {
			if c.unless != nil && c.unless(d) {
				continue
			}
			t.Run(name+"/"+form, func(t *testing.T) {
				t.Parallel()
				s := newSession(t, func(p *config.Parameters) {
					if c.setUp != nil {
						c.setUp(t, p)
					}
				})
				s.Write("a.txt", base)
				read(t, s, "a.txt")
				r := c.call(t, given{s, d})
				require.NotNil(t, r.Result.Error, "%s", r.Result.LLMContent.String())
				require.Equal(t, string(c.code)+"/"+string(c.reason), string(r.Result.Error.Code)+"/"+string(r.Result.Error.Reason), "%s", r.Result.Error.Text())
				require.NotEmpty(t, r.Result.Error.Message)
				require.NoFileExists(t, s.Path("other.txt"))
				if data, err := os.ReadFile(s.Path("a.txt")); err == nil {
					require.NotContains(t, string(data), "TWO")
				}
			})
		}
	}
}

// ED-03: in every dialect a change lands, checkpoints restore it, plan mode only previews it, and a file that may not be
// read is changed by its hash without being shown.
func TestEveryDialectLands(t *testing.T) {
	t.Parallel()
	for form, d := range dialects {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			on := true
			s := newSession(t, func(p *config.Parameters) { p.Session.Checkpoints = &on })
			s.Write("a.txt", base)
			if runtime.GOOS != "windows" {
				require.NoError(t, os.Chmod(s.Path("a.txt"), 0o640))
			}
			read(t, s, "a.txt")
			r := s.Call(d.tool, d.change("a.txt", base, changed))
			require.Equal(t, scheduler.StatusSuccess, r.Status, "%s", r.Result.LLMContent.String())
			require.Equal(t, changed, s.Read("a.txt"))
			kept, err := s.Checkpoints()
			require.NoError(t, err)
			selection, err := checkpoint.ParseSelection("1.1")
			require.NoError(t, err)
			plan, err := kept.Plan(t.Context(), selection)
			require.NoError(t, err)
			_, err = kept.Restore(t.Context(), plan)
			require.NoError(t, err)
			require.Equal(t, base, s.Read("a.txt"))
			require.NoFileExists(t, s.Path("other.txt"))

			planned := newSession(t, func(p *config.Parameters) { p.Policy.ApprovalMode = "plan" })
			planned.Write("a.txt", base)
			read(t, planned, "a.txt")
			r = planned.Call(d.tool, d.change("a.txt", base, changed))
			require.True(t, r.Preview, "%s", r.Result.LLMContent.String())
			require.Contains(t, r.Result.LLMContent.String(), "TWO")
			require.Equal(t, base, planned.Read("a.txt"))
			require.NoFileExists(t, planned.Path("other.txt"))

			hidden := newSession(t, func(p *config.Parameters) { p.Tools.Exclude = []string{file.ReadFile} })
			hidden.Write("a.txt", base)
			r = hidden.Call(d.tool, d.change("a.txt", base, changed))
			require.NotContains(t, r.Result.LLMContent.String(), "three", "content that may not be read")
			if d.seen {
				requireError(t, r, fault.EditRequiresPriorRead, fault.NeverRead)
				require.Equal(t, base, hidden.Read("a.txt"))
				return
			}
			require.Equal(t, scheduler.StatusSuccess, r.Status, "%s", r.Result.LLMContent.String())
			require.Equal(t, changed, hidden.Read("a.txt"))
		})
	}
}

// ED-01, TX-01: files that are not text are deleted and moved by their hash, with their bytes, and not updated.
func TestApplyPatchOfOtherFiles(t *testing.T) {
	t.Parallel()
	on := true
	s := newSession(t, func(p *config.Parameters) { p.Session.Checkpoints = &on })
	const image, latin = "\x89PNG\r\n\x1a\n\x00\x00\xff", "caf\xe9 \x00\n"
	write := func() {
		s.Write("a.png", image)
		s.Write("b.bin", latin)
	}
	write()
	s.Call(file.ReadFile, args{"file_path": "a.png"})
	both := envelope("*** Delete File: a.png\n", "*** Update File: b.bin\n*** Move to: c.bin\n")
	r := s.Call(file.ApplyPatch, args{"input": both, "bases": args{"b.bin": sum(latin)}})
	requireError(t, r, fault.EditRequiresPriorRead, fault.NonText)
	require.Contains(t, r.Result.Error.Remedy, "bases")
	requireError(t, s.Call(file.ApplyPatch, args{"input": envelope(two("b.bin")), "bases": args{"b.bin": sum(latin)}}), fault.EditRequiresPriorRead, fault.NonText)
	r = s.Call(file.ApplyPatch, args{"input": both, "bases": args{"a.png": sum(image), "b.bin": sum(image)}})
	require.NotNil(t, r.Result.Error, "a wrong hash")
	require.Equal(t, image, s.Read("a.png"))

	r = s.Call(file.ApplyPatch, args{"input": both, "bases": args{"a.png": sum(image), "b.bin": sum(latin)}})
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%s", r.Result.LLMContent.String())
	require.NoFileExists(t, s.Path("a.png"))
	require.NoFileExists(t, s.Path("b.bin"))
	require.Equal(t, latin, s.Read("c.bin"))
	asked := s.Confirmations()
	require.Contains(t, asked[len(asked)-1].Details.Prompt, "delete a.png (not text)\n")
	kept, err := s.Checkpoints()
	require.NoError(t, err)
	selection, err := checkpoint.ParseSelection("1.1")
	require.NoError(t, err)
	plan, err := kept.Plan(t.Context(), selection)
	require.NoError(t, err)
	_, err = kept.Restore(t.Context(), plan)
	require.NoError(t, err)
	require.Equal(t, image, s.Read("a.png"))
	require.Equal(t, latin, s.Read("b.bin"))
}
