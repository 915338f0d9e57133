package config_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/compact"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/script"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/filestate"
)

// restated is a config.Restated as a model decodes it.
type restated struct {
	Notice string
	Files  []struct {
		filestate.State
		Error *fault.Error
	}
	ReadAgain []string `json:"read_again"`
}

func restate(t *testing.T, c *config.Config, o config.RestateOptions) restated {
	t.Helper()
	parts, err := config.RestateWith(t.Context(), c, o)
	require.NoError(t, err)
	var got restated
	if len(parts) > 0 {
		require.Len(t, parts, 1)
		require.NoError(t, json.Unmarshal([]byte(parts[0].Text), &got))
		require.NotEmpty(t, got.Notice)
	}
	return got
}

func inOrder(s *configtest.Session, got restated) []string {
	var all []string
	for _, f := range got.Files {
		all = append(all, strings.TrimPrefix(f.FilePath, s.Dir+"/"))
	}
	return all
}

func patches(t *testing.T, c *config.Config, name, diff, sha string) scheduler.Response {
	t.Helper()
	return call(t, c, "safe_patch", map[string]any{"file_path": name, "unified_diff": diff, "base_content_sha256": sha})
}

// The next change after compaction requires no read, and a read is answered
// consistently. RC-13, RC-22, CR-19
func TestRestate(t *testing.T) {
	s := configtest.New(t, func(p *config.Parameters) { p.Session.RequireSeen = true })
	for _, name := range []string{"a", "b", "c", "partly"} {
		s.Write(name, "one\ntwo\nthree\n")
	}
	for _, name := range []string{"b", "a", "c"} {
		read(t, s.Config, name)
	}
	call(t, s.Config, "read_file", map[string]any{"file_path": "partly", "limit": 1})
	require.Equal(t, scheduler.StatusSuccess, call(t, s.Config, "write_file", map[string]any{"file_path": "c", "content": "new\n", "base_content_sha256": shaOf("one\ntwo\nthree\n")}).Status)
	s.Write("a", "one\n2\nthree\n") // without the session
	state, err := s.SessionStateService()
	require.NoError(t, err)
	before := state.Current()

	got := restate(t, s.Config, config.RestateOptions{})
	require.Equal(t, []string{"c", "a", "b"}, inOrder(s, got), "the last used first, what was never seen whole not at all")
	for i, want := range []string{"new\n", "one\n2\nthree\n", "one\ntwo\nthree\n"} {
		f := got.Files[i]
		require.Nil(t, f.Error)
		require.Equal(t, want, *f.Content)
		require.Equal(t, shaOf(want), *f.SHA256)
		require.Equal(t, before+3-int64(i), *f.Version, "new versions, which go on")
	}
	require.Empty(t, got.ReadAgain)
	require.Equal(t, before+3, state.Current())
	require.Equal(t, 3, cached(t, s.Config))

	// A patch with the hash requires no read, although a hash alone would not
	// suffice.
	r := patches(t, s.Config, "a", "@@ -1,3 +1,3 @@\n one\n-2\n+zwei\n three\n", *got.Files[1].SHA256)
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)
	require.Equal(t, "one\nzwei\nthree\n", s.Read("a"))
	require.Equal(t, before+4, state.Current())
	r = patches(t, s.Config, "partly", "@@\n-two\n+zwei\n", shaOf("one\ntwo\nthree\n"))
	require.Equal(t, fault.EditRequiresPriorRead, r.Result.Error.Code, "what was not said again has to be read")

	// A read refers to the restated content, with the same version.
	again := read(t, s.Config, "b")
	require.Equal(t, filestate.StatusUnchanged, again.Status)
	require.Equal(t, *got.Files[2].Version, again.Version)
	s.Write("b", "other\n")
	again = read(t, s.Config, "b")
	require.Equal(t, "other\n", *again.Content)
	require.Equal(t, before+5, again.Version)
}

// RC-23: only of this Config.
func TestRestateIsOnesOwn(t *testing.T) {
	s := configtest.New(t)
	s.Write("f", "a\n")
	child := derive(t, s.Config, config.DeriveParameters{})
	read(t, s.Config, "f")
	read(t, child, "f")
	got := restate(t, child, config.RestateOptions{})
	require.Equal(t, []string{"f"}, inOrder(s, got))
	require.Equal(t, int64(2), *got.Files[0].Version)
	require.Equal(t, int64(1), read(t, s.Config, "f").Version, "the parent's placeholder still points to its first read")
	restate(t, s.Config, config.RestateOptions{Files: -1})
	require.Zero(t, cached(t, s.Config))
	require.Equal(t, 1, cached(t, child))
}

// A file that cannot be restated is listed, with the reason.
func TestRestateNamesTheRest(t *testing.T) {
	s := configtest.New(t, func(p *config.Parameters) { p.Session.Limits = filestate.Limits{FileBytes: 10_000} })
	for _, name := range []string{"gone", "dir", "big", "binary", "denied", "linked", "cut"} {
		s.Write(name, "a\n")
		read(t, s.Config, name)
	}
	require.NoError(t, os.Remove(s.Path("gone")))
	require.NoError(t, os.Remove(s.Path("dir")))
	require.NoError(t, os.Mkdir(s.Path("dir"), 0o755))
	s.Write("big", strings.Repeat("x", 20_000))
	s.Write("binary", "\x00\x01\x02")
	s.Write("cut", strings.Repeat("line\n", 1_999)+"last")
	require.NoError(t, os.Remove(s.Path("linked")))
	require.NoError(t, os.Symlink("/etc/hostname", s.Path("linked")))
	engine, err := s.Policy().Engine()
	require.NoError(t, err)
	require.NoError(t, engine.Add(policy.Rule{Name: "no", Tools: []string{"read_file"}, ArgsPattern: "denied", Decision: policy.Deny, Priority: 999, Tier: policy.TierUser}))

	got := restate(t, s.Config, config.RestateOptions{})
	codes := map[string]fault.Code{}
	for i, name := range inOrder(s, got) {
		if e := got.Files[i].Error; e != nil {
			codes[name] = e.Code
			require.NotEmpty(t, e.Message)
		}
	}
	require.Equal(t, map[string]fault.Code{
		"gone": fault.FileNotFound, "dir": fault.TargetIsDirectory, "big": fault.FileTooLarge, "denied": fault.PolicyViolation, "linked": fault.PathNotInWorkspace,
	}, codes)
	require.Equal(t, []string{"cut", "linked", "denied", "binary", "big", "dir", "gone"}, inOrder(s, got))
	require.Contains(t, got.Files[3].Notice, "Cannot display content of binary file")
	require.Nil(t, got.Files[3].Content)
	require.Equal(t, 9_999, len(*got.Files[0].Content))
}

// Both limits apply; files beyond them are listed, and not read.
func TestRestateLimits(t *testing.T) {
	s := configtest.New(t)
	for i := range 15 {
		name := fmt.Sprintf("f%02d", i)
		s.Write(name, strings.Repeat("x", 1_000))
		read(t, s.Config, name)
	}
	s.Write("long", strings.Repeat("long line\n", 10_000)) // cut: 2,000 lines of a read
	state, err := s.SessionStateService()
	require.NoError(t, err)
	before := state.Current()

	got := restate(t, s.Config, config.RestateOptions{})
	require.Len(t, got.Files, 10)
	require.Equal(t, "f14", inOrder(s, got)[0])
	require.Equal(t, []string{s.Path("f04"), s.Path("f03"), s.Path("f02"), s.Path("f01"), s.Path("f00")}, got.ReadAgain)
	require.Equal(t, before+10, state.Current())

	s.Write("f14", strings.Repeat("x", 2_500))
	got = restate(t, s.Config, config.RestateOptions{Bytes: 2_400})
	require.Equal(t, []string{"f13", "f12"}, inOrder(s, got), "one that does not fit makes room for others")
	require.Len(t, got.ReadAgain, 8)
	require.Equal(t, s.Path("f14"), got.ReadAgain[0])

	got = restate(t, s.Config, config.RestateOptions{Files: -1})
	require.Empty(t, got.Files)
	require.Len(t, got.ReadAgain, 2)
	require.Empty(t, restate(t, s.Config, config.RestateOptions{}).Notice, "nothing is in work")

	// A model with a small limit receives little.
	for i := range 5 {
		name := fmt.Sprintf("large%d", i)
		s.Write(name, strings.Repeat("x\n", 1_999)+strings.Repeat("y", 100_000))
		read(t, s.Config, name)
	}
	s.SetModel("gemma-4-27b")
	one := restate(t, s.Config, config.RestateOptions{})
	require.Less(t, len(one.Files), 5)
	require.NotEmpty(t, one.Files)
}

// So does one whose requests an embedder limits.
func TestRestateWithinTheLimitOfRequests(t *testing.T) {
	s := configtest.New(t, func(p *config.Parameters) { p.Conversation.Limits.Tokens = 8_000 })
	for _, name := range []string{"a", "b"} {
		s.Write(name, strings.Repeat("x\n", 1_500))
		read(t, s.Config, name)
	}
	got := restate(t, s.Config, config.RestateOptions{})
	require.Equal(t, []string{"b"}, inOrder(s, got), "4,000 bytes are an eighth of 8,000 tokens")
	require.Equal(t, []string{s.Path("a")}, got.ReadAgain)
}

// FT-17: instructions in the system prompt stay; those in messages become pending
// again.
func TestRestateAndInstructions(t *testing.T) {
	for _, messages := range []bool{false, true} {
		s := configtest.New(t, func(p *config.Parameters) { p.Instructions.AsMessages = messages })
		s.Write("sub/AGENTS.md", "Be brief.\n")
		s.Write("other/AGENTS.md", "Be long.\n")
		s.Write("sub/f", "a\n")
		s.Write("other/f", "a\n")
		read(t, s.Config, "sub/f")
		read(t, s.Config, "other/f")
		tracker, err := s.FileTracker()
		require.NoError(t, err)
		require.Len(t, tracker.LoadedByAccess(), 2)
		require.NoError(t, os.Remove(s.Path("other/f")))
		s.Write("sub/AGENTS.md", "Be brief and exact.\n")
		restate(t, s.Config, config.RestateOptions{})
		if !messages {
			require.Len(t, tracker.LoadedByAccess(), 2)
			require.Equal(t, "Be brief.\n", tracker.LoadedByAccess()[0].Text, "they stay given as they were")
			continue
		}
		require.Len(t, tracker.LoadedByAccess(), 1, "the files that are said again bring theirs up")
		require.Equal(t, "Be brief and exact.\n", tracker.LoadedByAccess()[0].Text)
		s.Write("other/f", "a\n")
		read(t, s.Config, "other/f")
		require.Len(t, tracker.LoadedByAccess(), 2)
	}
}

// FT-17: the user's next message repeats the instructions for the files in use,
// and those in the system prompt stay there.
func TestInstructionsInMessagesAfterCompaction(t *testing.T) {
	const turns = `{"calls":[{"tool":"read_file","args":{"file_path":"sub/x.go"}}]}, {"text":"Read."},
		{"text":"They read it."}, {"expect":{"prompt":"Use tabs."},"text":"Well."}`
	var systems []string
	s := configtest.New(t, playing(t, turns, script.Options{}), func(p *config.Parameters) {
		p.Instructions.AsMessages = true
		p.Conversation.Steps.BeforeRequest = append(p.Conversation.Steps.BeforeRequest, noting(&systems))
	})
	s.Write("AGENTS.md", "Be brief.")
	s.Write("sub/AGENTS.md", "Use tabs.")
	s.Write("sub/x.go", "package x\n")
	converse(t, s.Config, "Read it. "+strings.Repeat("Please. ", 300))
	client, err := s.Client()
	require.NoError(t, err)
	result, err := client.Compress(t.Context(), true)
	require.NoError(t, err)
	require.Equal(t, agent.Compacted, result.Status)
	converse(t, s.Config, "On.")
	said, all := 0, ""
	for _, c := range client.History() {
		said += strings.Count(c.Text(), "Use tabs.")
		all += c.Text()
	}
	require.Equal(t, 1, said, "%s", all)
	require.NotContains(t, all, "Be brief.")
	require.Contains(t, systems[len(systems)-1], "Be brief.")
}

// A read whose result never reaches the model does not count.
func TestRestateCancelled(t *testing.T) {
	s := configtest.New(t)
	s.Write("f", "a\n")
	read(t, s.Config, "f")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Restate(ctx)
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))
	require.Zero(t, cached(t, s.Config))

	c, err := config.New(config.Parameters{TargetDir: t.TempDir()})
	require.NoError(t, err)
	_, err = c.Restate(t.Context())
	require.Equal(t, fault.NotInitialized, fault.CodeOf(err))
}

// With the cache off no file is known to be in use.
func TestRestateWithoutCache(t *testing.T) {
	off := true
	s := configtest.New(t, func(p *config.Parameters) { p.Session.FileReadCacheDisabled = &off })
	s.Write("f", "a\n")
	read(t, s.Config, "f")
	require.Empty(t, restate(t, s.Config, config.RestateOptions{}).Notice)
}

// summarizer is a model that summarizes.
type summarizer struct{ model.Generator }

func (summarizer) Generate(context.Context, *model.Request) (*model.Response, error) {
	return &model.Response{Content: model.Content{Role: model.RoleModel, Parts: []model.Part{model.TextPart("They worked on f.")}}}, nil
}

// The whole sequence: a client compacts, the state of files follows the summary,
// and the model's next patch succeeds without a read. RC-22
func TestCompactionThenPatch(t *testing.T) {
	s := configtest.New(t, func(p *config.Parameters) { p.Session.RequireSeen = true })
	s.Write("f", "one\ntwo\n")
	first := call(t, s.Config, "read_file", map[string]any{"file_path": "f"})
	asked := model.FunctionCall{ID: "c1", Name: "read_file", Args: json.RawMessage(`{"file_path":"f"}`)}
	client, err := agent.New(agent.Options{
		Source: model.Always(summarizer{}), Model: func() string { return "script:x" },
		Compactor: compact.New(compact.Options{}),
		Restate: func(ctx context.Context, _ []model.Content) ([]model.Part, error) {
			return s.Restate(ctx)
		},
		History: []model.Content{
			model.UserText("Work on f. " + strings.Repeat("Please. ", 500)),
			{Role: model.RoleModel, Parts: []model.Part{{Call: &asked}}},
			{Role: model.RoleUser, Parts: []model.Part{{Response: &model.FunctionResponse{ID: "c1", Name: "read_file", Response: first.FunctionResponse()}}}},
			{Role: model.RoleModel, Parts: []model.Part{model.TextPart("I have read it. " + strings.Repeat("Well. ", 500))}},
		},
	})
	require.NoError(t, err)
	result, err := client.Compress(t.Context(), true)
	require.NoError(t, err)
	require.Equal(t, agent.Compacted, result.Status)

	history := client.History()
	require.NoError(t, agent.ValidHistory(history))
	parts := history[0].Parts
	require.Contains(t, parts[0].Text, "They worked on f.")
	var got restated
	require.NoError(t, json.Unmarshal([]byte(parts[len(parts)-1].Text), &got))
	require.Equal(t, int64(2), *got.Files[0].Version)
	r := patches(t, s.Config, "f", "@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n", *got.Files[0].SHA256)
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)
	require.Equal(t, "one\nzwei\n", s.Read("f"))
}
