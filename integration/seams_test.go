package integration_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/websearch"
)

// GO-07: each extension point of a Config, as a program outside the module uses it.
// Tools and approvals are in embedding_test.go, models and complete agents in
// agent_embedding_test.go.

// within creates a Config and calls use with its scheduler.
func within(p config.Parameters, use func(ctx context.Context, c *config.Config, calls *scheduler.Scheduler)) {
	ctx := context.Background()
	c, err := config.New(p)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	if err := c.Initialize(ctx); err != nil {
		fmt.Println(err)
		return
	}
	calls, err := c.Scheduler()
	if err != nil {
		fmt.Println(err)
		return
	}
	use(ctx, c, calls)
}

// call makes one call, as a model would.
func call(ctx context.Context, calls *scheduler.Scheduler, tool, args string) scheduler.Response {
	return calls.Run(ctx, scheduler.Request{CallID: tool, Tool: tool, Args: json.RawMessage(args)})
}

// code: questions
// answerQuestions answers the questions of ask_user: a choice with its last option,
// other questions with the given words.
func answerQuestions(ctx context.Context, b *bus.MessageBus, words string) {
	bus.Subscribe(ctx, b, func(_ context.Context, q bus.AskUserRequest) {
		answers := map[string]string{}
		for i, question := range q.Questions {
			answers[fmt.Sprint(i)] = words
			if n := len(question.Options); n > 0 {
				answers[fmt.Sprint(i)] = question.Options[n-1].Label
			}
		}
		if err := b.Publish(bus.AskUserResponse{CorrelationID: q.CorrelationID, Answers: answers}); err != nil {
			fmt.Println(err) // bus.ErrAnswered: another front end was faster
		}
	})
}

// code: end

// A front end: questions of the model. Without a subscriber the tool is not declared.
func Example_ownFrontEnd() {
	dir := exampleDir()
	defer os.RemoveAll(dir)
	within(config.Parameters{TargetDir: dir, Environment: config.Environment{HomeDir: dir}}, func(ctx context.Context, c *config.Config, calls *scheduler.Scheduler) {
		fmt.Println("declared:", declared(c, "ask_user"))
		answerQuestions(ctx, c.MessageBus(), "notes")
		fmt.Println("declared:", declared(c, "ask_user"))
		r := call(ctx, calls, "ask_user", `{"questions": [
			{"header": "Name", "question": "What is it called?", "type": "text"},
			{"header": "Store", "question": "Where?", "type": "choice", "options": [{"label": "Memory", "description": ""}, {"label": "Disk", "description": ""}]}]}`)
		var result struct{ Answers map[string]string }
		if err := json.Unmarshal([]byte(r.Result.LLMContent.String()), &result); err != nil {
			fmt.Println(err)
		}
		fmt.Println(r.Status, result.Answers)
	})
	// Output:
	// declared: false
	// declared: true
	// success map[0:notes 1:Disk]
}

// declared reports whether a tool is declared to the model.
func declared(c *config.Config, name string) bool {
	registry, err := c.ToolRegistry()
	if err != nil {
		fmt.Println(err)
		return false
	}
	for _, d := range registry.Declarations() {
		if d.Name == name {
			return true
		}
	}
	return false
}

// code: root
// confined restricts a session to directories of the embedder: the tools reach dir and
// more, and fettle's own files (settings, policies, memory) are below home. No
// environment variable is read.
func confined(dir, home string, more ...string) config.Parameters {
	names := layout.Fettle()
	names.SystemDir = filepath.Join(home, "system") // else /etc/fettle
	return config.Parameters{TargetDir: dir, IncludeDirs: more, Environment: config.Environment{HomeDir: home, Layout: names}}
}

// code: end

// A file system root; TestOwnRoot shows that nothing else is opened.
func Example_ownRoot() {
	dir, more, home := exampleDir(), exampleDir(), exampleDir()
	for _, d := range []string{dir, more, home} {
		defer os.RemoveAll(d)
	}
	p := confined(dir, home, more)
	p.Policy.AllowedTools = []string{"save_memory"}
	within(p, func(ctx context.Context, _ *config.Config, calls *scheduler.Scheduler) {
		for _, path := range []string{"hello.txt", filepath.Join(more, "hello.txt"), filepath.Join(home, "hello.txt"), "/etc/passwd"} {
			args, _ := json.Marshal(map[string]string{"file_path": path})
			r := call(ctx, calls, "read_file", string(args))
			if r.Result.Error != nil {
				fmt.Println(r.Status, r.Result.Error.Code)
				continue
			}
			fmt.Println(r.Status)
		}
		fmt.Println(call(ctx, calls, "save_memory", `{"fact": "Likes tea."}`).Status)
	})
	_, err := os.Stat(filepath.Join(home, ".fettle", "FETTLE.md"))
	fmt.Println("remembered in its home:", err == nil)
	// Output:
	// success
	// success
	// error path_not_in_workspace
	// error path_not_in_workspace
	// success
	// remembered in its home: true
}

// A clock: glob lists the files changed within the last day first.
func Example_ownClock() {
	dir := exampleDir()
	defer os.RemoveAll(dir)
	noon := time.Date(2020, 2, 29, 12, 0, 0, 0, time.UTC)
	for name, age := range map[string]time.Duration{"a.md": 40 * time.Hour, "b.md": 2 * time.Hour, "c.md": time.Hour} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, nil, 0o644), os.Chtimes(path, noon, noon.Add(-age))); err != nil {
			fmt.Println(err)
		}
	}
	for _, now := range []func() time.Time{nil, func() time.Time { return noon }} {
		within(config.Parameters{TargetDir: dir, Environment: config.Environment{HomeDir: dir, Now: now}}, func(ctx context.Context, _ *config.Config, calls *scheduler.Scheduler) {
			r := call(ctx, calls, "glob", `{"pattern": "*.md"}`)
			var result struct{ Files []string }
			if err := json.Unmarshal([]byte(r.Result.LLMContent.String()), &result); err != nil {
				fmt.Println(err)
			}
			for i, f := range result.Files {
				result.Files[i] = filepath.Base(f)
			}
			fmt.Println(result.Files)
		})
	}
	// Output:
	// [a.md b.md c.md]
	// [c.md b.md a.md]
}

// code: settings
// withSettings returns the parameters of a session whose other fields are set by settings
// files, the given variables and the given flags. A field that is set here takes precedence.
func withSettings(dir, home string, environ []string, flags map[string]any) config.Parameters {
	return config.Parameters{TargetDir: dir, Environment: config.Environment{HomeDir: home}, Settings: &settings.Options{Environ: environ, Flags: flags}}
}

// code: end

// Settings: the layers of one session, each value with its origin (CF-01).
func Example_ownSettings() {
	dir, home := exampleDir(), exampleDir()
	for _, d := range []string{dir, home} {
		defer os.RemoveAll(d)
	}
	file := filepath.Join(home, ".fettle", "settings.json")
	text := `{"tools": {"exclude": ["glob"]}, "general": {"defaultApprovalMode": "plan"}, "model": "from-file"}`
	if err := errors.Join(os.Mkdir(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
		fmt.Println(err)
	}
	p := withSettings(dir, home, []string{"FETTLE_MODEL=from-variable"}, map[string]any{"general.defaultApprovalMode": "auto_edit"})
	within(p, func(_ context.Context, c *config.Config, _ *scheduler.Scheduler) {
		fmt.Println(c.ApprovalMode(), c.Model(), declared(c, "glob"))
		origins, err := c.Settings().Origins("model.name")
		if err != nil {
			fmt.Println(err)
		}
		for _, o := range origins {
			fmt.Println(o.Layer, o.Value)
		}
	})
	// Output:
	// autoEdit from-variable false
	// environment from-variable
	// user from-file
	// default auto
}

// code: rules
// houseRules are rules of the embedder, in addition to those of files.
func houseRules() []policy.Rule {
	return []policy.Rule{
		{Name: "notes", Tools: []string{"write_file"}, ArgsPattern: `"file_path":"notes/`, Decision: policy.Allow, Tier: policy.TierUser, Priority: 100, Source: "house rules"},
		{Name: "no keys", Tools: []string{"*"}, ArgsPattern: `\.pem"`, Decision: policy.Deny, Tier: policy.TierAdmin, Priority: 900, Source: "house rules",
			DenyMessage: "Only users handle keys."},
	}
}

// code: end

// Policy rules.
func Example_ownRules() {
	dir := exampleDir()
	defer os.RemoveAll(dir)
	within(config.Parameters{TargetDir: dir, Environment: config.Environment{HomeDir: dir}, Policy: config.Policy{ApprovalMode: policy.ModeYolo, Rules: houseRules()}}, func(ctx context.Context, c *config.Config, calls *scheduler.Scheduler) {
		r := call(ctx, calls, "read_file", `{"file_path": "server.pem"}`)
		fmt.Println(r.Status, r.Decision.Rule, "|", r.Decision.Message)
		if err := c.SetApprovalMode(policy.ModeDefault); err != nil {
			fmt.Println(err)
		}
		r = call(ctx, calls, "write_file", `{"file_path": "notes/today.md", "content": "Tea.\n"}`)
		fmt.Println(r.Status, r.Decision.Rule)
		r = call(ctx, calls, "write_file", `{"file_path": "today.md", "content": "Tea.\n"}`)
		fmt.Println(r.Status, r.Result.Error.Code)
	})
	// Output:
	// denied no keys | Only users handle keys.
	// success notes
	// denied nobody_to_ask
}

// code: searcher
// shelf is a search service of the embedder with a few pages.
type shelf map[string]websearch.Source

func (s shelf) Search(_ context.Context, query string) (websearch.Answer, error) {
	if page, ok := s[query]; ok {
		return websearch.Answer{Sources: []websearch.Source{page}}, nil
	}
	return websearch.Answer{}, nil
}

// code: end

// A search service, which enables web_search.
func Example_ownSearch() {
	dir := exampleDir()
	defer os.RemoveAll(dir)
	pages := shelf{"tea": {Title: "Leaves and water", URL: "https://example.com/tea"}}
	p := config.Parameters{TargetDir: dir, Environment: config.Environment{HomeDir: dir}, Tools: config.Tools{WebSearch: pages}, Policy: config.Policy{AllowedTools: []string{"web_search"}}}
	within(p, func(ctx context.Context, _ *config.Config, calls *scheduler.Scheduler) {
		r := call(ctx, calls, "web_search", `{"query": "tea"}`)
		fmt.Println(r.Status)
		fmt.Println(regexp.MustCompile(`https://[\w./]+`).FindString(r.Result.LLMContent.String()))
	})
	// Output:
	// success
	// https://example.com/tea
}
