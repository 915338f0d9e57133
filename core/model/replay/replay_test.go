package replay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/replay"
)

// scripted is a Generator of fixed responses, one for each request.
type scripted struct {
	mu       sync.Mutex
	answers  [][]*model.Chunk
	errs     []error // after the chunks of the same response
	requests int
}

func (s *scripted) Stream(ctx context.Context, _ *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		s.mu.Lock()
		n := s.requests
		s.requests++
		s.mu.Unlock()
		for _, c := range s.answers[n] {
			if ctx.Err() != nil {
				yield(nil, model.AsError("fake", ctx.Err()))
				return
			}
			if !yield(c, nil) {
				return
			}
		}
		if s.errs != nil && s.errs[n] != nil {
			yield(nil, s.errs[n])
		}
	}
}

func (s *scripted) Generate(ctx context.Context, r *model.Request) (*model.Response, error) {
	return model.Collect(s.Stream(ctx, r))
}

func (s *scripted) CountTokens(context.Context, *model.Request) (int, error) {
	if s.errs != nil {
		return 0, s.errs[0]
	}
	return 42, nil
}

func chunksOf(texts ...string) []*model.Chunk {
	var chunks []*model.Chunk
	for _, text := range texts {
		chunks = append(chunks, &model.Chunk{Parts: []model.Part{{Text: text}}})
	}
	return append(chunks, &model.Chunk{Finish: model.FinishStop, Usage: &model.Usage{Input: 1, Output: 2}})
}

func ask(texts ...string) *model.Request {
	r := &model.Request{Model: "m", System: "You are a test.", Tools: []model.Tool{{Name: "a"}, {Name: "b", Description: "B"}}}
	for i, text := range texts {
		c := model.UserText(text)
		if i%2 == 1 {
			c.Role = model.RoleModel
		}
		r.Contents = append(r.Contents, c)
	}
	return r
}

func all(t *testing.T, s iter.Seq2[*model.Chunk, error]) (chunks []*model.Chunk, last error) {
	t.Helper()
	for c, err := range s {
		require.NoError(t, last, "an error is the last element")
		if err != nil {
			require.Nil(t, c)
			last = err
			continue
		}
		chunks = append(chunks, c)
	}
	return chunks, last
}

func play(t *testing.T, recording string, mode replay.Mode) *replay.Player {
	t.Helper()
	p, err := replay.Replay("test.jsonl", strings.NewReader(recording), mode)
	require.NoError(t, err)
	return p
}

// Everything is played back unchanged: chunk boundaries, exact and invalid arguments, signatures,
// errors with their numbers.
func TestRoundTrip(t *testing.T) {
	rich := []*model.Chunk{
		{ID: "id", Model: "m-1", Usage: &model.Usage{Input: 9}},
		{Parts: []model.Part{{Text: "hm", Thought: true}}},
		{Parts: []model.Part{{Thought: true, Signature: []byte{0xff, 0}, Provider: "x"}, {Text: "grö"}}},
		{Parts: []model.Part{{Text: "ße <&>\u2028"}}},
		{Parts: []model.Part{
			{Call: &model.FunctionCall{ID: "1", Name: "a", Args: json.RawMessage(`{ "n": 9007199254740993, "t":"<\u0041>" }`)}},
			{Call: &model.FunctionCall{ID: "2", Name: "b", Args: json.RawMessage(`{"half`)}},
			{Call: &model.FunctionCall{ID: "3", Name: "b"}},
			{Data: &model.Data{MIMEType: "image/png", Bytes: []byte{1, 2}, Name: "n"}},
		}},
		{},
		{Finish: model.FinishMaxTokens, Usage: &model.Usage{Input: 9, Output: 3, Cached: 1, Thoughts: 2, Tool: 1, Total: 15}, Citations: []string{"https://x"}},
	}
	limited := &model.Error{Provider: "p", Kind: model.RateLimited, Status: 429, Code: "c", Message: "m", RetryAfter: 1500 * time.Millisecond}
	g := &scripted{answers: [][]*model.Chunk{rich, chunksOf("cut")[:1], nil}, errs: []error{nil, &model.Error{Provider: "p", Kind: model.Connection, Message: "gone"}, limited}}

	var out bytes.Buffer
	recorder := replay.NewRecorder(&out)
	recorded := recorder.Wrap(g)
	for _, text := range []string{"rich", "cut", "limited"} {
		_, _ = all(t, recorded.Stream(t.Context(), ask(text)))
	}
	require.NoError(t, recorder.Err())
	require.Equal(t, 4, strings.Count(out.String(), "\n"), "a line each, and the first")

	p := play(t, out.String(), replay.Strict)
	require.Equal(t, 3, p.Left())
	got, err := all(t, p.Stream(t.Context(), ask("rich")))
	require.NoError(t, err)
	require.Equal(t, rich, got)
	got, err = all(t, p.Stream(t.Context(), ask("cut")))
	require.Equal(t, chunksOf("cut")[:1], got)
	require.Equal(t, &model.Error{Provider: "p", Kind: model.Connection, Message: "gone"}, err)
	_, err = p.Generate(t.Context(), ask("limited"))
	require.Equal(t, limited, err)
	require.Zero(t, p.Left())
}

func TestGenerateAndCount(t *testing.T) {
	var out bytes.Buffer
	recorded := replay.NewRecorder(&out).Wrap(&scripted{answers: [][]*model.Chunk{chunksOf("a", "b")}})
	want, err := recorded.Generate(t.Context(), ask("q"))
	require.NoError(t, err)
	n, err := recorded.CountTokens(t.Context(), ask("q"))
	require.NoError(t, err)
	require.Equal(t, 42, n)

	p := play(t, out.String(), replay.Strict)
	n, err = p.CountTokens(t.Context(), ask("q"))
	require.NoError(t, err)
	require.Equal(t, 42, n)
	got, err := p.Generate(t.Context(), ask("q"))
	require.NoError(t, err)
	require.Equal(t, want, got)

	out.Reset()
	refused := &model.Error{Provider: "p", Kind: model.NotFound, Message: "no"}
	recorded = replay.NewRecorder(&out).Wrap(&scripted{answers: [][]*model.Chunk{nil}, errs: []error{refused}})
	_, _ = recorded.CountTokens(t.Context(), ask("q"))
	_, _ = recorded.Generate(t.Context(), ask("q"))
	p = play(t, out.String(), replay.Strict)
	_, err = p.CountTokens(t.Context(), ask("q"))
	require.Equal(t, refused, err)
	_, err = p.Generate(t.Context(), ask("q"))
	require.Equal(t, refused, err)
}

// Equal requests get the responses in recorded order.
func TestRetriesInOrder(t *testing.T) {
	var out bytes.Buffer
	recorded := replay.NewRecorder(&out).Wrap(&scripted{
		answers: [][]*model.Chunk{nil, nil, chunksOf("well")},
		errs:    []error{&model.Error{Provider: "p", Kind: model.RateLimited}, &model.Error{Provider: "p", Kind: model.Unavailable}, nil},
	})
	for range 3 {
		_, _ = recorded.Generate(t.Context(), ask("q"))
	}
	p := play(t, out.String(), replay.Strict)
	var kinds []model.ErrorKind
	for range 2 {
		_, err := p.Generate(t.Context(), ask("q"))
		kinds = append(kinds, model.AsError("", err).Kind)
	}
	require.Equal(t, []model.ErrorKind{model.RateLimited, model.Unavailable}, kinds)
	r, err := p.Generate(t.Context(), ask("q"))
	require.NoError(t, err)
	require.Equal(t, "well", r.Content.Text())
	_, err = p.Generate(t.Context(), ask("q"))
	require.ErrorContains(t, err, "used up")
}

// Two concurrent conversations, in any order.
func TestSideBySide(t *testing.T) {
	const many = 30
	var out bytes.Buffer
	recorder := replay.NewRecorder(&out)
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			g := recorder.Wrap(&scripted{answers: [][]*model.Chunk{chunksOf(fmt.Sprint("answer ", i)), chunksOf(fmt.Sprint("more ", i))}})
			_, _ = g.Generate(t.Context(), ask(fmt.Sprint("task ", i)))
			_, _ = g.Generate(t.Context(), ask(fmt.Sprint("task ", i), fmt.Sprint("answer ", i), "go on"))
		})
	}
	wg.Wait()
	p := play(t, out.String(), replay.Strict)
	errs := make(chan error, 2*many)
	for i := range many {
		wg.Go(func() {
			for _, r := range []*model.Request{ask(fmt.Sprint("task ", i)), ask(fmt.Sprint("task ", i), fmt.Sprint("answer ", i), "go on")} {
				got, err := p.Generate(t.Context(), r)
				if err == nil && !strings.HasSuffix(got.Content.Text(), fmt.Sprint(" ", i)) {
					err = fmt.Errorf("%d got %q", i, got.Content.Text())
				}
				errs <- err
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	require.Zero(t, p.Left())
}

func answerOf(tool, id, response string) *model.Request {
	r := ask("do it", "I do")
	r.Contents[1].Parts = append(r.Contents[1].Parts, model.Part{Call: &model.FunctionCall{ID: id, Name: tool, Args: json.RawMessage(`{}`)}})
	r.Contents = append(r.Contents, model.Content{Role: model.RoleUser, Parts: []model.Part{
		{Response: &model.FunctionResponse{ID: id, Name: tool, Response: json.RawMessage(response)}},
	}})
	return r
}

func recordingOf(t *testing.T, r *model.Request) string {
	t.Helper()
	var out bytes.Buffer
	_, err := replay.NewRecorder(&out).Wrap(&scripted{answers: [][]*model.Chunk{chunksOf("ok")}}).Generate(t.Context(), r)
	require.NoError(t, err)
	return out.String()
}

func TestDifferences(t *testing.T) {
	warm := 0.5
	tests := map[string]struct {
		change func(*model.Request)
		want   []string
		loose  bool // Loose accepts it
	}{
		"model":         {func(r *model.Request) { r.Model = "n" }, []string{`its model is "n", and the recorded one is "m"`}, true},
		"system prompt": {func(r *model.Request) { r.System = "x" }, []string{"its system prompt differs"}, true},
		"settings":      {func(r *model.Request) { r.Temperature = &warm }, []string{"settings"}, true},
		"schema":        {func(r *model.Request) { r.ResponseSchema = json.RawMessage(`{"half`) }, []string{"settings"}, true},
		"purpose":       {func(r *model.Request) { r.Purpose = model.PurposeCompact }, []string{"its purpose is utility_compressor, and the recorded one is main"}, false},
		"tool gone":     {func(r *model.Request) { r.Tools = r.Tools[:1] }, []string{"the tool b is not offered and was when recorded"}, false},
		"tool new":      {func(r *model.Request) { r.Tools = append(r.Tools, model.Tool{Name: "c"}) }, []string{"the tool c is offered and was not when recorded"}, false},
		"tool's words":  {func(r *model.Request) { r.Tools[1].Description = "C" }, []string{"the tool b has a different declaration"}, true},
		"tools' order":  {func(r *model.Request) { r.Tools[0], r.Tools[1] = r.Tools[1], r.Tools[0] }, []string{"different order"}, true},
		"words": {
			func(r *model.Request) { r.Contents[0].Parts[0].Text = "do that" },
			[]string{"turn 1, part 1 is text “do that”", "the recorded one is text “do it”"}, false,
		},
		"role":      {func(r *model.Request) { r.Contents[0].Role = model.RoleModel }, []string{"turn 1 is of the model, and the recorded one of the user"}, false},
		"turn gone": {func(r *model.Request) { r.Contents = r.Contents[:2] }, []string{"turn 3 (the user's, answer of a “{\"output\":\"x\"}”", "is missing"}, false},
		"turn new":  {func(r *model.Request) { r.Contents = append(r.Contents, model.UserText("more")) }, []string{"turn 4 (the user's, text “more”", "is new"}, false},
		"part new": {
			func(r *model.Request) {
				r.Contents[2].Parts = append(r.Contents[2].Parts, model.Part{Data: &model.Data{MIMEType: "image/png"}})
			},
			[]string{"turn 3, part 2 (data “image/png"}, false,
		},
		"part gone": {func(r *model.Request) { r.Contents[1].Parts = r.Contents[1].Parts[:1] }, []string{"turn 2, part 2 (call of a “{}”", "is missing"}, false},
		"answer": {
			func(r *model.Request) {
				r.Contents[2].Parts[0].Response.Response = json.RawMessage(`{"error":{"type":"cancelled"}}`)
			},
			[]string{`turn 3, part 1 is answer of a “{"error":{"type":"cancelled"}}”`, `the recorded one is answer of a “{"output":"x"}”`}, false,
		},
		"ID": {func(r *model.Request) {
			r.Contents[1].Parts[1].Call.ID, r.Contents[2].Parts[0].Response.ID = "y", "y"
		}, []string{"turn 2, part 2", "turn 3, part 1"}, true},
		"much": {func(r *model.Request) {
			for range 20 {
				r.Contents = append(r.Contents, model.UserText("more"))
			}
		}, []string{"and 15 more"}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			recording := recordingOf(t, answerOf("a", "1", `{"output":"x"}`))
			r := answerOf("a", "1", `{"output":"x"}`)
			tt.change(r)
			p := play(t, recording, replay.Strict)
			_, err := p.Generate(t.Context(), r)
			var e *model.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, model.InvalidRequest, e.Kind, "it is not tried again")
			require.Contains(t, e.Message, "test.jsonl")
			require.Contains(t, e.Message, "number 1")
			for _, want := range tt.want {
				require.Contains(t, e.Message, want)
			}
			require.Equal(t, 1, p.Left(), "a request that is not in the recording takes no answer")
			_, err = play(t, recording, replay.Loose).Generate(t.Context(), r)
			require.Equal(t, tt.loose, err == nil, "loose: %v", err)
		})
	}
	t.Run("operation", func(t *testing.T) {
		_, err := play(t, recordingOf(t, ask("q")), replay.Loose).CountTokens(t.Context(), ask("q"))
		require.ErrorContains(t, err, "it is a request for a number of tokens, and the recorded one is for an answer")
	})
}

// Loose ignores volatile differences and no others.
func TestVolatile(t *testing.T) {
	hash := strings.Repeat("0123456789abcdef", 4)
	tests := map[string]struct {
		recorded, made string
		like           bool
	}{
		"temporary directory": {`{"output":{"file_path":"/tmp/fettle-1/001/prices.py"}}`, `{"output":{"file_path":"/var/folders/x9/T/prices.py"}}`, true},
		"Windows":             {`{"output":"C:\\Users\\a\\prices.py is new"}`, `{"output":"D:\\x\\b\\prices.py is new"}`, true},
		"another file":        {`{"output":{"file_path":"/tmp/1/prices.py"}}`, `{"output":{"file_path":"/tmp/1/prizes.py"}}`, false},
		"hash":                {`{"output":{"sha256":"` + hash + `"}}`, `{"output":{"sha256":"` + strings.Repeat("f", 64) + `"}}`, true},
		"version":             {`{"output":{"version":1}}`, `{"output":{"version":2}}`, false},
		"UUID":                {`{"output":"1b4e28ba-2fa1-11d2-883f-0016d3cca427"}`, `{"output":"6fa459ea-ee8a-3ca4-894e-db77e160355e"}`, true},
		"time":                {`{"output":"at 2026-11-21T18:00:58.123Z"}`, `{"output":"at 2027-01-02 03:04"}`, true},
		"duration":            {`{"output":"ok 12.5ms"}`, `{"output":"ok 3s"}`, true},
		"port":                {`{"output":"http://127.0.0.1:33333/a/b"}`, `{"output":"http://127.0.0.1:44444/a/b"}`, true},
		"number":              {`{"output":12}`, `{"output":13}`, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			recording := recordingOf(t, answerOf("a", "1", tt.recorded))
			_, err := play(t, recording, replay.Loose).Generate(t.Context(), answerOf("a", "1", tt.made))
			require.Equal(t, tt.like, err == nil, "%v", err)
			_, err = play(t, recording, replay.Strict).Generate(t.Context(), answerOf("a", "1", tt.made))
			require.Error(t, err)
		})
	}
}

// An abandoned stream is recorded, and so is a cancelled request.
func TestLeftEarly(t *testing.T) {
	var out bytes.Buffer
	recorded := replay.NewRecorder(&out).Wrap(&scripted{answers: [][]*model.Chunk{chunksOf("a", "b", "c"), chunksOf("d", "e")}})
	for range recorded.Stream(t.Context(), ask("left")) {
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for c, err := range recorded.Stream(ctx, ask("cancelled")) {
		if err == nil && c.Finish == "" {
			cancel()
		}
	}
	p := play(t, out.String(), replay.Strict)
	chunks, err := all(t, p.Stream(t.Context(), ask("left")))
	require.Len(t, chunks, 1)
	require.ErrorContains(t, err, "only the beginning of this answer")
	chunks, err = all(t, p.Stream(t.Context(), ask("cancelled")))
	require.Len(t, chunks, 1)
	require.Equal(t, model.Canceled, model.AsError("", err).Kind)
}

func TestPlayerHonoursContext(t *testing.T) {
	p := play(t, recordingOf(t, ask("q")), replay.Strict)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Generate(ctx, ask("q"))
	require.Equal(t, model.Canceled, model.AsError("", err).Kind)
	require.Equal(t, 1, p.Left())
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range p.Stream(ctx, ask("q")) {
		cancel()
		last = err
	}
	require.NoError(t, last, "the one piece was there already")
}

// Recording changes neither requests nor responses. A chunk that the receiver changes later is
// recorded as it arrived.
func TestRecordingTakesNoPart(t *testing.T) {
	var out bytes.Buffer
	recorded := replay.NewRecorder(&out).Wrap(&scripted{answers: [][]*model.Chunk{chunksOf("as it came")}})
	for c, err := range recorded.Stream(t.Context(), ask("q")) {
		require.NoError(t, err)
		for i := range c.Parts {
			c.Parts[i].Text = "changed"
		}
		if c.Usage != nil {
			c.Usage.Input = 1_000_000
		}
	}
	require.NotContains(t, out.String(), "changed")
	require.NotContains(t, out.String(), "1000000")
}

func TestUnreadable(t *testing.T) {
	whole := recordingOf(t, ask("q"))
	head, line, _ := strings.Cut(whole, "\n")
	tests := map[string]struct{ recording, want string }{
		"empty":             {"", "empty"},
		"another file":      {"{}\n", "line 1: this is not a recording"},
		"not JSON":          {"hello\n", "line 1: this is not a recording"},
		"later version":     {`{"fettleRecording":2}` + "\n", "version 2"},
		"torn":              {head + "\n" + line + line[:len(line)/2], "line 3: the last line is cut short; the 1 requests before it are complete"},
		"torn first":        {head[:5], "line 1: the last line is cut short"},
		"broken in midst":   {head + "\n" + line[:20] + "\n" + line, "line 2: this is not a recorded request"},
		"unknown key":       {head + "\n" + `{"n":1,"request":{"op":"answer"},"x":1}` + "\n", "line 2"},
		"no number":         {head + "\n" + `{"request":{"op":"answer"}}` + "\n", "has no number"},
		"unknown operation": {head + "\n" + `{"n":1,"request":{"op":"x"}}` + "\n", `the operation "x"`},
		"error of no kind":  {head + "\n" + `{"n":1,"request":{"op":"answer"},"error":{"provider":"p"}}` + "\n", "has no kind"},
		"two on a line":     {head + "\n" + strings.TrimSpace(line) + " {}\n", "after the recorded request"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := replay.Replay("test.jsonl", strings.NewReader(tt.recording), replay.Strict)
			require.Nil(t, p)
			require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
			require.ErrorContains(t, err, tt.want)
			require.ErrorContains(t, err, "test.jsonl")
		})
	}
	require.Equal(t, 1, play(t, strings.TrimSuffix(whole, "\n"), replay.Strict).Left(), "a complete last line needs no newline")
	require.Zero(t, play(t, head, replay.Strict).Left(), "nothing was asked")
}

func TestOpen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.jsonl")
	_, err := replay.Open(file, replay.Strict)
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
	require.NoError(t, os.WriteFile(file, []byte(recordingOf(t, ask("q"))), 0o600))
	p, err := replay.Open(file, replay.Strict)
	require.NoError(t, err)
	require.Equal(t, 1, p.Left())
	_, err = replay.Open(t.TempDir(), replay.Strict)
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
}

// The same conversation makes the same bytes.
func TestRecordingIsStable(t *testing.T) {
	require.Equal(t, recordingOf(t, answerOf("a", "1", `{}`)), recordingOf(t, answerOf("a", "1", `{}`)))
}

// Any file is either rejected or can be played.
func FuzzReplay(f *testing.F) {
	var out bytes.Buffer
	g := replay.NewRecorder(&out).Wrap(&scripted{answers: [][]*model.Chunk{chunksOf("a", "b")}})
	if _, err := g.Generate(f.Context(), ask("q")); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes())
	f.Add(out.Bytes()[:out.Len()-10])
	f.Add([]byte(`{"fettleRecording":1}` + "\n" + `{"n":1,"request":{"op":"answer"},"chunks":[{"parts":[{"call":{}},{"data":null}]}],"error":{"kind":"x"}}`))
	f.Add([]byte(`{"fettleRecording":1}` + "\n" + `{"n":-9,"request":null,"chunks":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, mode := range []replay.Mode{replay.Strict, replay.Loose} {
			p, err := replay.Replay("f", bytes.NewReader(data), mode)
			if err != nil {
				require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
				continue
			}
			for _, r := range []*model.Request{ask("q"), {}} {
				if _, err := p.Generate(t.Context(), r); err != nil {
					var e *model.Error
					require.ErrorAs(t, err, &e)
					require.NotEmpty(t, e.Kind)
				}
				_, _ = p.CountTokens(t.Context(), r)
			}
		}
	})
}
