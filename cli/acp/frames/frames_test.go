package frames

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
)

// noted records prompts and cancellations, and refuses the sessions of refused.
type noted struct {
	all     []string
	refused string
}

func (n *noted) Prompted(_ string, p sdk.PromptRequest) error {
	session := string(p.SessionId)
	if session == n.refused {
		return errors.New("not now")
	}
	n.all = append(n.all, "prompt "+session)
	return nil
}

// readAll returns what passes, and waits for no answers.
func readAll(in io.Reader, out io.Writer, n *noted) ([]byte, error) {
	r := NewReader(in, NewWriter(out), n)
	r.grace = 0
	return io.ReadAll(r)
}

func (n *noted) RequestCancelled(id string) { n.all = append(n.all, "cancel request "+id) }

func (n *noted) Cancelled(session string) { n.all = append(n.all, "cancel "+session) }

// FD-02: valid messages pass, prompts and cancellations are reported in their order, and
// everything else is answered.
func TestReader(t *testing.T) {
	prompt := func(session string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"` + session + `","prompt":[]}}`
	}
	cancel := `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"a"}}`
	request := `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`
	answer := `{"jsonrpc":"2.0","id":1,"result":null}`
	noID := `{"jsonrpc":"2.0","id":null,"method":"session/list"}`
	in := strings.Join([]string{prompt("a"), cancel, prompt("busy"), prompt("b"), answer, request, noID, "garbage", `{"jsonrpc":"2.0","method":"x"}`, ""}, "\r\n")
	var out bytes.Buffer
	n := &noted{refused: "busy"}
	got, err := readAll(strings.NewReader(in), &out, n)
	require.NoError(t, err)
	require.Equal(t, strings.Join([]string{prompt("a"), prompt("b"), answer, request, ""}, "\n"), string(got))
	require.Equal(t, []string{"prompt a", "cancel a", "prompt b", "cancel request 1"}, n.all)
	require.Equal(t, 3, strings.Count(out.String(), "\n"))
	require.Contains(t, out.String(), "not now")
	require.Contains(t, out.String(), `"id":null,"error":{"code":-32600`)
	require.Contains(t, out.String(), `"id":null,"error":{"code":-32700`)
}

// FD-02: messages up to the limit pass; a longer one is answered, and the next one passes.
func TestLongMessages(t *testing.T) {
	message := func(n int) string {
		head, tail := `{"jsonrpc":"2.0","id":1,"method":"`, `"}`
		return head + strings.Repeat("x", n-len(head)-len(tail)-1) + tail + "\n"
	}
	var out bytes.Buffer
	in := message(MaxBytes) + message(MaxBytes+1) + message(3*MaxBytes) + message(100)
	got, err := readAll(strings.NewReader(in), &out, &noted{})
	require.NoError(t, err)
	require.Equal(t, message(MaxBytes)+message(100), string(got))
	require.Equal(t, 2, strings.Count(out.String(), "-32600"))
}

// FD-02: the input ends for the SDK once requests, but not prompts, are answered, in
// whatever form the SDK writes their ids, or when time is over.
func TestEndWaitsForAnswers(t *testing.T) {
	requests := `{"jsonrpc":"2.0","id":"<a>","method":"initialize"}
{"jsonrpc":"2.0","id":1.0,"method":"session/new"}
{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"a","prompt":[]}}
`
	for _, answers := range [][]string{
		{`{"jsonrpc":"2.0","id":"\u003ca\u003e","result":{}}`, `{"jsonrpc":"2.0","method":"session/update","params":{}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1}}`},
		{`{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file"}`, `{"jsonrpc":"2.0","id":1,"result":null}`},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := NewWriter(io.Discard)
			ended := make(chan time.Duration)
			start := time.Now()
			go func() {
				_, _ = io.ReadAll(NewReader(strings.NewReader(requests), w, &noted{}))
				ended <- time.Since(start)
			}()
			for _, answer := range answers {
				synctest.Wait()
				select {
				case <-ended:
					t.Error("the input has ended before", answer)
				default:
				}
				_, err := w.Write([]byte(answer))
				require.NoError(t, err)
			}
			if len(answers) == 3 {
				require.Zero(t, <-ended)
			} else {
				require.Equal(t, answerGrace, <-ended)
			}
		})
	}
}

// FD-02: the end of the input is reported although the client reads no answer, and Close ends the
// calls of Write that wait for it.
func TestEndWithoutReader(t *testing.T) {
	for name, line := range map[string]string{"answers": `{"jsonrpc":"2.0","id":1,"method":"initialize"}`, "refusals": "garbage"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				released := make(chan struct{})
				w := NewWriter(writerFunc(func(p []byte) (int, error) {
					<-released
					return len(p), nil
				}))
				failed := make(chan error, 2)
				for range 2 {
					go func() {
						_, err := w.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
						failed <- err
					}()
				}
				synctest.Wait()
				start := time.Now()
				_, err := io.ReadAll(NewReader(strings.NewReader(strings.Repeat(line+"\n", 20)), w, &noted{}))
				require.NoError(t, err)
				require.LessOrEqual(t, time.Since(start), refusalGrace+answerGrace)
				w.Close()
				for range 2 {
					require.ErrorIs(t, <-failed, io.ErrClosedPipe)
				}
				close(released)
			})
		})
	}
}

// FD-02: the connection ends if the client sends malformed messages and reads no answer.
func TestRefusalsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		released := make(chan struct{})
		w := NewWriter(writerFunc(func(p []byte) (int, error) {
			<-released
			return len(p), nil
		}))
		in, toAgent := io.Pipe()
		go func() {
			_, _ = io.WriteString(toAgent, strings.Repeat("garbage\n", maxRefusals))
			synctest.Wait()
			select {
			case <-w.Broken():
				t.Error("the connection ends early")
			default:
			}
			_, _ = io.WriteString(toAgent, strings.Repeat("garbage\n", maxRefusals))
			_ = toAgent.Close()
		}()
		start := time.Now()
		_, err := io.ReadAll(NewReader(in, w, &noted{}))
		require.NoError(t, err)
		<-w.Broken()
		require.Equal(t, refusalGrace, time.Since(start))
		close(released)
	})
}

// FD-02: Blocked is the age of the write that runs.
func TestBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWriter(writerFunc(func(p []byte) (int, error) {
			time.Sleep(3 * time.Second)
			return len(p), nil
		}))
		require.Zero(t, w.Blocked())
		go func() { _, _ = w.Write([]byte("{}")) }()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Equal(t, 2*time.Second, w.Blocked())
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Zero(t, w.Blocked())
	})
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// FD-02: whatever the client sends, only whole JSON-RPC messages pass, and each answer is
// one line of JSON.
func FuzzReader(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"a","prompt":[{"type":"text","text":"x"}]}}` + "\n"))
	f.Add([]byte("[]\n{}\n7\n{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":{\"sessionId\":\"a\"}}"))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"x","error":{"code":1}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		got, err := readAll(bytes.NewReader(in), &out, &noted{})
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(got) {
			var m message
			if json.Unmarshal(line, &m) != nil || m.Version == nil || *m.Version != "2.0" || !bytes.HasSuffix(line, []byte("\n")) {
				t.Errorf("%q passed", line)
			}
		}
		for line := range bytes.Lines(out.Bytes()) {
			if !json.Valid(line) {
				t.Errorf("the answer %q is not JSON", line)
			}
		}
	})
}

// FD-02: a result is reported to those who wait for it once it was written, and a failed
// write ends the connection.
func TestWriter(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	sent := w.Sent(`"sessionId":"a"`)
	for _, other := range []string{`{"jsonrpc":"2.0","id":1,"result":{"sessionId":"b"}}`, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a"}}`} {
		_, err := w.Write([]byte(other))
		require.NoError(t, err)
		select {
		case <-sent:
			t.Fatal(other)
		default:
		}
	}
	_, err := w.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{"sessionId":"a"}}`))
	require.NoError(t, err)
	<-sent

	r, closed := io.Pipe()
	require.NoError(t, r.Close())
	w = NewWriter(closed)
	_, err = w.Write([]byte("x"))
	require.Error(t, err)
	<-w.Broken()
	_, err = w.Write([]byte("x"))
	require.ErrorIs(t, err, io.ErrClosedPipe)
}
