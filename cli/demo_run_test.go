package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/cli/internal/providers"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// Ctrl-C in the middle: exit code 130, and the scratch directory is removed.
func TestDemoInterrupted(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	ctx, cancel := context.WithCancel(t.Context())
	p := &program.Program{Out: writerFunc(func(data []byte) (int, error) {
		cancel()
		entries, err := os.ReadDir(tmp)
		require.NoError(t, err)
		require.Len(t, entries, 1, "the scratch directory is where this test looks for it")
		return len(data), nil
	}), Err: io.Discard, Open: program.Open, Providers: providers.All{}}
	require.Equal(t, 130, execute(ctx, p, []string{"demo"}))
	entries, err := os.ReadDir(tmp)
	require.NoError(t, err)
	require.Empty(t, entries)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(data []byte) (int, error) { return f(data) }

// The demo fails unless the tools work.
func TestDemoTellsTheTruth(t *testing.T) {
	for name, tamper := range map[string]func(program.Session, scheduler.Request, scheduler.Response) scheduler.Response{
		"a refusal that does not come": func(_ program.Session, r scheduler.Request, resp scheduler.Response) scheduler.Response {
			if r.Tool == "write_file" {
				resp.Result.Error = nil
			}
			return resp
		},
		"another refusal": func(_ program.Session, _ scheduler.Request, resp scheduler.Response) scheduler.Response {
			if resp.Result.Error != nil {
				resp.Result.Error = fault.New(fault.InvalidDiff, "test", "Something else.", "")
			}
			return resp
		},
		"content in the answer about the unread file": func(_ program.Session, r scheduler.Request, resp scheduler.Response) scheduler.Response {
			if bytes.Contains(r.Args, []byte("ledger.csv")) {
				resp.Result.LLMContent = tools.Text("2026-03-02,milk,9,1080")
			}
			return resp
		},
		"a file that changed in silence": func(s program.Session, r scheduler.Request, resp scheduler.Response) scheduler.Response {
			if r.Tool == "write_file" {
				target := s.Config().TargetDir()
				_ = os.WriteFile(filepath.Join(target, "settings.ini"), []byte("[shop]\n"), 0o644)
			}
			return resp
		},
		"a file too many": func(s program.Session, _ scheduler.Request, resp scheduler.Response) scheduler.Response {
			target := s.Config().TargetDir()
			_ = os.WriteFile(filepath.Join(target, "leftover"), nil, 0o644)
			return resp
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out, stderr bytes.Buffer
			p := &program.Program{Out: &out, Err: &stderr, Providers: providers.All{}, Open: func(ctx context.Context, o program.SessionOptions) (program.Session, error) {
				s, err := program.Open(ctx, o)
				return &tampered{s, tamper}, err
			}}
			require.Equal(t, 1, execute(t.Context(), p, []string{"demo"}), out.String())
			require.Contains(t, out.String(), "NO ")
			require.Contains(t, stderr.String(), "did not end as expected")
		})
	}
}

type tampered struct {
	program.Session
	tamper func(program.Session, scheduler.Request, scheduler.Response) scheduler.Response
}

func (s *tampered) Run(ctx context.Context, r scheduler.Request) scheduler.Response {
	return s.tamper(s.Session, r, s.Session.Run(ctx, r))
}
