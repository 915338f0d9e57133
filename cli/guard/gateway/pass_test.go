package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// FD-03: everything but calls and texts that steer passes byte by byte, in both
// directions.
func TestPassesThrough(t *testing.T) {
	f := newFake(nil)
	p := connect(t, Options{}, f.serve)
	p.initialize("2025-11-25", forms)
	toServer := []string{
		`{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"cursor":"x","_meta":{"a/b":1e400,"n":1.00}}}`,
		`{ "method":"unknown/method", "id":"é","jsonrpc":"2.0", "params":[1,2,{"z":0,"a":18446744073709551616}] }`,
		`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`,
		`{"jsonrpc":"2.0","method":"notifications/unknown","params":{"b":1,"a":2}}`,
		`{"jsonrpc":"2.0","id":2.5,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"}}}`,
		`{"jsonrpc":"2.0","id":"srv-1","result":{"roots":[]}}`,
		`{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"debug"}}`,
	}
	for _, line := range toServer {
		p.send(line)
		require.Equal(t, line, f.next(t))
	}
	toClient := []string{
		`{"jsonrpc":"2.0","id":1,"result":{"resources":[{"uri":"a\/b","name":"é","size":1e3}],"nextCursor":"\u200b"}}`,
		`{"result":{"b":1.10,"a":[]},"id":"é","jsonrpc":"2.0","extra":null}`,
		`{"jsonrpc":"2.0","id":2.50,"error":{"code":-32601,"message":"no","data":{"x":1.0}}}`,
		`{"jsonrpc":"2.0","id":"srv-1","method":"roots/list"}`,
		`{"jsonrpc":"2.0","id":99,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`,
		`{"jsonrpc":"2.0","id":100,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"b":{},"a":{}}}}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":0.50}}`,
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`,
		`{"jsonrpc":"2.0","method":"notifications/strange","params":{"z":"line\r\nline","a":"👩‍💻"}}`,
	}
	for _, line := range toClient {
		f.emit(line)
		require.Equal(t, line, p.line())
	}
	f.emit(`{"jsonrpc":"2.0","id":3,"result":{}}`)
	p.line()
	require.NoError(t, p.end())
}

// Texts of the server cannot steer their reader; identifiers and data stay.
func TestClean(t *testing.T) {
	mask := func(s string) string { return strings.ReplaceAll(s, "hunter22", "[masked]") }
	tests := map[string]struct {
		in, want string
		mask     bool
	}{
		"plain":             {`{"a":"b\n\t\"é","n":1.0}`, `{"a":"b\n\t\"é","n":1.0}`, false},
		"invisible":         {`{"description":"x\u200b\u202ey\u001b[2J"}`, `{"description":"x<U+200B><U+202E>y<U+001B>[2J"}`, false},
		"as it is":          {"{\"description\" : \"x\u200b\" , \"n\" :  1.0}", "{\"description\" : \"x<U+200B>\" , \"n\" :  1.0}", false},
		"tags":              {`["\udb40\udc41"]`, `["<U+E0041>"]`, false},
		"combining":         {`["👩\u200d💻\ufe0f"]`, `["👩\u200d💻\ufe0f"]`, false},
		"lines of Windows":  {`["a\r\nb\rc"]`, `["a\r\nb<U+000D>c"]`, false},
		"cursor":            {`{"nextCursor":"\u200b","requestState":"\u200b","uri":"\u200b"}`, `{"nextCursor":"\u200b","requestState":"\u200b","uri":"\u200b"}`, false},
		"names of tools":    {`{"tools":[{"name":"\u200b","title":"\u200b"}]}`, `{"tools":[{"name":"\u200b","title":"<U+200B>"}]}`, false},
		"names of others":   {`{"resources":[{"name":"\u200b"}]}`, `{"resources":[{"name":"<U+200B>"}]}`, false},
		"keys":              {`{"\u200b":{"\u200b":1}}`, `{"\u200b":{"\u200b":1}}`, false},
		"structured":        {`{"structuredContent":{"uri":"\u200b","tools":[{"name":"\u200b"}]}}`, `{"structuredContent":{"uri":"<U+200B>","tools":[{"name":"<U+200B>"}]}}`, false},
		"secret, no mask":   {`{"text":"hunter22"}`, `{"text":"hunter22"}`, false},
		"secret":            {`{"text":"a hunter22\n","uri":"hunter22"}`, `{"text":"a [masked]\n","uri":"hunter22"}`, true},
		"secret in data":    {`{"data":"hunter22","blob":"hunter22"}`, `{"data":"hunter22","blob":"hunter22"}`, true},
		"secret in log":     {`{"data":"it is hunter22"}`, `{"data":"it is [masked]"}`, true},
		"not a text":        {"[\"\xff\"]", `["�"]`, false},
		"numbers and bools": {`[ -1.5e+10 ,true,null,"\u200b"]`, `[ -1.5e+10 ,true,null,"<U+200B>"]`, false},
		"a bare string":     {`"\u200b"`, `"<U+200B>"`, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tt.want, string(cleaner{mask}.clean([]byte(tt.in), tt.mask)))
		})
	}
}

// Cleaning keeps JSON valid and every other value, and is stable.
func FuzzClean(f *testing.F) {
	for _, s := range []string{`{"a":[1,"\u200b",{"b":"x\\\""}]}`, `"\ud800"`, `[[],{},""]`, `{"a":"\\u200b"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !json.Valid([]byte(s)) {
			return
		}
		once := cleaner{}.clean([]byte(s), false)
		if !json.Valid(once) {
			t.Fatalf("%q became %q", s, once)
		}
		if again := (cleaner{}).clean(once, false); string(again) != string(once) {
			t.Fatalf("%q became %q, then %q", s, once, again)
		}
	})
}

// A message that a server could read otherwise than the policy does not reach it.
func TestAmbiguous(t *testing.T) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","name":"wipe","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","Name":"wipe"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","n\u0061me":"wipe"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","argumentſ":{}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"a":1,"a":2}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"a":[{"b":{"c":1,"c":2}}]}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read"},"Params":{"name":"wipe"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"wipe"}}`,
		`{"jsonrpc":"2.0","id":1,"Method":"tools/call","params":{"name":"wipe"}}`,
		`{"jsonrpc":"2.0","id":1,"method":7}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":[1]}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`,
		`[]`, `7`, `null`, `{`, "\xff", `{"a":1}{"b":2}`,
	} {
		f := newFake(echo)
		p := connect(t, Options{Grants: []string{"*"}}, f.serve)
		p.initialize("2025-06-18", `{}`)
		p.send(line)
		m := p.message()
		if _, is := m["error"]; !is {
			require.Contains(t, fmt.Sprint(m["result"]), "isError:true", line)
		}
		require.Empty(t, f.got, line)
		p.quiet()
	}
	f := newFake(echo)
	p := connect(t, Options{Grants: []string{"*"}}, f.serve)
	p.initialize("2025-06-18", `{}`)
	// Equal keys of different objects are fine, as are keys of arguments that differ
	// in case; a notification of a call is decided about as well.
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"a":{"a":1},"A":[{"a":1},{"a":2}],"name":"x"}}}`,
	} {
		p.send(line)
		require.Equal(t, line, f.next(t))
		p.line()
	}
	f = newFake(echo)
	p = connect(t, Options{}, f.serve)
	p.send(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"read"}}`)
	p.send(`{"jsonrpc":"2.0","method":"x","Params":1}`)
	p.quiet()
	require.Empty(t, f.got)
}

// A batch of the older revisions is handled message by message.
func TestBatch(t *testing.T) {
	f := newFake(echo)
	p := connect(t, Options{Grants: []string{"read"}}, f.serve)
	p.initialize("2025-03-26", `{}`)
	p.send(`[` + toolCall(1, "read", `{}`) + `,` + toolCall(2, "wipe", `{}`) + `]`)
	require.Contains(t, f.next(t), "read")
	seen := p.line() + p.line()
	require.Contains(t, seen, `"isError":true`)
	f.emit(`[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"b"}]`)
	require.Contains(t, p.line(), `"a"`)
	require.Contains(t, p.line(), `"b"`)
}

// What a server sends without being asked cannot answer a request, or a question of
// the gateway.
func TestForeignAnswers(t *testing.T) {
	f := newFake(nil)
	p := connect(t, Options{}, f.serve)
	p.initialize("2025-11-25", forms)
	f.emit(`{"jsonrpc":"2.0","id":77,"result":{}}`)
	f.emit(`{"jsonrpc":"2.0","id":"fettle-guard-question-X","method":"roots/list"}`)
	f.emit(`no message`)
	p.quiet()
	p.send(`{"jsonrpc":"2.0","id":5,"method":"resources/list"}`, `{"jsonrpc":"2.0","id":5,"method":"prompts/list"}`)
	require.Contains(t, p.line(), "in use")
	f.emit(`{"jsonrpc":"2.0","id":5.0,"result":{"resources":[]}}`)
	require.Contains(t, p.line(), "resources")
	require.Contains(t, p.log.String(), "not a message")
}

// A request that the server does not answer ends after the timeout, at the server
// too; a subscription does not.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(nil)
		p := connect(t, Options{Grants: []string{"*"}, Timeout: time.Minute}, f.serve)
		p.initialize("2025-06-18", `{}`)
		p.send(toolCall(1, "read", `{}`), `{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen"}`)
		begun := time.Now()
		require.Contains(t, <-p.lines, "did not answer tools/call in 1m0s")
		require.Equal(t, time.Minute, time.Since(begun))
		<-f.got
		<-f.got
		require.Contains(t, <-f.got, `"requestId":1`)
		time.Sleep(time.Hour)
		f.emit(`{"jsonrpc":"2.0","id":1,"result":{}}`)               // too late
		f.emit(`{"jsonrpc":"2.0","id":2,"result":{"subscribed":1}}`) // in time
		require.Contains(t, <-p.lines, "subscribed")
		_ = p.in.Close()
		require.NoError(t, <-p.done)
		for range p.lines {
		}
	})
}

// The time of a question does not count.
func TestTimeoutWhileAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(echo)
		p := connect(t, Options{Timeout: time.Minute}, f.serve)
		p.initialize("2025-11-25", forms)
		p.send(toolCall(1, "read", `{}`))
		q := decoded(t, <-p.lines)
		time.Sleep(time.Hour)
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":{"action":"accept","content":{"answer":"once"}}}`, q["id"]))
		require.Contains(t, <-p.lines, "content")
		_ = p.in.Close()
		require.NoError(t, <-p.done)
		for range p.lines {
		}
	})
}

// Requests that are open when the client closes its output are still answered.
func TestLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(nil)
		p := connect(t, Options{Grants: []string{"*"}}, f.serve)
		p.send(toolCall(1, "read", `{}`), toolCall(2, "read", `{}`))
		_ = p.in.Close()
		<-f.got
		<-f.got
		time.Sleep(5 * time.Second)
		f.emit(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		require.Contains(t, <-p.lines, `"id":1`)
		begun := time.Now()
		require.NoError(t, <-p.done) // the other one is never answered
		require.Equal(t, linger-5*time.Second, time.Since(begun))
		for range p.lines {
		}
	})
}
