package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// The script holds no hash: each one is copied from an answer when it is used.
func TestDemoScriptHasNoHash(t *testing.T) {
	for _, turn := range demoScript() {
		for key, v := range turn.args {
			_, isQuoted := v.(quoted)
			require.Equal(t, key == "base_content_sha256", isQuoted, turn.title)
		}
	}
}

// Ctrl-C in the middle: 130, and the scratch folder is gone.
func TestDemoInterrupted(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	ctx, cancel := context.WithCancel(t.Context())
	p := &program{out: writerFunc(func(data []byte) (int, error) {
		cancel()
		entries, err := os.ReadDir(tmp)
		require.NoError(t, err)
		require.Len(t, entries, 1, "the scratch folder is where this test looks for it")
		return len(data), nil
	}), err: io.Discard, open: openConfig}
	require.Equal(t, 130, p.run(ctx, []string{"demo"}))
	entries, err := os.ReadDir(tmp)
	require.NoError(t, err)
	require.Empty(t, entries)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(data []byte) (int, error) { return f(data) }

// The demo cannot end well unless the tools do what they must.
func TestDemoTellsTheTruth(t *testing.T) {
	for name, tamper := range map[string]func(session, scheduler.Request, scheduler.Response) scheduler.Response{
		"a refusal that does not come": func(_ session, r scheduler.Request, resp scheduler.Response) scheduler.Response {
			if r.Tool == "write_file" {
				resp.Result.Error = nil
			}
			return resp
		},
		"another refusal": func(_ session, _ scheduler.Request, resp scheduler.Response) scheduler.Response {
			if resp.Result.Error != nil {
				resp.Result.Error = fault.New(fault.InvalidDiff, "test", "Something else.", "")
			}
			return resp
		},
		"content in the answer about the unread file": func(_ session, r scheduler.Request, resp scheduler.Response) scheduler.Response {
			if bytes.Contains(r.Args, []byte("ledger.csv")) {
				resp.Result.LLMContent = tools.Text("2026-03-02,milk,9,1080")
			}
			return resp
		},
		"a file that changed in silence": func(s session, r scheduler.Request, resp scheduler.Response) scheduler.Response {
			if r.Tool == "write_file" {
				target := s.(*configSession).config.TargetDir()
				_ = os.WriteFile(filepath.Join(target, "settings.ini"), []byte("[shop]\n"), 0o644)
			}
			return resp
		},
		"a file too many": func(s session, _ scheduler.Request, resp scheduler.Response) scheduler.Response {
			target := s.(*configSession).config.TargetDir()
			_ = os.WriteFile(filepath.Join(target, "leftover"), nil, 0o644)
			return resp
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out, stderr bytes.Buffer
			p := &program{out: &out, err: &stderr, open: func(ctx context.Context, o sessionOptions) (session, error) {
				s, err := openConfig(ctx, o)
				return &tampered{s, tamper}, err
			}}
			require.Equal(t, 1, p.run(t.Context(), []string{"demo"}), out.String())
			require.Contains(t, out.String(), "NO ")
			require.Contains(t, stderr.String(), "did not end as it must")
		})
	}
}

type tampered struct {
	session
	tamper func(session, scheduler.Request, scheduler.Response) scheduler.Response
}

func (s *tampered) Run(ctx context.Context, r scheduler.Request) scheduler.Response {
	return s.tamper(s.session, r, s.session.Run(ctx, r))
}

func TestDemoColours(t *testing.T) {
	var plain, coloured bytes.Buffer
	for out, colour := range map[*bytes.Buffer]bool{&plain: false, &coloured: true} {
		d := demoPrinter{out, "/scratch", colour}
		require.NoError(t, d.Begin(1))
		require.NoError(t, d.Step(demoStep{Step: 1, Title: "Title", Scripted: "words", Expected: true, Answer: &answer{
			Tool: "safe_patch", Display: &tools.Display{Diff: &tools.FileDiff{FileDiff: "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n"}}}}))
		require.NoError(t, d.End(demoSummary{Prevented: []demoRow{{Step: 1, What: "loss", Held: true}}}))
	}
	require.NotContains(t, plain.String(), "\x1b")
	require.Contains(t, coloured.String(), string(styleGreen)+"+b")
	var stripped = coloured.String()
	for _, st := range []style{styleBold, styleDim, styleRed, styleGreen, styleCyan, styleReset} {
		stripped = strings.ReplaceAll(stripped, string(st), "")
	}
	require.Equal(t, plain.String(), stripped, "colour adds nothing but colour")
}
