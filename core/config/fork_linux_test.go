package config_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model/script"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/fork"
	"github.com/fettle-dev/fettle/core/services/sandbox"
	"github.com/fettle-dev/fettle/core/tools"
)

// forked returns a session in the mode auto_edit and one derived from it that works in a fork.
func forked(t *testing.T, change ...func(*config.Parameters)) (*configtest.Session, *config.Config) {
	s := configtest.New(t, append([]func(*config.Parameters){func(p *config.Parameters) { p.Policy.ApprovalMode = policy.ModeAutoEdit }}, change...)...)
	return s, derived(t, s.Config)
}

func derived(t *testing.T, c *config.Config) *config.Config {
	child, err := c.Derive(config.DeriveParameters{Subagent: "one", Fork: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, child.Close()) })
	return child
}

// done makes a call that must succeed, and returns its result.
func done(t *testing.T, c *config.Config, tool string, args map[string]any) string {
	t.Helper()
	r := call(t, c, tool, args)
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%s: %+v", tool, r.Result.Error)
	return r.Result.LLMContent.String()
}

// overwrite reads a file and writes it, with the hash that it got.
func overwrite(t *testing.T, c *config.Config, path, content string) {
	t.Helper()
	var file struct {
		SHA256 string `json:"sha256"`
	}
	require.NoError(t, json.Unmarshal([]byte(done(t, c, "read_file", map[string]any{"file_path": path})), &file))
	done(t, c, "write_file", map[string]any{"file_path": path, "content": content, "base_content_sha256": file.SHA256})
}

// FK-01, FK-02: a derived session in a fork changes nothing of the project. All of its tools see its files, and the
// project's later changes in others.
func TestForkedSession(t *testing.T) {
	s, child := forked(t)
	s.Write("a.txt", "one\ntwo\n")
	s.Write("d/gone.txt", "gone\n")
	overwrite(t, child, "a.txt", "one\nTWO\n")
	done(t, child, "write_file", map[string]any{"file_path": "d/new.txt", "content": "needle\n"})
	require.Equal(t, "one\ntwo\n", s.Read("a.txt"))
	require.NoFileExists(t, s.Path("d/new.txt"))

	require.Contains(t, done(t, child, "read_file", map[string]any{"file_path": s.Path("a.txt")}), "TWO")
	require.Contains(t, done(t, child, "list_directory", map[string]any{"dir_path": "d"}), "new.txt")
	require.Contains(t, done(t, child, "glob", map[string]any{"pattern": "**/*.txt"}), "new.txt")
	require.Contains(t, done(t, child, "search_file_content", map[string]any{"pattern": "needle"}), "new.txt")
	s.Write("later.txt", "later\n")
	require.Contains(t, done(t, child, "read_file", map[string]any{"file_path": "later.txt"}), "later")

	// Its parent sees the project.
	require.Contains(t, done(t, s.Config, "read_file", map[string]any{"file_path": "a.txt"}), "two")
	require.NotContains(t, done(t, s.Config, "glob", map[string]any{"pattern": "**/*.txt"}), "new.txt")

	f, err := child.Fork()
	require.NoError(t, err)
	require.Equal(t, fork.Overlay, f.Mode)
	own, err := s.Fork()
	require.NoError(t, err)
	require.Nil(t, own)
	_, err = child.Derive(config.DeriveParameters{Fork: true})
	require.Equal(t, fault.ForkUnsupported, fault.CodeOf(err))

	// A session derived from it works in the same fork, whether or not the fork has been used.
	fresh, err := s.Derive(config.DeriveParameters{Fork: true})
	require.NoError(t, err)
	_, err = fresh.Derive(config.DeriveParameters{Fork: true})
	require.Equal(t, fault.ForkUnsupported, fault.CodeOf(err))
	grand, err := fresh.Derive(config.DeriveParameters{})
	require.NoError(t, err)
	done(t, grand, "write_file", map[string]any{"file_path": "grand.txt", "content": "x\n"})
	require.NoFileExists(t, s.Path("grand.txt"))
	require.Contains(t, done(t, fresh, "read_file", map[string]any{"file_path": "grand.txt"}), "x")
	require.NoError(t, grand.Close())
	shared, err := fresh.Fork()
	require.NoError(t, err)
	store, err := s.Forks()
	require.NoError(t, err)
	require.NoError(t, fresh.Close())
	require.NoError(t, store.Drop(t.Context(), shared.ID, true))

	// Further directories are read-only in a fork.
	more := t.TempDir()
	require.NoError(t, child.AddDirectory(t.Context(), more))
	r0 := call(t, child, "write_file", map[string]any{"file_path": filepath.Join(more, "x"), "content": "x\n"})
	require.Equal(t, fault.PermissionDenied, r0.Result.Error.Code)

	// A fork with changes survives its session.
	r, err := f.Compare(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, 2, r.Clean(), "%v", r)
	require.NoError(t, child.Close())
	all, err := store.List(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Regexp(t, "^one-", all[0].Name)
	require.False(t, all[0].InUse)

	// One without changes does not.
	idle := derived(t, s.Config)
	done(t, idle, "read_file", map[string]any{"file_path": "a.txt"})
	require.NoError(t, idle.Close())
	all, err = store.List(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
}

// FK-01: with copies, the session works in one, on every system.
func TestForkedSessionInCopy(t *testing.T) {
	s, child := forked(t, func(p *config.Parameters) { p.CopyForks() })
	s.Write("a.txt", "one\n")
	overwrite(t, child, "a.txt", "two\n")
	require.Equal(t, "one\n", s.Read("a.txt"))
	f, err := child.Fork()
	require.NoError(t, err)
	require.Equal(t, fork.Copy, f.Mode)
	require.FileExists(t, filepath.Join(f.Layers()[0].Upper, "a.txt"))
	refused := call(t, child, "read_file", map[string]any{"file_path": s.Path("a.txt")})
	require.Equal(t, fault.PathNotInWorkspace, refused.Result.Error.Code)
}

// FK-04: no name leads out of a fork, and links count as their targets.
func TestForkKeepsFilesInside(t *testing.T) {
	hidden := policy.Rule{Name: "hidden", Decision: policy.Deny, Tier: policy.TierUser, Priority: 500, Tools: []string{"read_file", "write_file"}, ArgsPattern: `secret`}
	s, child := forked(t, func(p *config.Parameters) { p.Policy.Rules = append(p.Policy.Rules, hidden) })
	s.Write("secret.txt", "hidden\n")
	outside := filepath.Join(t.TempDir(), "out.txt")
	require.NoError(t, os.WriteFile(outside, []byte("out\n"), 0o644))
	require.NoError(t, os.Symlink(outside, s.Path("link")))
	require.NoError(t, os.Symlink("secret.txt", s.Path("alias")))
	s.Write(".git/config", "[core]\n")
	require.NoError(t, child.SetApprovalMode(policy.ModeYolo))
	for path, code := range map[string]fault.Code{
		outside: fault.PathNotInWorkspace, "../x": fault.PathNotInWorkspace, "link": fault.PathNotInWorkspace, "/proc/self/cwd/x": fault.PathNotInWorkspace,
		"/proc/self/root" + s.Path("x"): fault.PathNotInWorkspace, ".git/new": fault.PermissionDenied,
	} {
		r := call(t, child, "write_file", map[string]any{"file_path": path, "content": "x\n"})
		require.NotNil(t, r.Result.Error, path)
		require.Equal(t, code, r.Result.Error.Code, "%s: %v", path, r.Result.Error)
	}
	require.NoFileExists(t, s.Path(".git/new"))
	require.NoError(t, child.SetApprovalMode(policy.ModeAutoEdit))
	r := call(t, child, "read_file", map[string]any{"file_path": "alias"})
	require.Equal(t, scheduler.StatusDenied, r.Status)

	// A link that exists in the fork alone is followed, too.
	f, err := child.Fork()
	require.NoError(t, err)
	require.NoError(t, os.Symlink("secret.txt", filepath.Join(f.Layers()[0].Upper, "mine")))
	r = call(t, child, "read_file", map[string]any{"file_path": "mine"})
	require.Equal(t, scheduler.StatusDenied, r.Status, "%+v", r.Result)
	data, err := os.ReadFile(outside)
	require.NoError(t, err)
	require.Equal(t, "out\n", string(data))
}

// FK-04: tools that work outside of the fork change nothing.
func TestForeignToolsInFork(t *testing.T) {
	ran := false
	foreign, err := tools.Define("remote_change", "Changes something elsewhere.", tools.KindEdit, func(context.Context, struct{}) (tools.Result, error) {
		ran = true
		return tools.Result{}, nil
	}, tools.WithSpec(func(s *tools.Spec) { s.Origin = tools.Origin{Group: tools.GroupDiscovered} }))
	require.NoError(t, err)
	s, child := forked(t, func(p *config.Parameters) {
		p.Policy.ApprovalMode = policy.ModeYolo
		p.Tools.Discover = append(p.Tools.Discover, func(context.Context) ([]tools.DeclarativeTool, error) { return []tools.DeclarativeTool{foreign}, nil })
	})
	r := call(t, child, "remote_change", nil)
	require.Equal(t, scheduler.StatusDenied, r.Status)
	require.Contains(t, r.Result.Error.Message, "fork")
	require.False(t, ran)
	done(t, s.Config, "remote_change", nil)
	require.True(t, ran)
}

// FK-06: agents with isolation work side by side on the same file. Their changes are merged; of two changes of one
// line the caller gets the second one as a conflict, with both.
func TestAgentsInForks(t *testing.T) {
	turns := func(name, text string) string {
		when := `{"when":{"purpose":"subagent","prompt":"` + name + `"},`
		return when + `"calls":[{"tool":"read_file","args":{"file_path":"f.txt"}}]},` +
			when + `"calls":[{"tool":"safe_patch","args":{"file_path":"f.txt","unified_diff":"@@\n-two\n+` + text + `\n","base_content_sha256":"{{sha256 \"f.txt\"}}"}},
				{"tool":"write_file","args":{"file_path":"` + name + `.txt","content":"x\n"}}]},` +
			when + `"title":"report","calls":[{"tool":"complete_task","args":{"result":"Done."}}]},`
	}
	var changed sync.WaitGroup // no agent reports before both have changed the file
	changed.Add(2)
	together := script.Options{OnTurn: func(_ context.Context, turn script.Turn) error {
		if turn.Title == "report" {
			changed.Done()
			changed.Wait()
		}
		return nil
	}}
	one := subagent.Definition{Name: "painter", Description: "Works alone.", Prompt: "You work.", Fork: true}
	s := configtest.New(t, playing(t, `
		{"when":{"purpose":"main"},"calls":[{"tool":"painter","args":{"query":"alpha"}},{"tool":"painter","args":{"query":"beta"}}]},
		`+turns("alpha", "ALPHA")+turns("beta", "BETA")+`
		{"when":{"purpose":"main"},"text":"Seen."}`, together), func(p *config.Parameters) {
		p.Policy.ApprovalMode = policy.ModeAutoEdit
		p.Agents.Definitions = []subagent.Definition{one}
	})
	s.Write("f.txt", "one\ntwo\nthree\n")
	answer, calls := converse(t, s.Config, "Work.")
	require.Equal(t, "Seen.", answer)
	require.Equal(t, []string{"painter success", "painter success"}, calls)
	require.FileExists(t, s.Path("alpha.txt"))
	require.FileExists(t, s.Path("beta.txt"))
	merged := s.Read("f.txt")
	require.Contains(t, []string{"one\nALPHA\nthree\n", "one\nBETA\nthree\n"}, merged)

	client, err := s.Client()
	require.NoError(t, err)
	var reports []string
	for _, content := range client.History() {
		for _, r := range content.Responses() {
			reports = append(reports, string(r.Response))
		}
	}
	require.Len(t, reports, 2)
	if strings.Contains(merged, "BETA") {
		reports[0], reports[1] = reports[1], reports[0]
	}
	require.Contains(t, reports[0], "2 files were merged")
	require.Contains(t, reports[0], s.Path("f.txt"))
	for _, part := range []string{"conflict (text)", "1 file was merged", "+ALPHA", "+BETA", "fettle forks merge painter-"} {
		require.Contains(t, reports[1], part)
	}
	store, err := s.Forks()
	require.NoError(t, err)
	left, err := store.List(t.Context())
	require.NoError(t, err)
	require.Len(t, left, 1, "the fork without a conflict is dropped")
}

// FK-06: files that git ignores are not merged, and do not keep a fork.
func TestAgentsInForksBuild(t *testing.T) {
	one := subagent.Definition{Name: "painter", Description: "Works alone.", Prompt: "You work.", Fork: true}
	s := configtest.New(t, playing(t, `{"when":{"purpose":"main"},"calls":[{"tool":"painter","args":{"query":"Go."}}]},
		{"when":{"purpose":"subagent"},"calls":[{"tool":"write_file","args":{"file_path":"out/x","content":"x\n"}}]},
		{"when":{"purpose":"subagent"},"calls":[{"tool":"complete_task","args":{"result":"Done."}}]},
		{"when":{"purpose":"main"},"text":"Seen."}`, script.Options{}), func(p *config.Parameters) {
		p.Policy.ApprovalMode = policy.ModeAutoEdit
		p.Agents.Definitions = []subagent.Definition{one}
	})
	s.Write(".gitignore", "out/\n")
	_, calls := converse(t, s.Config, "Work.")
	require.Equal(t, []string{"painter success"}, calls)
	require.NoDirExists(t, s.Path("out"))
	store, err := s.Forks()
	require.NoError(t, err)
	left, err := store.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, left)
}

// FK-06: changes that need an approval stay in the fork, and so do the changes of an agent that fails.
func TestAgentsInForksKeepChanges(t *testing.T) {
	one := subagent.Definition{Name: "painter", Description: "Works alone.", Prompt: "You work.", Fork: true, MaxTurns: 3}
	const ends = `{"when":{"purpose":"subagent"},"calls":[{"tool":"complete_task","args":{"result":"Done."}}]},`
	write := func(path string) string {
		return `{"when":{"purpose":"subagent"},"calls":[{"tool":"write_file","args":{"file_path":"` + path + `","content":"x\n"}}]},`
	}
	for name, tt := range map[string]struct {
		turns string
		want  string
		rules []policy.Rule // of the caller
	}{
		"protected": {write(".github/workflows/x.yml") + ends, "needs an approval", nil},
		"failed":    {write("new.txt") + `{"when":{"purpose":"subagent"},"repeat":"forever","text":"I stop."},`, "did not finish", nil},
		"content":   {write("new.txt") + ends, "needs an approval", []policy.Rule{{Tools: []string{"write_file"}, Decision: policy.AskUser, ArgsPattern: `"content":"x`}}},
		"removal": {`{"when":{"purpose":"subagent"},"calls":[{"tool":"read_file","args":{"file_path":"old.txt"}}]},
			{"when":{"purpose":"subagent"},"calls":[{"tool":"apply_patch","args":{"input":"*** Begin Patch\n*** Delete File: old.txt\n*** End Patch\n"}}]},` + ends,
			"needs an approval", []policy.Rule{{Tools: []string{"apply_patch"}, Decision: policy.AskUser, ArgsPattern: `Delete File`}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := configtest.New(t, playing(t, `{"when":{"purpose":"main"},"calls":[{"tool":"painter","args":{"query":"Go."}}]},`+tt.turns+`{"when":{"purpose":"main"},"text":"Seen."}`, script.Options{}), func(p *config.Parameters) {
				p.Policy.ApprovalMode = policy.ModeAutoEdit
				p.Tools.EditDialect = []string{"apply_patch"}
				for _, r := range tt.rules {
					r.Priority, r.Tier = 100, policy.TierUser
					free := policy.Rule{Tools: r.Tools, Decision: policy.Allow, Subagent: "painter", Priority: 200, Tier: policy.TierUser}
					p.Policy.Rules = append(p.Policy.Rules, r, free)
				}
				p.Agents.Definitions = []subagent.Definition{one}
			})
			s.Write("old.txt", "old\n")
			_, _ = converse(t, s.Config, "Work.")
			require.FileExists(t, s.Path("old.txt"))
			client, err := s.Client()
			require.NoError(t, err)
			require.Contains(t, string(client.History()[2].Responses()[0].Response), tt.want)
			require.NoFileExists(t, s.Path("new.txt"))
			require.NoDirExists(t, s.Path(".github"))
			store, err := s.Forks()
			require.NoError(t, err)
			left, err := store.List(t.Context())
			require.NoError(t, err)
			require.Len(t, left, 1)
		})
	}
}

// FK-03: commands of a session in a fork see its files and change nothing else. In the background they need a copy.
func TestCommandsInFork(t *testing.T) {
	s, child := forked(t, func(p *config.Parameters) { p.Policy.ApprovalMode = policy.ModeYolo })
	if err := sandbox.Probe(); err != nil {
		t.Skip("namespaces are not available:", err)
	}
	s.Write("a.txt", "one\n")
	overwrite(t, child, "a.txt", "two\n")
	written := time.Now()
	require.Eventually(t, func() bool { return time.Since(written) > 50*time.Millisecond }, time.Minute, time.Millisecond) // several ticks of the clock of files
	require.Contains(t, done(t, child, "run_shell_command", map[string]any{"command": "cat a.txt; echo three >> a.txt; echo new > b.txt; rm -f nothing; pwd"}), "two")
	require.Equal(t, "one\n", s.Read("a.txt"))
	require.NoFileExists(t, s.Path("b.txt"))
	require.Contains(t, done(t, child, "read_file", map[string]any{"file_path": "a.txt"}), "three")
	require.Contains(t, done(t, child, "read_file", map[string]any{"file_path": "b.txt"}), "new")
	for _, args := range []map[string]any{
		{"command": "true", "is_background": true},
		{"command": "true", "unconfined": true, "reason": "to leave"},
	} {
		r := call(t, child, "run_shell_command", args)
		require.NotEqual(t, scheduler.StatusSuccess, r.Status, "%v", args)
		require.Equal(t, fault.ForkUnsupported, r.Result.Error.Code, "%v", args)
	}
	f, err := child.Fork()
	require.NoError(t, err)
	r, err := f.Compare(t.Context(), nil)
	require.NoError(t, err)
	require.Zero(t, r.Conflicts(), "%+v", r.Files)
	require.Equal(t, 2, r.Clean())
}

// FK-04: commands in a fork do not see the content of files that the policy withholds, of the project or of the fork.
func TestWithheldFilesInFork(t *testing.T) {
	if err := sandbox.Probe(); err != nil {
		t.Skip("namespaces are not available:", err)
	}
	hidden := policy.Rule{Name: "hidden", Decision: policy.Deny, Tier: policy.TierUser, Priority: 500, Tools: []string{"read_file"}, ArgsPattern: `secret`}
	s, child := forked(t, func(p *config.Parameters) {
		p.Policy.ApprovalMode = policy.ModeYolo
		p.Policy.Rules = append(p.Policy.Rules, hidden)
	})
	s.Write("secret.txt", "lower\n")
	f, err := child.Fork()
	require.NoError(t, err)
	upper := f.Layers()[0].Upper
	require.NoError(t, os.MkdirAll(filepath.Join(upper, "d"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(upper, "d", "secret.txt"), []byte("upper\n"), 0o644))
	out := done(t, child, "run_shell_command", map[string]any{"command": "cat secret.txt d/secret.txt; ls d; true"})
	require.Contains(t, out, "secret.txt")
	require.NotContains(t, out, "lower")
	require.NotContains(t, out, "upper")
}

func inFork(ctx context.Context, parent *config.Config) (*fork.Report, error) {
	// code: derive
	child, err := parent.Derive(config.DeriveParameters{Fork: true})
	if err != nil {
		return nil, err
	}
	defer child.Close()
	s, err := child.Scheduler()
	if err != nil {
		return nil, err
	}
	s.Run(ctx, scheduler.Request{Tool: "write_file", Args: []byte(`{"file_path": "new.txt", "content": "new\n"}`)})
	f, err := child.Fork()
	if err != nil {
		return nil, err
	}
	return f.Compare(ctx, nil)
	// code: end
}

func TestForkAsDocumented(t *testing.T) {
	s, _ := forked(t)
	r, err := inFork(t.Context(), s.Config)
	require.NoError(t, err)
	require.Equal(t, 1, r.Clean())
	require.NoFileExists(t, s.Path("new.txt"))
}

// FK-02: the instruction files at the start of a session are those of its fork.
func TestInstructionsInFork(t *testing.T) {
	s, child := forked(t)
	s.Write("AGENTS.md", "Of the project.\n")
	f, err := child.Fork()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(f.Layers()[0].Upper, "AGENTS.md"), []byte("Of the fork.\n"), 0o644))
	for c, want := range map[*config.Config]string{s.Config: "Of the project.", child: "Of the fork."} {
		docs, err := c.Instructions().Files(t.Context())
		require.NoError(t, err)
		require.Len(t, docs, 1)
		require.Contains(t, docs[0].Text, want)
	}
}

// FK-04: hooks run confined in the fork, and do not wait for the call that they follow.
func TestHooksInFork(t *testing.T) {
	if err := sandbox.Probe(); err != nil {
		t.Skip("namespaces are not available:", err)
	}
	s, child := forked(t, func(p *config.Parameters) {
		dir := filepath.Join(p.Environment.HomeDir, ".fettle")
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "hooks.toml"), []byte("[hooks.AfterTool]\nhooks = [{command = 'echo hooked > hooked.txt'}]\n"), 0o644))
	})
	done(t, child, "write_file", map[string]any{"file_path": "new.txt", "content": "new\n"})
	require.NoFileExists(t, s.Path("hooked.txt"))
	require.Contains(t, done(t, child, "read_file", map[string]any{"file_path": "hooked.txt"}), "hooked")
}
