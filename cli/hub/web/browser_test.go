package web_test

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/hub/keys"
	"github.com/fettle-dev/fettle/cli/hub/store"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/confirmation"
)

var pictures = flag.String("pictures", "", "write pictures of the page to a `directory`")

// openBrowser starts Chromium. Errors of the page are collected.
func openBrowser(t *testing.T, limit time.Duration) (ctx context.Context, problems func() []string) {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed")
	}
	var mu sync.Mutex
	var found []string
	listen := func(e any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := e.(type) {
		case *runtime.EventExceptionThrown:
			found = append(found, e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			if e.Entry.Level == log.EntryLevelError && !strings.Contains(e.Entry.URL, "favicon") {
				found = append(found, e.Entry.Text+" "+e.Entry.URL)
			}
		}
	}
	ctx, end := chromedp.NewContext(t.Context(), chromedp.WithErrorf(func(string, ...any) {}), chromedp.WithListener(listen),
		chromedp.WithAllocatorOptions(chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir())))
	t.Cleanup(func() { _ = chromedp.Cancel(ctx); end() })
	require.NoError(t, chromedp.Do(ctx)) // the browser lives as long as this context, which has no limit
	limited, cancel := context.WithTimeout(ctx, limit)
	t.Cleanup(cancel)
	return limited, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return found
	}
}

// evaluate returns the value of an expression of the page.
func evaluate[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(t, err)
	return v
}

// picture keeps a picture of the page.
func picture(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	if *pictures == "" {
		return
	}
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(*pictures, name), png, 0o644))
}

func scheme(name string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
		return err
	})
}

// HB-05: in a browser, a user signs in, sees a question as soon as it is asked, and answers it by
// keyboard alone; the page fits 320 pixels, and follows dark and light.
func TestBrowser(t *testing.T) {
	ctx, problems := openBrowser(t, time.Minute)
	s := newSite(t)
	_, err := s.users.Add(keys.User{Name: "ann", Roles: []keys.Role{keys.Admin}})
	require.NoError(t, err)
	token, err := s.users.NewToken("ann")
	require.NoError(t, err)
	require.NoError(t, s.store.Submit(t.Context(), store.Job{ID: "j1", Workspace: "app", Prompt: "Make the greeting loud, and remove what is left of the build.", By: "ann"}))
	for _, l := range []store.Line{{Kind: "prompt", Text: "Make the greeting loud."}, {Kind: "call", Text: `read_file {"file_path": "greeting.go"}`}, {Kind: "text", Text: "I read it."}, {Kind: "undo", Text: "1.1 safe_patch: greeting.go"}} {
		l.Time = s.now
		require.NoError(t, s.store.Log(t.Context(), "app", "j1", l))
	}
	require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(1000, 900), scheme("light"),
		chromedp.Navigate(s.web.URL), chromedp.WaitVisible("#token"), chromedp.SendKeys("#token", token+kb.Enter), chromedp.WaitVisible("#all")))

	asked := ask(s, edit("1", "greeting.go", "--- a/greeting.go\n+++ b/greeting.go\n@@ -1,3 +1,3 @@\n package greeting\n \n-const text = \"hello\"\n+const text = \"HELLO\"\n", "package greeting\n\nconst text = \"HELLO\"\n"))
	require.NoError(t, chromedp.Do(ctx, chromedp.WaitVisible(".question"))) // without a reload
	picture(t, ctx, "hub-question.png")
	require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(320, 640)))
	require.LessOrEqual(t, evaluate[int](t, ctx, "document.scrollingElement.scrollWidth"), 320)
	press(t, ctx, "proceed_once")
	got := <-asked
	require.NoError(t, got.err)
	require.Equal(t, bus.ProceedOnce, got.answer.(bus.ToolConfirmationResponse).Outcome)

	command := ask(s, bus.ToolConfirmationRequest{CorrelationID: "2", ToolCall: bus.ToolCall{Name: "run_shell_command", Args: []byte(`{}`)}, Outcomes: []bus.Outcome{bus.ProceedOnce, bus.Cancel},
		Details: bus.Confirmation{Type: confirmation.Exec, Title: "Run a command?", ExecDetails: &confirmation.ExecDetails{Command: "go vet ./... && rm -r build", Parts: []confirmation.Part{
			{Text: "go vet ./...", Decision: confirmation.Allow, Rule: "go vet"}, {Text: "rm -r build", Decision: confirmation.AskUser, Reason: "It deletes files."}}}}})
	require.NoError(t, chromedp.Do(ctx, scheme("dark"), chromedp.WaitVisible(".command")))
	require.Equal(t, "rgb(22, 22, 26)", evaluate[string](t, ctx, "getComputedStyle(document.body).backgroundColor"))
	picture(t, ctx, "hub-dark-320.png")
	press(t, ctx, "cancel")
	require.Equal(t, bus.Cancel, (<-command).answer.(bus.ToolConfirmationResponse).Outcome)

	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(s.web.URL+"/jobs/j1"), chromedp.WaitVisible("#line")))
	require.LessOrEqual(t, evaluate[int](t, ctx, "document.scrollingElement.scrollWidth"), 320)
	require.Empty(t, problems())
}

// press goes to the button with a value by the tabulator, presses it, and waits for the page that follows.
func press(t *testing.T, ctx context.Context, value string) {
	t.Helper()
	for range 60 {
		require.NoError(t, chromedp.Do(ctx, chromedp.KeyEvent(kb.Tab)))
		if evaluate[string](t, ctx, "document.activeElement.value || ''") == value {
			_, err := chromedp.RunResponse(ctx, chromedp.KeyEvent(kb.Enter))
			require.NoError(t, err)
			return
		}
	}
	require.Fail(t, "no button", value)
}
