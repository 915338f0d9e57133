package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/redact"
)

// impatient opens sessions that wait for nothing before they ask again.
func impatient(ctx context.Context, o sessionOptions) (session, error) {
	adjust := o.adjust
	o.adjust = func(p *config.Parameters) {
		adjust(p)
		p.Conversation.Retry = agent.Retry{First: 1, StreamFirst: 1, Longest: 1}
	}
	return openConfig(ctx, o)
}

// talk runs a command line in a project of its own, against a server that speaks
// as OpenAI's does.
func chatWith(t *testing.T, stdout io.Writer, serve http.HandlerFunc, args ...string) (code int, stderr string) {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	home, project := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("OPENAI_BASE_URL", server.URL+"/v1")
	t.Setenv("OPENAI_API_KEY", "sk-of-the-test")
	require.NoError(t, os.WriteFile(filepath.Join(project, "f.txt"), []byte("one\n"), 0o644))
	var errs bytes.Buffer
	p := &program{in: strings.NewReader(""), out: stdout, err: &errs, open: impatient}
	code = p.run(t.Context(), append([]string{"--cwd", project, "-m", "openai:test-model"}, args...))
	return code, errs.String()
}

func delta(text string) string {
	chunk, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"content": text}}}})
	return "data: " + string(chunk) + "\n\n"
}

const done = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"

// A key that a provider repeats in its error is masked on stderr and in the JSON forms,
// also where it does not look like one.
func TestErrorsHoldNoKeys(t *testing.T) {
	require.Equal(t, "sk-of-the-test", redact.Text("sk-of-the-test"), "the test shows nothing")
	for _, format := range []string{formatText, formatJSON, formatStream} {
		t.Run(format, func(t *testing.T) {
			var out bytes.Buffer
			code, errs := chatWith(t, &out, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `{"error":{"message":"the key sk-of-the-test has no credit"}}`)
			}, "-p", "x", "-o", format)
			require.NotZero(t, code)
			require.Contains(t, errs+out.String(), "[masked]")
			require.NotContains(t, errs+out.String(), "sk-of-the-test")
		})
	}
}

// Without a session it is the environment's keys that errors do not hold.
func TestErrorsWithoutSession(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-of-the-test")
	var errs bytes.Buffer
	p := &program{in: strings.NewReader(""), out: io.Discard, err: &errs}
	require.Equal(t, int(exitUsage), p.run(t.Context(), []string{"sk-of-the-test"}))
	require.Contains(t, errs.String(), "[masked]")
	require.NotContains(t, errs.String(), "sk-of-the-test")
}

// A provider that is busy, then fails, then breaks off, then answers well: the
// answer shows once, and stderr tells what happened.
func TestHeadlessRetries(t *testing.T) {
	for _, format := range []string{formatText, formatJSON, formatStream} {
		t.Run(format, func(t *testing.T) {
			n := 0
			serve := func(w http.ResponseWriter, _ *http.Request) {
				n++
				switch n {
				case 1:
					w.WriteHeader(http.StatusTooManyRequests)
					_, _ = io.WriteString(w, `{"error":{"message":"busy"}}`)
				case 2:
					w.WriteHeader(http.StatusInternalServerError)
				case 3:
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, delta("Half an ans"))
					_ = http.NewResponseController(w).Flush()
					panic(http.ErrAbortHandler)
				default:
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, delta("A whole ")+delta("answer.")+done)
				}
			}
			var out bytes.Buffer
			code, stderr := chatWith(t, &out, serve, "-o", format, "-p", "Hi")
			require.Zero(t, code, stderr)
			require.Equal(t, 3, strings.Count(stderr, "The model is asked again in"), stderr)
			switch format {
			case formatText:
				require.Equal(t, "A whole answer.\n", out.String())
			case formatJSON:
				var a struct {
					Response string
					Warnings []string
					Stats    struct {
						Models map[string]struct {
							API struct {
								Requests int            `json:"totalRequests"`
								Errors   int            `json:"totalErrors"`
								ByType   map[string]int `json:"errorsByType"`
							}
						}
					}
				}
				require.NoError(t, json.Unmarshal(out.Bytes(), &a))
				require.Equal(t, "A whole answer.", a.Response)
				require.Len(t, a.Warnings, 3)
				api := a.Stats.Models["test-model"].API
				require.Equal(t, 4, api.Requests)
				require.Equal(t, 3, api.Errors)
				require.Equal(t, map[string]int{"rate_limited": 1, "unavailable": 1, "connection": 1}, api.ByType)
			case formatStream:
				require.Equal(t, 3, strings.Count(out.String(), `"severity":"warning"`))
				void := strings.LastIndex(out.String(), `"severity":"warning"`)
				require.Greater(t, void, strings.Index(out.String(), "Half an ans"))
				require.Less(t, void, strings.Index(out.String(), "A whole "), "what is told before the warning is void")
			}
		})
	}
}

// A model that says nothing, as often as it is asked: 1.
func TestHeadlessSaysNothing(t *testing.T) {
	n := 0
	var out bytes.Buffer
	code, stderr := chatWith(t, &out, func(w http.ResponseWriter, _ *http.Request) {
		n++
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, done)
	}, "-o", "json", "-p", "Hi")
	require.Equal(t, 1, code, stderr)
	require.Equal(t, 4, n)
	require.Contains(t, out.String(), `"type": "invalid_stream"`)
	require.Contains(t, out.String(), `"response": ""`)
}

// brokenPipe is stdout whose reader has gone.
type brokenPipe struct{ err error }

func (b brokenPipe) Write([]byte) (int, error) { return 0, fmt.Errorf("write stdout: %w", b.err) }

// A reader that leaves ends the run well; a disk that is full does not.
func TestHeadlessWriteFails(t *testing.T) {
	serve := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, delta("Hello.")+done)
	}
	code, stderr := chatWith(t, brokenPipe{syscall.EPIPE}, serve, "-o", "stream-json", "-p", "Hi")
	require.Zero(t, code, stderr)
	require.Empty(t, stderr)
	code, stderr = chatWith(t, brokenPipe{errors.New("no space left")}, serve, "-p", "Hi")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "no space left")
}

// How a prompt ends decides the exit code.
func TestEnded(t *testing.T) {
	failed := func(code fault.Code) *fault.Error { return fault.New(code, "test", "It failed.", "") }
	for name, tt := range map[string]struct {
		last agent.Event
		want exitCode
	}{
		"done":           {agent.Event{Type: agent.EventDone}, exitDone},
		"stopped":        {agent.Event{Type: agent.EventStopped, Text: "by a hook"}, exitDone},
		"blocked":        {agent.Event{Type: agent.EventBlocked, Text: "by a hook"}, exitToolError},
		"cancelled":      {agent.Event{Type: agent.EventCancelled}, exitInterrupted},
		"model error":    {agent.Event{Type: agent.EventError, Err: failed(fault.ModelError)}, exitToolError},
		"no model":       {agent.Event{Type: agent.EventError, Err: failed(fault.InvalidConfig)}, exitConfig},
		"turns or time":  {agent.Event{Type: agent.EventLimit, Err: failed(fault.LimitReached)}, exitLimit},
		"tokens":         {agent.Event{Type: agent.EventOverflow, Err: failed(fault.LimitReached)}, exitLimit},
		"loop":           {agent.Event{Type: agent.EventLoop, Err: failed(fault.LoopDetected)}, exitToolError},
		"invalid stream": {agent.Event{Type: agent.EventInvalidStream, Err: failed(fault.InvalidStream)}, exitToolError},
		"in between":     {agent.Event{Type: agent.EventError, Err: failed(fault.Cancelled)}, exitInterrupted},
	} {
		t.Run(name, func(t *testing.T) {
			err := ended(tt.last, nil)
			if tt.want == exitDone {
				require.NoError(t, err)
				return
			}
			_, code := failureOf(err)
			require.Equal(t, tt.want, code)
		})
	}
}

// Of several answers JSON has the last, and of one that ended in the middle
// nothing; text has each that came whole.
func TestReportersKeepWholeAnswers(t *testing.T) {
	said := []agent.Event{
		{Type: agent.EventText, Text: "First."}, {Type: agent.EventFinished},
		{Type: agent.EventText, Text: "Void"}, {Type: agent.EventRetry},
		{Type: agent.EventText, Text: "Sec"}, {Type: agent.EventText, Text: "ond.\n"}, {Type: agent.EventFinished},
		{Type: agent.EventText, Text: "Cut"},
	}
	for format, want := range map[string]string{formatText: "First.\nSecond.\n", formatJSON: `"response": "Second.\n"`} {
		var out bytes.Buffer
		r := newReporter(format, &out, false, newStatistics(), redact.Text)
		r.begin(beginning{session: "s"})
		for _, e := range said {
			r.event(e)
		}
		r.end(interrupted())
		require.Contains(t, out.String(), strings.TrimSpace(want[:len(want)-1]))
		require.NotContains(t, out.String(), "Void")
		require.NotContains(t, out.String(), "Cut")
	}
}

// silent is stdin on which nothing comes until the test ends.
type silent struct{ end <-chan struct{} }

func (s silent) Read([]byte) (int, error) { <-s.end; return 0, io.EOF }

// Stdin has half a second for its first byte, and as long as it likes for the
// rest; what is too long or no text is told.
func TestReadPrompt(t *testing.T) {
	slow := func() io.Reader {
		r, w := io.Pipe()
		go func() {
			time.Sleep(stdinWait / 2)
			_, _ = w.Write([]byte("a"))
			time.Sleep(time.Hour)
			_, _ = w.Write([]byte("b\n"))
			_ = w.Close()
		}()
		return r
	}
	for name, tt := range map[string]struct {
		stdin       io.Reader
		text        string
		piped, want string
		notices     int
		err         bool
	}{
		"both":      {stdin: strings.NewReader("diff\n\n"), text: "Review.", piped: "diff", want: "diff\n\nReview."},
		"text":      {stdin: strings.NewReader(""), text: "Review.", want: "Review."},
		"stdin":     {stdin: strings.NewReader("Do it.\n"), want: "Do it."},
		"nothing":   {stdin: strings.NewReader(" \n"), err: true},
		"no text":   {stdin: strings.NewReader("a\xffb"), want: "a\uFFFDb", notices: 1},
		"too long":  {stdin: strings.NewReader(strings.Repeat("é", stdinMost/2) + "é"), text: "x", piped: strings.Repeat("é", stdinMost/2), want: strings.Repeat("é", stdinMost/2) + "\n\nx", notices: 1},
		"cut right": {stdin: strings.NewReader("a" + strings.Repeat("é", stdinMost/2)), text: "x", piped: "a" + strings.Repeat("é", stdinMost/2-1), want: "a" + strings.Repeat("é", stdinMost/2-1) + "\n\nx", notices: 1},
		"closed":    {stdin: closedStdin{}, text: "x", want: "x"},
	} {
		t.Run(name, func(t *testing.T) {
			in, err := (&program{in: tt.stdin}).readPrompt(t.Context(), tt.text)
			if tt.err {
				require.ErrorIs(t, err, errNoPrompt)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.piped, in.piped)
			require.Equal(t, tt.want, in.whole())
			require.Len(t, in.notices, tt.notices)
		})
	}
	t.Run("slow", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			in, err := (&program{in: slow()}).readPrompt(t.Context(), "x")
			require.NoError(t, err)
			require.Equal(t, "ab\n\nx", in.whole())
		})
	})
	t.Run("silent", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			end := make(chan struct{})
			defer close(end)
			begun := time.Now()
			in, err := (&program{in: silent{end}}).readPrompt(t.Context(), "x")
			require.NoError(t, err)
			require.Equal(t, "x", in.whole())
			require.Equal(t, stdinWait, time.Since(begun))
		})
	})
}

// closedStdin is a closed stdin.
type closedStdin struct{}

func (closedStdin) Read([]byte) (int, error) { return 0, os.ErrClosed }

func TestAgeOf(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"": 0, "5h": 5 * time.Hour, "30d": 30 * day, "2w": 14 * day, "1m": 30 * day, "99999999999m": longestAge, "99999999999999999999d": 0,
	} {
		require.Equal(t, want, ageOf(text), text)
	}
	require.Equal(t, 7, retentionOf(settings.SessionRetention{MaxCount: 7}).MaxCount)
}

// CF-08: the debug log shows no secret, also where quoting has changed it, and
// one that became known later.
func TestLogIsMasked(t *testing.T) {
	var out bytes.Buffer
	hide := &redact.Masker{}
	hide.Add("short", "sk-0123456789", "line\nof \"two\"")
	log := slog.New(slog.NewTextHandler(redact.NewWriter(&out, hide.Text), nil))
	log.Info("a sk-0123456789 b", "key", "line\nof \"two\" and short")
	hide.Add("another-one")
	log.Info("another-one")
	require.Contains(t, out.String(), `msg="a [masked] b"`)
	require.Contains(t, out.String(), `key="[masked] and short"`)
	require.NotContains(t, out.String(), "another-one")
	hide.Add("another-one-that-is-longer")
	require.Equal(t, redact.Mark, hide.Text("another-one-that-is-longer"), "no rest of it stays where another secret begins alike")
}

// Tokens of a cache are part of the prompt's and not of the input's; roles add up
// to their model.
func TestStatistics(t *testing.T) {
	s := newStatistics()
	for _, purpose := range []model.Purpose{"", model.PurposeSubagent} {
		_, end := s.Request(t.Context(), agent.RequestInfo{Request: &model.Request{Model: "m", Purpose: purpose}})
		end(agent.RequestEnd{Response: &model.Response{Usage: model.Usage{Input: 10, Cached: 4, Output: 3, Thoughts: 2}}})
	}
	_, end := s.Request(t.Context(), agent.RequestInfo{Request: &model.Request{Model: "m"}})
	end(agent.RequestEnd{Err: &model.Error{Kind: model.RateLimited}})
	m := s.Models["m"]
	require.Equal(t, tokenStatistics{Input: 12, Prompt: 20, Candidates: 6, Total: 30, Cached: 8, Thoughts: 4}, m.Tokens)
	require.Equal(t, 3, m.API.Requests)
	require.Equal(t, 2, m.Roles["main"].Requests)
	require.Equal(t, 1, m.Roles["main"].Errors)
	require.Equal(t, 15, m.Roles["subagent"].Tokens.Total)
	require.Equal(t, streamTokens{Total: 30, Prompt: 20, Output: 6, Cached: 8, Input: 12}, s.stream().streamTokens)
}

// What requests told of tools: the most of one, and the bytes of all.
func TestDeclarationStatistics(t *testing.T) {
	s := newStatistics()
	one := model.Tool{Name: "a", Description: "bc", Parameters: []byte("{}")} // 5 bytes
	for _, r := range []*model.Request{{Tools: []model.Tool{one}, Deferred: 9}, {Tools: []model.Tool{one, one}, Deferred: 8}, {}} {
		_, end := s.Request(t.Context(), agent.RequestInfo{Request: r})
		end(agent.RequestEnd{Err: &model.Error{Kind: model.RateLimited}})
	}
	require.Equal(t, declarationStatistics{MaxTools: 2, MaxBytes: 10, TotalBytes: 15, MaxDeferred: 9}, s.Tools.Declarations)
	require.Equal(t, 15, s.stream().Declared)
	require.Equal(t, 9, s.stream().Deferred)
}
