package outfile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/script"
	"github.com/fettle-dev/fettle/core/telemetry"
)

// failures keeps the errors of OnError.
type failures struct {
	mu   sync.Mutex
	list []error
}

func (f *failures) add(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, err)
}

// record records n spans and n measurements.
func record(t *testing.T, p *Providers, n int) {
	t.Helper()
	counter, err := p.MeterProvider().Meter("test").Int64Counter("things")
	require.NoError(t, err)
	for i := range n {
		_, span := p.TracerProvider().Tracer("test").Start(t.Context(), fmt.Sprint("span ", i))
		span.End()
		counter.Add(t.Context(), 1)
	}
}

// lines returns the content of a file: each line is an object.
func lines(t *testing.T, path string) (spans, metrics []map[string]any) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, bytes.HasSuffix(text, []byte("\n")))
	for line := range strings.Lines(string(text)) {
		var object map[string]any
		if json.Unmarshal([]byte(line), &object) != nil {
			continue
		}
		if object["SpanContext"] != nil {
			spans = append(spans, object)
		}
		if object["ScopeMetrics"] != nil {
			metrics = append(metrics, object)
		}
	}
	return spans, metrics
}

// After Shutdown the file has a line for each record, with its resource. Only its owner can read
// it, and it exists from the first line on.
func TestWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "telemetry.jsonl")
	var reported failures
	p, err := New(Options{Path: path, Traces: true, Resource: []attribute.KeyValue{attribute.String("service.name", "fettle")}, OnError: reported.add})
	require.NoError(t, err)
	require.NoFileExists(t, path)
	record(t, p, 3)
	require.NoError(t, p.Shutdown(t.Context()))
	spans, metrics := lines(t, path)
	require.Len(t, spans, 3)
	require.Equal(t, "span 0", spans[0]["Name"])
	require.Contains(t, fmt.Sprint(spans[0]["Resource"]), "fettle")
	require.Len(t, metrics, 1)
	require.Contains(t, fmt.Sprint(metrics[0]), "things")
	if runtime.GOOS != "windows" {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), info.Mode())
	}

	require.NoError(t, p.Shutdown(t.Context()), "again")
	record(t, p, 1) // is dropped
	again, _ := lines(t, path)
	require.Len(t, again, 3)
	require.Empty(t, reported.list)
}

// Records are appended, also after a process that was killed within a line.
func TestAppends(t *testing.T) {
	path := filepath.Join(t.TempDir(), "telemetry.jsonl")
	require.NoError(t, os.WriteFile(path, []byte("{\"a\":1}\n{\"torn"), 0o600))
	for range 2 {
		p, err := New(Options{Path: path, Traces: true})
		require.NoError(t, err)
		record(t, p, 1)
		require.NoError(t, p.Shutdown(t.Context()))
	}
	spans, metrics := lines(t, path)
	require.Len(t, spans, 2)
	require.Len(t, metrics, 2)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(text, []byte("{\"a\":1}\n{\"torn\n{")))
}

// A complete conversation is in the file, without its content.
func TestConversation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "telemetry.jsonl")
	p, err := New(Options{Path: path, Traces: true})
	require.NoError(t, err)
	reported, err := telemetry.New(telemetry.Options{TracerProvider: p.TracerProvider(), MeterProvider: p.MeterProvider()})
	require.NoError(t, err)
	turns, err := script.Parse("test.json", []byte(`{"turns": [{"text": "An answer."}]}`))
	require.NoError(t, err)
	c, err := agent.New(agent.Options{Source: model.Always(script.New(turns, script.Options{})), Model: func() string { return "script:demo" }, Observer: reported})
	require.NoError(t, err)
	var last agent.Event
	for last = range c.Run(t.Context(), model.TextPart("A question.")) {
		continue
	}
	require.Equal(t, agent.EventDone, last.Type)
	require.NoError(t, p.Shutdown(t.Context()))
	spans, metrics := lines(t, path)
	var names []any
	for _, s := range spans {
		names = append(names, s["Name"])
	}
	require.Equal(t, []any{"chat demo", "turn", "invoke_agent fettle"}, names)
	require.Len(t, metrics, 1)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "gen_ai.client.token.usage")
	require.NotContains(t, string(text), "A question.")
	require.NotContains(t, string(text), "An answer.")
}

func TestWithoutTraces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "telemetry.jsonl")
	p, err := New(Options{Path: path})
	require.NoError(t, err)
	record(t, p, 2)
	require.NoError(t, p.Shutdown(t.Context()))
	spans, metrics := lines(t, path)
	require.Empty(t, spans)
	require.Len(t, metrics, 1)
}

// Without a record there is no file.
func TestNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "telemetry.jsonl")
	p, err := New(Options{Path: path, Traces: true})
	require.NoError(t, err)
	require.NoError(t, p.Shutdown(t.Context()))
	if text, err := os.ReadFile(path); err == nil {
		require.NotContains(t, string(text), "SpanContext")
	}
	_, err = New(Options{})
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
}

// full is a disk that is full after some bytes.
type full struct {
	room   int
	writes int
}

func (f *full) Write(b []byte) (int, error) {
	f.writes++
	if len(b) > f.room {
		return f.room, &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	}
	f.room -= len(b)
	return len(b), nil
}

func (f *full) Close() error { return nil }

// A file error is reported once and not printed, and nothing is written afterwards.
func TestFailures(t *testing.T) {
	var printed bytes.Buffer
	log.SetOutput(&printed)
	defer log.SetOutput(os.Stderr)
	dir := t.TempDir()
	disk := &full{room: 10}
	tests := map[string]struct {
		path string
		open func(string) (io.WriteCloser, error)
		want fault.Code
	}{
		"no directory": {filepath.Join(dir, "none", "file"), openFile, fault.FileWriteFailure},
		"a directory":  {dir, openFile, fault.NotARegularFile},
		"a full disk":  {"x", func(string) (io.WriteCloser, error) { return disk, nil }, fault.NoSpaceLeft},
		"not allowed":  {"x", func(string) (io.WriteCloser, error) { return nil, fs.ErrPermission }, fault.PermissionDenied},
		"closed early": {"x", func(string) (io.WriteCloser, error) { return closed(t, dir), nil }, fault.FileWriteFailure},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var reported failures
			p, err := newProviders(Options{Traces: true, OnError: func(err error) { reported.add(err); panic("a mistake of the host's") }},
				&file{path: tt.path, open: tt.open})
			require.NoError(t, err)
			record(t, p, 5)
			err = p.Shutdown(t.Context())
			require.Equal(t, tt.want, fault.CodeOf(err))
			require.NotEmpty(t, fault.As(err).Remedy)
			require.Equal(t, []error{err}, reported.list)
		})
	}
	require.Equal(t, 1, disk.writes)
	require.Empty(t, printed.String())
}

// closed returns a closed file.
func closed(t *testing.T, dir string) *os.File {
	f, err := os.Create(filepath.Join(dir, "closed"))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	return f
}

// stuck is a file whose writes block.
type stuck struct{ release chan struct{} }

func (s stuck) Write(b []byte) (int, error) { <-s.release; return len(b), nil }
func (s stuck) Close() error                { return nil }

// Shutdown keeps its time limit for any behaviour of the file, and ends with ctx.
func TestShutdownIsBounded(t *testing.T) {
	for name, end := range map[string]time.Duration{"by itself": 0, "by its context": time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				var reported failures
				p, err := newProviders(Options{Traces: true, OnError: reported.add},
					&file{open: func(string) (io.WriteCloser, error) { return stuck{release}, nil }})
				require.NoError(t, err)
				record(t, p, 1)
				ctx, want := t.Context(), shutdownTime
				if end != 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, end)
					defer cancel()
					want = end
				}
				begun := time.Now()
				err = p.Shutdown(ctx)
				require.Equal(t, want, time.Since(begun))
				require.Equal(t, fault.Cancelled, fault.CodeOf(err))
				require.True(t, errors.Is(err, context.DeadlineExceeded))
				close(release)
				synctest.Wait() // all goroutines have ended, or the test fails
				require.Equal(t, []error{err}, reported.list)
			})
		})
	}
}

// Metrics are written at intervals, so that a killed session leaves some.
func TestInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "telemetry.jsonl")
		p, err := New(Options{Path: path, Traces: true})
		require.NoError(t, err)
		record(t, p, 1)
		time.Sleep(defaultInterval + time.Second)
		synctest.Wait()
		spans, metrics := lines(t, path)
		require.Len(t, spans, 1)
		require.Len(t, metrics, 1)
		require.NoError(t, p.Shutdown(t.Context()))
	})
}
