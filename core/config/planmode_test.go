package config_test

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/tools"
)

// declared returns the names of the tools declared to a model.
func declared(t *testing.T, c *config.Config) []string {
	t.Helper()
	r, err := c.ToolRegistry()
	require.NoError(t, err)
	var all []string
	for _, d := range r.Declarations() {
		all = append(all, d.Name)
	}
	return all
}

// TO-18, CR-22: plan mode is entered and left with the user's approval; only the
// plan is written in it.
func TestPlanMode(t *testing.T) {
	for before, after := range map[policy.ApprovalMode]policy.ApprovalMode{
		policy.ModeDefault:  policy.ModeDefault,
		policy.ModeAutoEdit: policy.ModeAutoEdit,
		policy.ModeYolo:     policy.ModeDefault, // an approved plan does not permit everything
	} {
		t.Run(string(before), func(t *testing.T) {
			s := configtest.New(t, func(p *config.Parameters) { p.Policy.ApprovalMode = before })
			child := derive(t, s.Config, config.DeriveParameters{})
			require.Contains(t, declared(t, s.Config), "enter_plan_mode")
			require.NotContains(t, declared(t, s.Config), "exit_plan_mode")

			r := s.Call("enter_plan_mode", map[string]any{"reason": "it is large"})
			require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)
			if before != policy.ModeYolo {
				require.Len(t, s.Confirmations(), 1)
				require.Contains(t, s.Confirmations()[0].Details.Prompt, "it is large")
			}
			require.Equal(t, policy.ModePlan, s.ApprovalMode())
			require.Equal(t, before, child.ApprovalMode(), "a derived Config has a mode of its own")
			require.NotContains(t, declared(t, s.Config), "enter_plan_mode")
			require.Contains(t, declared(t, s.Config), "exit_plan_mode")

			s.Call("write_file", map[string]any{"file_path": "f", "content": "text"})
			require.NoFileExists(t, filepath.Join(s.Dir, "f"))
			r = s.Call("write_file", map[string]any{"file_path": ".fettle/plans/it.md", "content": "# The plan\n"})
			require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)

			// A denial leaves the mode unchanged, and so does an invalid plan.
			s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome { return bus.Cancel }
			require.Equal(t, scheduler.StatusDenied, s.Call("exit_plan_mode", map[string]any{"plan_filename": "it.md"}).Status)
			s.Answer = nil
			asked := len(s.Confirmations())
			for _, name := range []string{"none.md", "../../f", "/etc/passwd"} {
				require.Equal(t, scheduler.StatusError, s.Call("exit_plan_mode", map[string]any{"plan_filename": name}).Status, name)
			}
			require.Len(t, s.Confirmations(), asked)
			require.Equal(t, policy.ModePlan, s.ApprovalMode())

			r = s.Call("exit_plan_mode", map[string]any{"plan_filename": "it.md"})
			require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)
			require.Contains(t, s.Confirmations()[asked].Details.Prompt, "# The plan")
			require.Equal(t, after, s.ApprovalMode())
		})
	}
}

// AR-27: a session that starts in plan mode, with a rule that leaves it without
// approval, ends in the default mode.
func TestPlanModeFromTheStart(t *testing.T) {
	c := newConfig(t, config.Parameters{Policy: config.Policy{ApprovalMode: policy.ModePlan, Rules: inPlan("exit_plan_mode")}})
	require.NoError(t, c.Initialize(t.Context()))
	dir := filepath.Join(c.TargetDir(), ".fettle", "plans")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p.md"), []byte("a plan\n"), 0o644))
	r := call(t, c, "exit_plan_mode", map[string]any{"plan_filename": "p.md"})
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)
	require.Equal(t, policy.ModeDefault, c.ApprovalMode())

	// Without an approver the mode stays.
	require.NoError(t, c.SetApprovalMode(policy.ModeAutoEdit))
	r = call(t, c, "enter_plan_mode", map[string]any{})
	require.Equal(t, fault.NoApprover, r.Result.Error.Code)
	require.Equal(t, policy.ModeAutoEdit, c.ApprovalMode())

	// The mode set by a front end is the one restored.
	require.NoError(t, c.SetApprovalMode(policy.ModePlan))
	require.Equal(t, scheduler.StatusSuccess, call(t, c, "exit_plan_mode", map[string]any{"plan_filename": "p.md"}).Status)
	require.Equal(t, policy.ModeAutoEdit, c.ApprovalMode())
}

// TO-18, AR-18: the list belongs to the conversation, and a new one begins empty.
func TestTodos(t *testing.T) {
	s := configtest.New(t)
	child := derive(t, s.Config, config.DeriveParameters{})
	list := func(c *config.Config) []tools.Todo {
		all, err := c.Todos()
		require.NoError(t, err)
		return all
	}
	r := s.Call("write_todos", map[string]any{"todos": []map[string]any{{"description": "think", "status": "in_progress"}, {"description": "do", "status": "pending"}}})
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)
	require.Empty(t, s.Confirmations())
	want := []tools.Todo{{Description: "think", Status: "in_progress"}, {Description: "do", Status: "pending"}}
	require.Equal(t, want, r.Result.ReturnDisplay.Todo.Todos)
	require.Equal(t, want, list(s.Config))
	require.Empty(t, list(child))
	_, err := s.StartNewSession("", 0)
	require.NoError(t, err)
	require.Empty(t, list(s.Config))
}

// TO-13: facts go to the user's context file of the layout, its other content is
// kept, and no mode but yolo saves one without approval.
func TestSaveMemory(t *testing.T) {
	for name, file := range map[string]string{"fettle": ".fettle/FETTLE.md", "gemini": ".gemini/GEMINI.md"} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			s := configtest.New(t, func(p *config.Parameters) {
				p.Environment.HomeDir, p.Policy.ApprovalMode = home, policy.ModeAutoEdit
				p.Environment.Layout, _ = layout.Named(name)
			})
			path := filepath.Join(home, filepath.FromSlash(file))
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte("# Mine\r\n\r\ntext\r\n"), 0o644))
			for _, fact := range []string{"Tests run with make.", "The person likes tabs."} {
				r := s.Call("save_memory", map[string]any{"fact": fact})
				require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)
			}
			require.Len(t, s.Confirmations(), 2)
			require.Equal(t, path, s.Confirmations()[0].Details.FilePath)
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(string(text), "# Mine\r\n\r\ntext\r\n"), "%q", text)
			lines := strings.Split(string(text), "\r\n")
			at := slices.Index(lines, "- Tests run with make.")
			require.Positive(t, at, "%q", text)
			require.Equal(t, "- The person likes tabs.", lines[at+1])
			require.Contains(t, lines, map[string]string{"fettle": "## Fettle Added Memories", "gemini": "## Gemini Added Memories"}[name])
		})
	}
}

// TO-18: the documents are available without a file of them.
func TestInternalDocs(t *testing.T) {
	s := configtest.New(t)
	require.Contains(t, s.Call("get_internal_docs", nil).Result.LLMContent.String(), "policy.md")
	require.Contains(t, s.Call("get_internal_docs", map[string]any{"path": "policy.md"}).Result.LLMContent.String(), "# Policy")
	require.Empty(t, s.Confirmations())
}

// A question without a subscriber to answer it is not declared.
func TestAskUserIsDeclaredWhereSomebodyListens(t *testing.T) {
	s := configtest.New(t)
	require.NotContains(t, declared(t, s.Config), "ask_user")
	sub := bus.Subscribe(t.Context(), s.MessageBus(), func(_ context.Context, _ bus.AskUserRequest) {})
	require.Contains(t, declared(t, s.Config), "ask_user")
	sub.Unsubscribe()
	require.NotContains(t, declared(t, s.Config), "ask_user")
}

// A model that could not leave plan mode does not enter it.
func TestNoPlanModeWithoutAWayOut(t *testing.T) {
	c := newConfig(t, config.Parameters{Policy: config.Policy{ApprovalMode: policy.ModeYolo}})
	require.NoError(t, c.Initialize(t.Context()))
	require.NotContains(t, declared(t, c), "enter_plan_mode")
	r := call(t, c, "enter_plan_mode", map[string]any{})
	require.Equal(t, fault.NoApprover, r.Result.Error.Code)
	require.Equal(t, policy.ModeYolo, c.ApprovalMode())

	c = newConfig(t, config.Parameters{Policy: config.Policy{AllowedTools: []string{"enter_plan_mode"}, Rules: inPlan("exit_plan_mode")}})
	require.NoError(t, c.Initialize(t.Context()))
	require.Equal(t, scheduler.StatusSuccess, call(t, c, "enter_plan_mode", map[string]any{}).Status)
	require.Equal(t, policy.ModePlan, c.ApprovalMode())
}

// CR-22, CF-09: an untrusted project cannot have files written by requesting plan
// mode, and no project by linking its plans directory elsewhere.
func TestPlansOfUntrustedProjects(t *testing.T) {
	const plan = `{"general": {"defaultApprovalMode": "plan"}}`
	for name, tt := range map[string]struct {
		trust   trust.State
		mode    policy.ApprovalMode // of the parameters
		user    string
		project string
		call    policy.ApprovalMode // set by a call
		link    string              // the target of the plans directory
		written bool
	}{
		"an undecided project's":     {project: plan},
		"an untrusted project's":     {trust: trust.Untrusted, project: plan},
		"a trusted project's":        {trust: trust.Trusted, project: plan, written: true},
		"the person's":               {user: plan, written: true},
		"the embedder's":             {mode: policy.ModePlan, project: plan, written: true},
		"by a call":                  {project: plan, call: policy.ModePlan, written: true},
		"by a call, and untrusted":   {trust: trust.Untrusted, call: policy.ModePlan, written: true},
		"linked to the project":      {trust: trust.Trusted, user: plan, link: ".."},
		"linked out of the project":  {trust: trust.Trusted, user: plan, link: "../../elsewhere"},
		"linked where plans are too": {trust: trust.Trusted, user: plan, link: "../other/.fettle/plans"},
	} {
		t.Run(name, func(t *testing.T) {
			s := configtest.New(t, withUser(t, cmp.Or(tt.user, "{}")), func(p *config.Parameters) {
				p.Policy.Trust, p.Policy.ApprovalMode = tt.trust, tt.mode
				settingsIn(t, p.TargetDir, cmp.Or(tt.project, "{}"))
				if plans := filepath.Join(p.TargetDir, ".fettle", "plans"); tt.link != "" {
					require.NoError(t, os.MkdirAll(filepath.Join(filepath.Dir(plans), tt.link), 0o755))
					require.NoError(t, os.Symlink(tt.link, plans))
				}
			})
			if tt.call != "" {
				require.NoError(t, s.SetApprovalMode(tt.call))
			}
			require.Equal(t, policy.ModePlan, s.ApprovalMode())
			child := derive(t, s.Config, config.DeriveParameters{})
			require.Equal(t, tt.written, verdict(t, child, "write_file", `{"file_path": ".fettle/plans/X.md"}`).Decision == policy.Allow)
			s.Call("write_file", map[string]any{"file_path": ".fettle/plans/X.md", "content": "x"})
			_, err := os.Stat(filepath.Join(s.Dir, ".fettle", "plans", "X.md"))
			require.Equal(t, tt.written, err == nil)
		})
	}
}

// inPlan allows a tool in plan mode.
func inPlan(tool string) []policy.Rule {
	return []policy.Rule{{Tools: []string{tool}, Decision: policy.Allow, Tier: policy.TierUser, Modes: []policy.ApprovalMode{policy.ModePlan}}}
}

// AR-27: a rule that allows applies in plan mode only if it names the mode; the
// built-in permissions of plan mode stay.
func TestPlanModeHasToBeNamed(t *testing.T) {
	const fetch = `{"url":"https://example.org/a"}`
	allow := func(modes string) string {
		return "[[rule]]\ntoolName = \"web_fetch\"\ndecision = \"allow\"\npriority = 100\n" + modes
	}
	project := func(text string) func(*config.Parameters) {
		return func(p *config.Parameters) {
			p.Policy.Trust = trust.Trusted
			dir := filepath.Join(p.TargetDir, ".fettle")
			require.NoError(t, os.MkdirAll(dir, 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "policies.toml"), []byte(text), 0o644))
		}
	}
	saved := func(text string) func(*config.Parameters) {
		return func(p *config.Parameters) {
			dir := filepath.Join(p.Environment.HomeDir, ".fettle", "policies")
			require.NoError(t, os.MkdirAll(dir, 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "auto-saved.toml"), []byte(text), 0o600))
		}
	}
	for name, tt := range map[string]struct {
		change func(*config.Parameters)
		plan   policy.Verdict
	}{
		"a user's rule":         {userPolicy(t, allow("")), policy.AskUser},
		"no modes":              {userPolicy(t, allow("modes = []")), policy.AskUser},
		"other modes":           {userPolicy(t, allow(`modes = ["default", "auto_edit", "yolo"]`)), policy.AskUser},
		"a user's rule, named":  {userPolicy(t, allow(`modes = ["default", "plan"]`)), policy.Allow},
		"a project's":           {project(allow("")), policy.AskUser},
		"a project's, named":    {project(allow(`modes = ["default", "plan"]`)), policy.Allow},
		"a saved one":           {saved(allow("")), policy.AskUser},
		"a saved one, named":    {saved(allow(`modes = ["default", "plan"]`)), policy.Allow},
		"of a list":             {func(p *config.Parameters) { p.Policy.AllowedTools = []string{"web_fetch"} }, policy.AskUser},
		"everything, of a list": {func(p *config.Parameters) { p.Policy.AllowedTools = []string{"*"} }, policy.AskUser},
		"the embedder's": {func(p *config.Parameters) {
			p.Policy.Rules = []policy.Rule{{Tools: []string{"*"}, Decision: policy.Allow, Tier: policy.TierAdmin, Priority: 999}}
		}, policy.AskUser},
	} {
		t.Run(name, func(t *testing.T) {
			s := configtest.New(t, tt.change)
			require.Equal(t, policy.Allow, explained(t, s.Config, "web_fetch", fetch).Decision)
			require.NoError(t, s.SetApprovalMode(policy.ModePlan))
			require.Equal(t, tt.plan, explained(t, s.Config, "web_fetch", fetch).Decision)
			require.Equal(t, policy.Allow, explained(t, s.Config, "read_file", `{"file_path":"a"}`).Decision, "by its kind")
		})
	}
	s := configtest.New(t)
	engine, err := s.Policy().Engine()
	require.NoError(t, err)
	for _, mode := range []policy.ApprovalMode{policy.ModeDefault, policy.ModePlan} {
		call, _ := policy.WellKnown("web_fetch")
		call.Params, call.Mode = []byte(fetch), mode
		rules, err := engine.Narrow(call, policy.ScopeSession)
		require.NoError(t, err)
		require.Len(t, rules, 1)
		require.NoError(t, engine.Add(rules...))
		require.NoError(t, s.SetApprovalMode(policy.ModePlan))
		want := map[policy.ApprovalMode]policy.Verdict{policy.ModeDefault: policy.AskUser, policy.ModePlan: policy.Allow}
		require.Equal(t, want[mode], explained(t, s.Config, "web_fetch", fetch).Decision, "approved in %s", mode)
	}
}
