package web_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/hub/keys"
	"github.com/fettle-dev/fettle/cli/hub/store"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/confirmation"
)

// HB-05: axe-core finds nothing serious or critical on any kind of page, in light and dark, at 320
// and 1280 pixels, and no page is wider than the window. The npm package axe-core is in the
// directory FETTLE_BENCH_NODE or in integration/dev/bench/node.
func TestAxe(t *testing.T) {
	if os.Getenv("FETTLE_FULL") == "" {
		t.Skip("runs with FETTLE_FULL=1")
	}
	packages := cmp.Or(os.Getenv("FETTLE_BENCH_NODE"), "../../../integration/dev/bench/node")
	axe, err := os.ReadFile(filepath.Join(packages, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Skip("axe-core is not installed: npm install --prefix DIR axe-core, and FETTLE_BENCH_NODE=DIR")
	}
	ctx, problems := openBrowser(t, 10*time.Minute)
	s := newSite(t)
	_, err = s.users.Add(keys.User{Name: "ann", Roles: []keys.Role{keys.Admin}})
	require.NoError(t, err)
	token, err := s.users.NewToken("ann")
	require.NoError(t, err)
	b := s.browser()
	code, text := b.post("/login", "token", token)
	require.Equal(t, http.StatusOK, code, text)
	open := chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error { // the parts that are folded
		_, err := chromedp.Run(ctx, chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("details").forEach(d => d.open = true)`))
		return err
	})
	audits := 0
	audit := func(page, path string, ready ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		for _, colours := range []string{"light", "dark"} {
			for _, width := range []int64{320, 1280} {
				at := fmt.Sprintf("%s, %s, %d pixels", page, colours, width)
				require.NoError(t, chromedp.Do(ctx, append([]chromedp.Action[chromedp.Void]{chromedp.EmulateViewport(width, 800), scheme(colours), chromedp.Navigate(s.web.URL + path), chromedp.WaitVisible("main")}, ready...)...), at)
				require.LessOrEqual(t, evaluate[int64](t, ctx, "document.scrollingElement.scrollWidth"), width, at)
				_, err := chromedp.Run(ctx, chromedp.Evaluate[chromedp.Void](string(axe)+"; undefined"))
				require.NoError(t, err)
				found := evaluate[[]string](t, ctx, `axe.run().then(r => r.violations.map(v => v.impact + " " + v.id + ": " + v.nodes.map(n => n.html).join(" ")))`)
				for _, one := range found {
					t.Log(at, one)
					require.NotRegexp(t, "^(serious|critical) ", one, at)
				}
				audits++
				picture(t, ctx, strings.ReplaceAll(fmt.Sprintf("axe-%s-%s-%d.png", page, colours, width), " ", "-"))
			}
		}
	}
	audit("sign in", "/login")
	audit("wrong token", "/login", chromedp.SendKeys("#token", "wrong"+kb.Enter), chromedp.WaitVisible(".problem"))
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(s.web.URL+"/login"), chromedp.SendKeys("#token", token+kb.Enter), chromedp.WaitVisible("#all")))
	audit("no jobs", "/")
	audit("problem", "/jobs/unknown")

	long := strings.Repeat("verylongword", 20)
	for i, j := range []store.Job{{ID: "j1", Prompt: "Make the greeting loud, and remove what is left of the build."}, {ID: "j2", Prompt: long}, {ID: "j3", Prompt: "Undo it."}, {ID: "j4", Prompt: "Fail."}} {
		j.Workspace, j.By = "app", "ann"
		require.NoError(t, s.store.Submit(t.Context(), j))
		stored, revision, err := s.store.Get(t.Context(), "app", j.ID)
		require.NoError(t, err)
		j = stored
		j.Status, j.Worker, j.Attempts = []store.Status{store.Running, store.Queued, store.Done, store.Failed}[i], "builder", 2
		j.Error = map[bool]string{true: "The model did not answer."}[j.Status == store.Failed]
		_, err = s.store.Put(t.Context(), j, revision)
		require.NoError(t, err)
		for _, l := range []store.Line{{Kind: "state", Text: "The worker builder runs the job, attempt 2."}, {Kind: "prompt", Text: j.Prompt}, {Kind: "call", Text: `read_file {"file_path": "` + long + `"}`}, {Kind: "result", Text: "read_file: success"}, {Kind: "text", Text: "I read it.\n\nThen I changed it."}, {Kind: "undo", Text: "1.1 safe_patch: greeting.go"}} {
			l.Time = s.now.AddDate(0, 0, -i)
			require.NoError(t, s.store.Log(t.Context(), "app", j.ID, l))
		}
	}
	require.NoError(t, s.bus.Publish(bus.ToolCallsUpdate{ToolCalls: []bus.ToolCallState{{CallID: "c", Name: "run_shell_command", Description: "go test ./...", Status: bus.StatusExecuting}}}))
	require.NoError(t, s.bus.Publish(bus.ToolOutput{CallID: "c", Chunk: "ok " + long + "\n"}))
	asked := []<-chan reply{
		ask(s, edit("1", "greeting.go", "--- a/greeting.go\n+++ b/greeting.go\n@@ -1,3 +1,3 @@\n package greeting\n \n-const text = \"hello\"\n+const text = \"HELLO\"\n"+strings.Repeat("+"+long+"\n", 500), "x")),
		ask(s, edit("2", "small.go", "@@ -1 +1 @@\n-a\n+b\n", "b\n")),
		ask(s, bus.ToolConfirmationRequest{CorrelationID: "3", ToolCall: bus.ToolCall{Name: "run_shell_command", Args: []byte(`{}`)}, Outcomes: []bus.Outcome{bus.ProceedOnce, bus.Cancel},
			Details: bus.Confirmation{Type: confirmation.Exec, Title: "Run a command?", ExecDetails: &confirmation.ExecDetails{Command: "go vet ./... && rm -r build", Parts: []confirmation.Part{
				{Text: "go vet ./...", Decision: confirmation.Allow, Rule: "go vet"}, {Text: "rm -r " + long, Decision: confirmation.AskUser, Reason: "It deletes files."}}}}}),
		ask(s, bus.ToolConfirmationRequest{CorrelationID: "4", ToolCall: bus.ToolCall{Name: "mcp_find", Args: []byte(`{"query": "x"}`)}, Outcomes: []bus.Outcome{bus.ProceedOnce, bus.Cancel},
			Details: bus.Confirmation{Type: confirmation.MCP, Title: "Call a tool?", MCPDetails: &confirmation.MCPDetails{ServerName: "files", ToolName: "find"}}}),
		ask(s, bus.AskUserRequest{CorrelationID: "5", Questions: []bus.UserQuestion{
			{Question: "Which?", Type: bus.QuestionChoice, Options: []bus.UserOption{{Label: "red", Description: "like a rose"}, {Label: "blue"}}},
			{Question: "Which ones?", Type: bus.QuestionChoice, MultiSelect: true, Options: []bus.UserOption{{Label: "one"}, {Label: "two"}}},
			{Question: "Sure?", Type: bus.QuestionYesNo}, {Question: "Name?", Type: bus.QuestionText, Placeholder: "such as app"},
		}}),
	}
	page := b.shown("/", fmt.Sprintf("Open questions: %d", len(asked)))
	audit("all questions", "/", open)
	audit("running job", "/jobs/j1")
	audit("long job", "/jobs/j2")
	audit("ended job", "/jobs/j3")
	audit("failed job", "/jobs/j4")
	audit("large question", "/question/"+digestOf(page))
	require.Empty(t, unexpected(problems()))
	t.Logf("%d audits", audits)
}

// unexpected omits the responses that the test provokes.
func unexpected(all []string) (left []string) {
	for _, one := range all {
		if !strings.Contains(one, fmt.Sprint(http.StatusNotFound)) && !strings.Contains(one, fmt.Sprint(http.StatusForbidden)) {
			left = append(left, one)
		}
	}
	return left
}
