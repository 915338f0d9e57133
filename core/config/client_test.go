package config_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/script"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// playing gives a session a model that plays the turns.
func playing(t *testing.T, turns string, o script.Options) func(*config.Parameters) {
	t.Helper()
	s, err := script.Parse("test", []byte(`{"turns":[`+turns+`]}`))
	require.NoError(t, err)
	g := script.New(s, o)
	t.Cleanup(func() { require.Empty(t, g.Left(), "turns that were not played") })
	return func(p *config.Parameters) { p.Conversation.Models = model.Always(g) }
}

// converse runs a prompt to its end, and returns its answer and the outcome of
// each of its calls.
func converse(t *testing.T, c *config.Config, prompt string) (answer string, calls []string) {
	t.Helper()
	expanded, err := c.Expand(t.Context(), prompt)
	require.NoError(t, err)
	client, err := c.Client()
	require.NoError(t, err)
	var last agent.Event
	for e := range client.Run(t.Context(), agent.Parts(expanded.Content)...) {
		switch last = e; e.Type {
		case agent.EventText:
			answer += e.Text
		case agent.EventToolResponse:
			outcome := e.Call.Name + " " + string(e.Response.Status)
			if e.Response.Result.Error != nil {
				outcome += " " + string(e.Response.Result.Error.Code)
			}
			calls = append(calls, outcome)
		}
	}
	require.Equal(t, agent.EventDone, last.Type, "%v", last.Err)
	require.NoError(t, agent.ValidHistory(client.History()))
	return answer, calls
}

const patched = `"file_path":"f.txt","unified_diff":"@@\n one\n-two\n+TWO\n three\n","base_content_sha256":"{{sha256 \"f.txt\"}}"`

// TE-05, CM-13: a file named in a prompt with @ is read, so that a patch requires
// no read; after an outside change the patch is refused, and the refusal suffices
// for the next patch.
func TestMentionThenPatch(t *testing.T) {
	for name, tt := range map[string]struct {
		outside bool
		turns   string
		calls   []string
		want    string
	}{
		"unchanged": {false, `{"expect":{"prompt":"\"version\":1"},"calls":[{"tool":"safe_patch","args":{` + patched + `}}]}, {"expect":{"ok":true,"tool":"safe_patch"},"text":"Done."}`,
			[]string{"safe_patch success"}, "one\nTWO\nthree\n"},
		"changed in between": {true, `{"title":"first","calls":[{"tool":"safe_patch","args":{` + patched + `}}]},
			{"expect":{"tool":"safe_patch","error":"file_changed_since_read"},"calls":[{"tool":"safe_patch","args":{` + patched + `}}]},
			{"text":"Done."}`,
			[]string{"safe_patch error file_changed_since_read", "safe_patch success"}, "zero\none\nTWO\nthree\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var s *configtest.Session
			s = configtest.New(t, playing(t, tt.turns, script.Options{}), func(p *config.Parameters) {
				p.Conversation.Steps.BeforeRequest = append(p.Conversation.Steps.BeforeRequest, onceBefore(func() {
					if tt.outside {
						s.Write("f.txt", "zero\none\ntwo\nthree\n")
					}
				}))
			})
			s.Write("f.txt", "one\ntwo\nthree\n")
			answer, calls := converse(t, s.Config, "Make it loud: @f.txt.")
			require.Equal(t, "Done.", answer)
			require.Equal(t, tt.calls, calls)
			require.Equal(t, tt.want, s.Read("f.txt"))
			require.NotEmpty(t, s.Confirmations(), "the person approved it")
		})
	}
}

// FT-15, FT-16: instructions found by an access are in the system prompt of the
// next and later requests, once; or, as an option, in the user's turn.
func TestInstructionsReachTheModel(t *testing.T) {
	read := `{"calls":[{"tool":"read_file","args":{"file_path":"sub/x.go"}}]}`
	for name, tt := range map[string]struct {
		asMessages bool
		turns      string
	}{
		"in the system prompt": {false, read + `,{"expect":{"system":"Use tabs."},"text":"1"},{"expect":{"system":"Use tabs."},"text":"2"}`},
		"in messages":          {true, read + `,{"text":"1"},{"text":"2"}`},
	} {
		t.Run(name, func(t *testing.T) {
			var systems []string
			s := configtest.New(t, playing(t, tt.turns, script.Options{}), func(p *config.Parameters) {
				p.Instructions.AsMessages = tt.asMessages
				p.Conversation.Steps.BeforeRequest = append(p.Conversation.Steps.BeforeRequest, noting(&systems))
			})
			s.Write("AGENTS.md", "Be brief.")
			s.Write("sub/AGENTS.md", "Use tabs.")
			s.Write("sub/x.go", "package x\n")
			converse(t, s.Config, "Read it.")
			converse(t, s.Config, "And again.")
			require.Len(t, systems, 3)
			require.Contains(t, systems[0], "Be brief.", "from the beginning")
			require.NotContains(t, systems[0], "Use tabs.")
			client, err := s.Client()
			require.NoError(t, err)
			said := 0
			for _, c := range client.History() {
				said += strings.Count(c.Text(), "Use tabs.")
			}
			if tt.asMessages {
				require.Equal(t, 1, said)
				require.NotContains(t, systems[1]+systems[2], "Use tabs.")
				return
			}
			require.Zero(t, said)
			for _, system := range systems[1:] {
				require.Equal(t, 1, strings.Count(system, "Use tabs."))
				require.Contains(t, system, "--- Context from: "+s.Path("sub/AGENTS.md")+" ---")
			}
			_, err = s.StartNewSession("", 0)
			require.NoError(t, err)
			again, err := s.SystemPrompt(t.Context())
			require.NoError(t, err)
			require.Contains(t, again, "Be brief.")
			require.NotContains(t, again, "Use tabs.", "due again once something is accessed there")
		})
	}
}

// The user's own file comes first, then the project's from the repository down,
// with imports expanded. Files of an untrusted directory (FT-20), and files above
// the repository, are omitted.
func TestInstructionsOfTheBeginning(t *testing.T) {
	top := t.TempDir()
	put := func(name, text string) {
		path := filepath.Join(top, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	put("AGENTS.md", "above the repository")
	put("repo/.git/HEAD", "x")
	put("repo/FETTLE.md", "repo @docs/style.md")
	put("repo/docs/style.md", "style")
	put("repo/pkg/AGENTS.md", "pkg")
	put("home/.fettle/FETTLE.md", "mine")
	put("more/AGENTS.md", "more")
	prompt := func(change ...func(*config.Parameters)) string {
		p := config.Parameters{TargetDir: filepath.Join(top, "repo", "pkg"), IncludeDirs: []string{filepath.Join(top, "more")}, Environment: config.Environment{HomeDir: filepath.Join(top, "home")}}
		for _, f := range change {
			f(&p)
		}
		c, err := config.New(p)
		require.NoError(t, err)
		defer c.Close()
		require.NoError(t, c.Initialize(t.Context()))
		text, err := c.SystemPrompt(t.Context())
		require.NoError(t, err)
		return text
	}
	order := func(text string, words ...string) {
		t.Helper()
		at := 0
		for _, w := range words {
			i := strings.Index(text[at:], w)
			require.GreaterOrEqual(t, i, 0, "%s is missing, or not in its place", w)
			at += i
		}
	}
	text := prompt()
	order(text, "---\nmine\n", "---\nrepo <!-- Imported from: docs/style.md -->\nstyle\n", "---\npkg\n", "---\nmore\n")
	require.NotContains(t, text, "above the repository")

	text = prompt(func(p *config.Parameters) { p.Policy.Trust = trust.Untrusted })
	order(text, "mine")
	require.NotContains(t, text, "\npkg\n")
	text = prompt(func(p *config.Parameters) { p.Instructions.Names = []string{"AGENTS.md"} })
	require.NotContains(t, text, "mine")
	order(text, "---\npkg\n")
	text = prompt(func(p *config.Parameters) { p.Instructions.Boundary = []string{} })
	require.NotContains(t, text, "repo <!--")
	text = prompt(func(p *config.Parameters) { p.Conversation.SystemPrompt = "Only this." })
	require.True(t, strings.HasPrefix(text, "Only this.\n"))
	order(text, "---\npkg\n")
}

// CM-14: an unreadable reference stays text, with a notice.
func TestExpand(t *testing.T) {
	s := configtest.New(t)
	s.Write(".gitignore", "*.log\n")
	s.Write("dir/a.txt", "a\n")
	s.Write("dir/b.log", "b\n")
	s.Write("dir/sub/c.txt", "c\n")
	s.Write("x y.txt", "space\n")
	s.Write("odd[1].txt", "odd\n")
	s.Write("one/unique_name.go", "unique\n")
	s.Write("one/types/node.txt", "no package\n")
	s.Write("p.png", "\x89PNG\r\n\x1a\n0000")
	for _, tt := range []struct {
		prompt string
		files  []string
		notice string // "" for none; its end where it begins with …
	}{
		{"nothing here", nil, ""},
		{"mail me@dir/a.txt", nil, ""},
		{`escaped \@dir/a.txt`, nil, ""},
		{"@dir/a.txt", []string{"dir/a.txt"}, ""},
		{"(see @dir/a.txt), please.", []string{"dir/a.txt"}, ""},
		{"@dir/a.txt:12:3: undefined", []string{"dir/a.txt"}, ""},
		{`@"x y.txt" and @x\ y.txt`, []string{"x y.txt"}, ""},
		{`@"odd[1].txt"`, []string{"odd[1].txt"}, ""},
		{"@dir", []string{"dir/a.txt", "dir/sub/c.txt"}, ""},
		{"@dir/*.txt", []string{"dir/a.txt"}, ""},
		{"@dir/b.log", nil, "An ignore rule"},
		{"@missing.txt", nil, "There is no file"},
		{"@unique_name", nil, "…/unique_name."},
		{"@unique_name.go", nil, "…unique_name.go. Files with a similar path: " + s.Path("one/unique_name.go") + "."},
		{"@.txt", nil, "…/.txt."},
		{`import x from "@types/node";`, nil, "Files with a similar path: " + s.Path("one/types/node.txt") + "."},
		{"@a.txt:12:3: undefined", nil, "Files with a similar path: " + s.Path("dir/a.txt") + "."},
		{"@/etc/passwd", nil, "File path must be within workspace"},
		{"@../outside.txt", nil, "File path must be within workspace"},
		{"@p.png", []string{"p.png"}, ""},
		{"@dir/a.txt @missing.txt @dir/a.txt", []string{"dir/a.txt"}, "There is no file"},
	} {
		t.Run(tt.prompt, func(t *testing.T) {
			_, err := s.StartNewSession("", 0)
			require.NoError(t, err)
			e, err := s.Expand(t.Context(), tt.prompt)
			require.NoError(t, err)
			var files []string
			for _, f := range e.Files {
				rel, err := filepath.Rel(s.Dir, f)
				require.NoError(t, err)
				files = append(files, rel)
			}
			require.Equal(t, tt.files, files)
			if tt.notice == "" {
				require.Empty(t, e.Notices)
			} else {
				require.Len(t, e.Notices, 1)
				if end, ok := strings.CutPrefix(tt.notice, "…"); ok {
					require.True(t, strings.HasSuffix(e.Notices[0].Message, end), e.Notices[0].Message)
				} else {
					require.Contains(t, e.Notices[0].Message, tt.notice)
				}
			}
			if strings.Contains(tt.prompt, ":12:3:") && tt.files != nil {
				require.True(t, strings.HasPrefix(e.Content.String(), "@"+s.Path("dir/a.txt")+":12:3: undefined"), "the place stays in the text")
			}
			if tt.files == nil {
				require.Equal(t, tt.prompt, e.Content.String(), "left as text")
				require.Len(t, e.Content.Parts, 1)
			}
			for _, f := range tt.files {
				if strings.HasSuffix(f, ".png") {
					require.True(t, e.Content.HasData())
					continue
				}
				done := s.Call("read_file", map[string]any{"file_path": f})
				require.Contains(t, done.Result.LLMContent.String(), "file_unchanged", "it counts as read")
			}
		})
	}
	require.Empty(t, s.Confirmations())

	// PR-29: a file that policy denies to read_file is not shown.
	denied := configtest.New(t, func(p *config.Parameters) { p.Tools.Exclude = []string{"read_many_files"} })
	denied.Write("a.txt", "secret")
	e, err := denied.Expand(t.Context(), "@a.txt")
	require.NoError(t, err)
	require.Equal(t, "@a.txt", e.Content.String())
	require.Len(t, e.Notices, 1)
}

// A prompt can name the subagent for the work; in quotes, or if the session has
// no such agent, the name is that of a file.
func TestExpandNamesAgents(t *testing.T) {
	s := configtest.New(t, playing(t, "", script.Options{}), func(p *config.Parameters) { p.Tools.Exclude = []string{"codebase_investigator"} })
	s.Write("generalist", "a file\n")
	e, err := s.Expand(t.Context(), "@generalist, do it.")
	require.NoError(t, err)
	require.Equal(t, []string{"generalist"}, e.Agents)
	require.Empty(t, e.Files)
	require.Empty(t, e.Notices)
	require.Contains(t, e.Content.String(), "by the subagent generalist")

	for _, prompt := range []string{`@"generalist"`, "@./generalist"} {
		e, err = s.Expand(t.Context(), prompt)
		require.NoError(t, err)
		require.Empty(t, e.Agents)
		require.Equal(t, []string{s.Path("generalist")}, e.Files)
	}
	e, err = s.Expand(t.Context(), "@codebase_investigator")
	require.NoError(t, err)
	require.Empty(t, e.Agents)
	require.Len(t, e.Notices, 1)
}

// AR-01, AR-03: the client is a service like others, and there is none without
// models.
func TestClientAccessor(t *testing.T) {
	s := configtest.New(t)
	_, err := s.Client()
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))

	s = configtest.New(t, playing(t, "", script.Options{}))
	one, err := s.Client()
	require.NoError(t, err)
	two, err := s.Client()
	require.NoError(t, err)
	require.Same(t, one, two)
	child, err := derive(t, s.Config, config.DeriveParameters{}).Client()
	require.NoError(t, err)
	require.NotSame(t, one, child)
	next, err := s.Converse(config.Opening{History: []model.Content{model.UserText("before")}})
	require.NoError(t, err)
	require.NotSame(t, one, next)
	require.Len(t, next.History(), 1)
	three, err := s.Client()
	require.NoError(t, err)
	require.Same(t, next, three)
}

// CF-08: in debug mode the final prompt is logged, with secrets masked; otherwise
// it is not.
func TestDebugLog(t *testing.T) {
	for _, debug := range []bool{true, false} {
		var log bytes.Buffer
		s := configtest.New(t, playing(t, `{"calls":[{"tool":"read_file","args":{"file_path":"a.txt"}}]},{"text":"x"}`, script.Options{}), func(p *config.Parameters) {
			p.Environment.DebugMode, p.Environment.Secrets = debug, []string{"hunter2-hunter2", "a", "quo\"ted<\\word"}
			p.Environment.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			p.Conversation.SystemPrompt = "The key is hunter2-hunter2."
		})
		s.Write("a.txt", "and hunter2-hunter2 too\nand quo\"ted<\\word\n")
		converse(t, s.Config, "Say hunter2-hunter2")
		require.NotContains(t, log.String(), "hunter2-hunter2")
		require.NotContains(t, log.String(), "quo", "whatever escapes it stands in")
		if !debug {
			require.NotContains(t, log.String(), "MODEL_REQUEST")
			continue
		}
		require.Contains(t, log.String(), "The key is [masked].")
		require.Contains(t, log.String(), "Say [masked]")
		require.Contains(t, log.String(), "and [masked] too")
	}
}

// onceBefore runs f before the first request.
func onceBefore(f func()) agent.BeforeRequest {
	done := false
	return func(context.Context, *model.Request) (agent.RequestAdvice, error) {
		if !done {
			done = true
			f()
		}
		return agent.RequestAdvice{}, nil
	}
}

// noting records the system prompts of requests.
func noting(systems *[]string) agent.BeforeRequest {
	return func(_ context.Context, r *model.Request) (agent.RequestAdvice, error) {
		*systems = append(*systems, r.System)
		return agent.RequestAdvice{}, nil
	}
}
