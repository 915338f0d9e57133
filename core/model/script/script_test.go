package script_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/script"
)

func parse(t *testing.T, text string) *script.Script {
	t.Helper()
	s, err := script.Parse("test.json", []byte(text))
	require.NoError(t, err)
	return s
}

// turns makes a script of turns.
func turns(all ...string) string { return `{"turns":[` + strings.Join(all, ",\n") + `]}` }

func player(t *testing.T, all ...string) *script.Generator {
	t.Helper()
	return script.New(parse(t, turns(all...)), script.Options{})
}

func ask(text string) *model.Request {
	return &model.Request{Model: "m", Contents: []model.Content{model.UserText(text)}}
}

// after returns a request whose last turn has tool results: pairs of a tool and its result.
func after(pairs ...string) *model.Request {
	r := ask("do it")
	var calls, answers []model.Part
	for i := 0; i < len(pairs); i += 2 {
		id := fmt.Sprint("id", i)
		calls = append(calls, model.Part{Call: &model.FunctionCall{ID: id, Name: pairs[i]}})
		answers = append(answers, model.Part{Response: &model.FunctionResponse{ID: id, Name: pairs[i], Response: json.RawMessage(pairs[i+1])}})
	}
	r.Contents = append(r.Contents, model.Content{Role: model.RoleModel, Parts: calls}, model.Content{Role: model.RoleUser, Parts: answers})
	return r
}

func fails(t *testing.T, err error, kind model.ErrorKind, want ...string) {
	t.Helper()
	var e *model.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, kind, e.Kind, "%v", e)
	require.Equal(t, script.Provider, e.Provider)
	for _, text := range want {
		require.Contains(t, e.Message, text)
	}
}

func TestTurnsInOrder(t *testing.T) {
	g := player(t,
		`{"title":"first","thought":"hm","text":"I read.","calls":[{"tool":"read_file","args":{"file_path":"a.go","n":9007199254740993}},{"tool":"glob"}],"usage":{"input":5,"output":6}}`,
		`{"title":"second","text":"Done.","finish":"max_tokens"}`)
	require.Len(t, g.Left(), 2)
	r, err := g.Generate(t.Context(), ask("q"))
	require.NoError(t, err)
	require.Equal(t, &model.Response{
		Model: "m", Finish: model.FinishStop, Usage: model.Usage{Input: 5, Output: 6},
		Content: model.Content{Role: model.RoleModel, Parts: []model.Part{
			{Text: "hm", Thought: true}, {Text: "I read."},
			{Call: &model.FunctionCall{ID: "call_1", Name: "read_file", Args: json.RawMessage(`{"file_path":"a.go","n":9007199254740993}`)}},
			{Call: &model.FunctionCall{ID: "call_2", Name: "glob", Args: json.RawMessage(`{}`)}},
		}},
	}, r)
	require.Equal(t, "second", g.Left()[0].Title)
	r, err = g.Generate(t.Context(), ask("q"))
	require.NoError(t, err)
	require.Equal(t, model.FinishMaxTokens, r.Finish)
	require.Positive(t, r.Usage.Output, "estimated")
	require.Empty(t, g.Left())

	_, err = g.Generate(t.Context(), ask("q"))
	fails(t, err, model.InvalidRequest, "test.json", "used up", "all 2")
	require.False(t, model.InvalidRequest.Retryable())
	n, err := g.CountTokens(t.Context(), ask("q"))
	require.NoError(t, err)
	require.Equal(t, model.EstimateTokens(ask("q")), n)
}

func stream(t *testing.T, g *script.Generator, r *model.Request) (texts []string, last error) {
	t.Helper()
	for c, err := range g.Stream(t.Context(), r) {
		require.NoError(t, last)
		if err != nil {
			last = err
			continue
		}
		for _, p := range c.Parts {
			if p.Call != nil {
				texts = append(texts, "call "+p.Call.Name)
				continue
			}
			require.True(t, utf8.ValidString(p.Text))
			texts = append(texts, p.Text)
		}
	}
	return texts, last
}

func TestPieces(t *testing.T) {
	long := strings.Repeat("日本ä😀", 20)
	g := player(t, `{"text":"`+long+`"}`, `{"thought":["a","b"],"text":["c","","d"]}`, `{"empty":true}`)
	texts, err := stream(t, g, ask("q"))
	require.NoError(t, err)
	require.Len(t, texts, 3)
	require.Equal(t, 32, utf8.RuneCountInString(texts[0]))
	require.Equal(t, long, strings.Join(texts, ""))
	texts, err = stream(t, g, ask("q"))
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c", "", "d"}, texts)
	r, err := g.Generate(t.Context(), ask("q"))
	require.NoError(t, err)
	require.Empty(t, r.Content.Parts, "an empty answer")
	require.Equal(t, model.FinishStop, r.Finish)
}

const (
	hashA = "aaaa000000000000000000000000000000000000000000000000000000000000"
	hashB = "bbbb000000000000000000000000000000000000000000000000000000000000"
)

func state(path string, version int, hash, content string) string {
	data, _ := json.Marshal(map[string]any{"file_path": path, "version": version, "sha256": hash, "content": content})
	return string(data)
}

func TestExpect(t *testing.T) {
	changed := `{"error":{"type":"file_changed_since_read","message":"It changed."},"output":{"a":"line \"one\""}}`
	tests := map[string]struct {
		expect  string
		request *model.Request
		missing string // "": the condition matches
	}{
		"error":                {`{"error":"file_changed_since_read"}`, after("safe_patch", changed), ""},
		"another error":        {`{"error":"base_hash_required"}`, after("safe_patch", changed), "a result with the error base_hash_required; the last turn has safe_patch: the error file_changed_since_read"},
		"error, success":       {`{"error":"cancelled"}`, after("a", `{"output":1}`), "a: success"},
		"ok":                   {`{"ok":true}`, after("a", `{"output":1}`), ""},
		"not ok":               {`{"ok":true}`, after("a", changed), "without an error"},
		"error as text":        {`{"error":"unknown"}`, after("a", `{"error":"broken"}`), ""},
		"null is not an error": {`{"ok":true}`, after("a", `{"error":null,"output":1}`), ""},
		"tool":                 {`{"tool":"b","ok":true}`, after("a", changed, "b", `{"output":1}`), ""},
		"tool and error":       {`{"tool":"b","error":"cancelled"}`, after("a", `{"error":{"type":"cancelled"}}`, "b", `{"output":1}`), "a result of b with the error cancelled; the last turn has a: the error cancelled; b: success"},
		"result":               {`{"result":"line \"one\""}`, after("a", changed), ""},
		"no result":            {`{"result":"two"}`, after("a", changed), `that contains "two"`},
		"without":              {`{"without":"two"}`, after("a", changed), ""},
		"not without":          {`{"without":"one"}`, after("a", changed), `that does not contain "one"`},
		"no answer":            {`{"ok":true}`, ask("q"), "a result of a tool in the last turn, which has none"},
		"no request at all":    {`{"ok":true}`, &model.Request{}, "which has none"},
		"prompt":               {`{"prompt":"do"}`, after("a", changed), ""},
		"no prompt":            {`{"prompt":"undo it"}`, after("a", changed), `"undo it" in the prompt, which does not contain it`},
		"system":               {`{"system":"x"}`, ask("q"), `"x" in the system prompt`},
		"purpose":              {`{"purpose":"main"}`, ask("q"), ""},
		"another purpose":      {`{"purpose":"subagent"}`, ask("q"), `a request for "subagent", and it is for "main"`},
		"declared":             {`{"declared":["a"]}`, ask("q"), `the tool "a", which is not offered`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := player(t, `{"text":"ok","expect":`+tt.expect+`}`).Generate(t.Context(), tt.request)
			if tt.missing == "" {
				require.NoError(t, err)
				return
			}
			fails(t, err, model.InvalidRequest, "it expects ", tt.missing, "line 1")
		})
	}
}

// Concurrent conversations get the turns whose conditions match them.
func TestWhen(t *testing.T) {
	g := player(t,
		`{"text":"child","when":{"system":"You are a child"}}`,
		`{"text":"summary","when":{"purpose":"utility_compressor"}}`,
		`{"text":"main 1"}`, `{"text":"child 2","when":{"system":"You are a child","declared":["b"]}}`, `{"text":"late","when":{"prompt":"late"}}`)
	child := &model.Request{System: "You are a child.", Tools: []model.Tool{{Name: "b"}}, Contents: ask("q").Contents}
	answers := func(r *model.Request) string {
		got, err := g.Generate(t.Context(), r)
		require.NoError(t, err)
		return got.Content.Text()
	}
	require.Equal(t, "main 1", answers(ask("q")))
	require.Equal(t, "child", answers(child))
	require.Equal(t, "summary", answers(&model.Request{Purpose: model.PurposeCompact, Contents: ask("q").Contents}))
	require.Equal(t, "child 2", answers(child))
	_, err := g.Generate(t.Context(), ask("q"))
	fails(t, err, model.InvalidRequest, "no turn of the script test.json matches this request", "1 of 5 are left")
	require.Equal(t, "late", answers(ask("too late?")))
}

func TestRepeat(t *testing.T) {
	g := player(t, `{"text":"twice","repeat":2}`, `{"text":"always","repeat":"forever","calls":[{"tool":"t"}]}`)
	var answers []string
	for range 5 {
		r, err := g.Generate(t.Context(), ask("q"))
		require.NoError(t, err)
		answers = append(answers, r.Content.Text())
	}
	require.Equal(t, []string{"twice", "twice", "always", "always", "always"}, answers)
	require.Empty(t, g.Left())
}

// Generated call IDs are unique in the conversation, also in a resumed one, and differ from the IDs
// that the script gives later calls.
func TestCallIDs(t *testing.T) {
	g := player(t, `{"calls":[{"tool":"t"},{"tool":"t","id":"mine"},{"tool":"t"},{"tool":"t"}]}`, `{"calls":[{"tool":"t","id":"call_3"},{"tool":"t"}]}`)
	r := after("a", `{}`)
	r.Contents[1].Parts[0].Call.ID = "call_2"
	require.Equal(t, []string{"call_1", "mine", "call_4", "call_5"}, callIDs(t, g, r))
	require.Equal(t, []string{"call_3", "call_6"}, callIDs(t, g, r))
}

// A generated ID is not repeated after a compaction, or in concurrent conversations.
func TestCallIDsOfTheWholeGenerator(t *testing.T) {
	g := player(t, `{"calls":[{"tool":"t"},{"tool":"t"}],"repeat":"forever"}`)
	require.Equal(t, []string{"call_1", "call_2"}, callIDs(t, g, ask("q")))
	require.Equal(t, []string{"call_3", "call_4"}, callIDs(t, g, ask("a summary")))

	const requests = 20
	made := make([][]string, requests)
	var wg sync.WaitGroup
	for i := range requests {
		wg.Go(func() {
			if r, err := g.Generate(t.Context(), ask("q")); err == nil {
				for _, c := range r.Content.Calls() {
					made[i] = append(made[i], c.ID)
				}
			}
		})
	}
	wg.Wait()
	all := slices.Concat(made...)
	slices.Sort(all)
	require.Len(t, slices.Compact(all), 2*requests)
}

// callIDs returns the IDs of the calls in the next response.
func callIDs(t *testing.T, g *script.Generator, r *model.Request) []string {
	t.Helper()
	got, err := g.Generate(t.Context(), r)
	require.NoError(t, err)
	var ids []string
	for _, c := range got.Content.Calls() {
		ids = append(ids, c.ID)
	}
	return ids
}

func TestFailures(t *testing.T) {
	g := player(t,
		`{"fail":{"kind":"rate_limited","status":429,"code":"slow","message":"Wait.","retryAfterMs":1500}}`,
		`{"text":["ab","cd","ef"],"calls":[{"tool":"t"}],"fail":{"kind":"connection","afterPieces":2}}`,
		`{"text":["aä","cd"],"fail":{"kind":"unavailable","status":529,"afterBytes":2}}`,
		`{"text":["aä","cd"],"calls":[{"tool":"t","args":{"a":1}},{"tool":"u"}],"fail":{"kind":"connection","afterBytes":12}}`,
		`{"text":"ab","calls":[{"tool":"t"}],"fail":{"kind":"connection","afterPieces":99}}`,
		`{"text":"ab","fail":{"kind":"connection","afterBytes":0}}`,
		`{"calls":[{"tool":"t","rawArgs":"{\"half"}],"finish":"malformed_call"}`)
	_, err := stream(t, g, ask("q"))
	require.Equal(t, &model.Error{Provider: "script", Kind: model.RateLimited, Status: 429, Code: "slow", Message: "Wait.", RetryAfter: 1500 * time.Millisecond}, err)
	for _, want := range [][]string{{"ab", "cd"}, {"a"}, {"aä", "cd", "call t"}, {"ab", "call t"}, nil} {
		texts, err := stream(t, g, ask("q"))
		require.Equal(t, want, texts)
		require.Error(t, err)
	}
	r, err := g.Generate(t.Context(), ask("q"))
	require.NoError(t, err)
	require.Equal(t, `{"half`, string(r.Content.Calls()[0].Args))
	require.Equal(t, model.FinishMalformedCall, r.Finish)
}

// A response that is cut at any byte or piece never ends without an error, and its texts are a
// prefix of the complete ones.
func TestCutAnywhere(t *testing.T) {
	const whole = `"thought":"hm…","text":["größe ","日本 😀"],"calls":[{"tool":"t","args":{"a":"ä"}}]`
	for _, by := range []string{"afterBytes", "afterPieces"} {
		for i := range 45 {
			g := player(t, fmt.Sprintf(`{%s,"fail":{"kind":"connection",%q:%d}}`, whole, by, i))
			texts, err := stream(t, g, ask("q"))
			fails(t, err, model.Connection)
			require.True(t, strings.HasPrefix("hm…größe 日本 😀call t", strings.Join(texts, "")), "%s %d: %q", by, i, texts)
		}
	}
}

func TestOnTurn(t *testing.T) {
	var seen []string
	boom := errors.New("the disk is full")
	g := script.New(parse(t, turns(`{"title":"one","text":"a","note":{"saves":"receipt.py"}}`, `{"title":"two","text":"b"}`)), script.Options{
		OnTurn: func(_ context.Context, turn script.Turn) error {
			seen = append(seen, turn.Title+string(turn.Note))
			if turn.Title == "two" {
				return boom
			}
			return nil
		},
	})
	_, err := g.Generate(t.Context(), ask("q"))
	require.NoError(t, err)
	_, err = g.Generate(t.Context(), ask("q"))
	require.ErrorIs(t, err, boom)
	fails(t, err, model.InvalidRequest, "turn 2", "line 2", "the disk is full")
	require.Equal(t, []string{`one{"saves":"receipt.py"}`, "two"}, seen)
}

func TestCancelled(t *testing.T) {
	g := player(t, `{"text":["a","b","c"]}`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := g.Generate(ctx, ask("q"))
	fails(t, err, model.Canceled)
	_, err = g.CountTokens(ctx, ask("q"))
	fails(t, err, model.Canceled)
	require.Len(t, g.Left(), 1, "no turn is taken")
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range g.Stream(ctx, ask("q")) {
		cancel()
		last = err
	}
	fails(t, last, model.Canceled)
}

func TestManyAtOnce(t *testing.T) {
	var all []string
	for i := range 50 {
		all = append(all, fmt.Sprintf(`{"text":"%d"}`, i))
	}
	g := player(t, all...)
	var mu sync.Mutex
	answers := map[string]bool{}
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			r, err := g.Generate(context.WithoutCancel(t.Context()), ask("q"))
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				answers[r.Content.Text()] = true
			}
		})
	}
	wg.Wait()
	require.Len(t, answers, 50, "each turn is played once")
}

func TestScriptsThatCannotBeUsed(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
	}{
		"empty":                  {"", []string{"line 1", "cut short"}},
		"no JSON":                {"{\n\n hello", []string{"line 3", "not valid JSON"}},
		"a list":                 {"[]", []string{"line 1", "a script is an object"}},
		"no turns":               {"{}", []string{`needs a list of "turns"`}},
		"turns twice":            {"{\"turns\":[],\n\"turns\":[]}", []string{"line 2", "one list"}},
		"turns no list":          {"{\n\"turns\":3}", []string{"line 2", "turns must be a list"}},
		"unknown key":            {"{\"turns\":[],\n\"x\":1}", []string{"line 2", `no key "x"`}},
		"more behind":            {"{\"turns\":[]}\n{}", []string{"line 2", "after the end"}},
		"cut":                    {"{\"turns\":[\n{\"text\":\"a\"", []string{"line 2", "cut short"}},
		"broken in a turn":       {"{\"turns\":[\n{\"text\":\n\"a\" \"b\"}]}", []string{"line 3", "not valid JSON"}},
		"turn no object":         {"{\"turns\":[\n{\"text\":\"a\"},\n\n3]}", []string{"line 4", "a turn must be an object"}},
		"unknown in a turn":      {"{\"turns\":[\n{\"text\":\"a\",\n\"textt\":\"b\"}]}", []string{"line 3", `no key "textt"`}},
		"unknown in a call":      {"{\"turns\":[\n{\"calls\":[{\"tool\":\"a\"},\n{\"tool\":\"b\",\"arg\":{}}]}]}", []string{"line 3", `no key "arg"`}},
		"kind of a value":        {"{\"turns\":[\n{\"title\":\"t\",\n\"title\":3,\"text\":\"a\"}]}", []string{"line 3", "title is a number"}},
		"kind in a text":         {"{\"turns\":[\n{\"text\":3}]}", []string{"line 2"}},
		"no content":             {"{\"turns\":[\n\n{\"title\":\"a\"}]}", []string{"line 3", `"empty": true`}},
		"empty with content":     {turns(`{"empty":true,"text":"a"}`), []string{"an empty turn"}},
		"finish":                 {turns(`{"text":"a","finish":"done"}`), []string{`the finish reason "done"`, "max_tokens"}},
		"failure":                {turns(`{"fail":{"kind":"bang"}}`), []string{`the kind of failure "bang"`, "rate_limited"}},
		"failure without a kind": {turns(`{"fail":{}}`), []string{`the kind of failure ""`}},
		"both afters":            {turns(`{"text":"a","fail":{"kind":"connection","afterBytes":1,"afterPieces":1}}`), []string{"not both"}},
		"negative":               {turns(`{"text":"a","fail":{"kind":"connection","afterBytes":-1}}`), []string{"cannot be negative"}},
		"repeat":                 {turns(`{"text":"a","repeat":0}`), []string{`a number from 1 on or "forever"`}},
		"repeat a word":          {turns(`{"text":"a","repeat":"ever"}`), []string{"forever"}},
		"call of nothing":        {turns(`{"calls":[{}]}`), []string{`needs a "tool"`}},
		"args a list":            {turns(`{"calls":[{"tool":"t","args":[]}]}`), []string{"must be an object"}},
		"both args":              {turns(`{"calls":[{"tool":"t","args":{},"rawArgs":""}]}`), []string{"not both"}},
		"placeholder":            {turns(`{"calls":[{"tool":"t","args":{"a":["{{sha265 \"x\"}}"]}}]}`), []string{`the placeholder {{sha265 "x"}}`}},
		"placeholder in text":    {turns(`{"text":["a","{{hash \"x\"}}"]}`), []string{`the placeholder {{hash "x"}}`}},
		"quotes":                 {turns(`{"text":"{{sha256 \"\\q\"}}"}`), []string{"not quoted"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := script.Parse("test.json", []byte(tt.text))
			require.Nil(t, s)
			require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
			for _, want := range append(tt.want, "test.json") {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.json")
	_, err := script.Load(file)
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
	require.NoError(t, os.WriteFile(file, []byte(`{"description":"a test","turns":[{"text":"a"}]}`), 0o600))
	s, err := script.Load(file)
	require.NoError(t, err)
	g := script.New(s, script.Options{})
	require.Len(t, g.Left(), 1)
	_, err = g.Generate(t.Context(), ask("q"))
	require.NoError(t, err)
	_, err = g.Generate(t.Context(), ask("q"))
	fails(t, err, model.InvalidRequest, file)
}

// Any file is either rejected with its line or can be played.
func FuzzParse(f *testing.F) {
	f.Add(turns(`{"text":"a {{sha256 \"x\"}}","calls":[{"tool":"t","args":{"a":["{{value \"output.0\"}}"]}}],"expect":{"ok":true}}`))
	f.Add(turns(`{"text":["a","ä"],"calls":[{"tool":"t","rawArgs":"{"}],"fail":{"kind":"connection","afterBytes":2},"repeat":"forever"}`))
	f.Add(turns(`{"fail":{"kind":"connection","afterPieces":1}}`, `{"empty":true}`))
	f.Add("{\"turns\":[\n{\"text\":{}}, ")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := script.Parse("f", []byte(text))
		if err != nil {
			require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
			require.ErrorContains(t, err, "line ")
			return
		}
		g := script.New(s, script.Options{})
		for range min(len(g.Left()), 20) + 1 {
			r, err := g.Generate(t.Context(), after("read_file", `{"output":`+state("/w/x", 1, hashA, "c")+`}`))
			if err != nil {
				var e *model.Error
				require.ErrorAs(t, err, &e)
				continue
			}
			for _, c := range r.Content.Calls() {
				require.NotEmpty(t, c.ID)
			}
		}
	})
}
