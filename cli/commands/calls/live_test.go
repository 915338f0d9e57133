package calls

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// busSession is a session that runs calls on a bus.
type busSession struct {
	program.Session
	bus *bus.MessageBus
	run func(context.Context, scheduler.Request) scheduler.Response
}

func (s *busSession) MessageBus() *bus.MessageBus { return s.bus }

func (s *busSession) Run(ctx context.Context, r scheduler.Request) scheduler.Response {
	return s.run(ctx, r)
}

// printing returns a session whose calls print their arguments in pieces.
func printing(b *bus.MessageBus) *busSession {
	s := &busSession{bus: b}
	tell := func(r scheduler.Request, status bus.CallStatus) {
		_ = b.Publish(bus.ToolCallsUpdate{ToolCalls: []bus.ToolCallState{{CallID: r.CallID, Status: status}}})
	}
	s.run = func(_ context.Context, r scheduler.Request) scheduler.Response {
		tell(r, bus.StatusExecuting)
		for _, chunk := range strings.SplitAfter(string(r.Args), "|") {
			_ = b.Publish(bus.ToolOutput{CallID: r.CallID, Chunk: strings.TrimSuffix(chunk, "|")})
		}
		tell(r, bus.StatusSuccess)
		return scheduler.Response{Status: scheduler.StatusSuccess}
	}
	return s
}

// The output of a call is on the screen, complete and safe, when its result is
// printed.
func TestLiveOutput(t *testing.T) {
	for name, c := range map[string]struct {
		calls []string // the output of each call
		want  string
	}{
		"lines":             {[]string{"one\n|two\n"}, "one\ntwo\n"},
		"an open line":      {[]string{"one|, two"}, "one, two\n"},
		"nothing":           {[]string{""}, ""},
		"only what is left": {[]string{"\x1b[2J|\a"}, ""},
		"a colour":          {[]string{"\x1b[31mred|\n"}, "\x1b[31mred\n\x1b[0m"},
		"a split sequence":  {[]string{"a\x1b|]52;c;x|\ab\n"}, "ab\n"},
		"two calls":         {[]string{"\x1b[1mone|\x1b]0;never ended", "two\n"}, "\x1b[1mone\x1b[0m\ntwo\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var shown bytes.Buffer
			b := bus.New(bus.Options{})
			s := printing(b)
			l, detach := display.AttachLive(t.Context(), b, display.NewScreen(&shown), true, nil)
			before := 0
			for i, text := range c.calls {
				r := watched{s, l}.Run(t.Context(), scheduler.Request{CallID: fmt.Sprint(i), Args: []byte(text)})
				require.Equal(t, scheduler.StatusSuccess, r.Status)
				require.GreaterOrEqual(t, shown.Len(), before, "all was shown before the answer")
				before = shown.Len()
			}
			require.Equal(t, c.want, shown.String())
			detach()
			require.NoError(t, b.Close())
		})
	}
}

// Output of another source starts on a new line.
func TestLiveOutputAndOthers(t *testing.T) {
	var shown bytes.Buffer
	s := display.NewScreen(&shown)
	s.Live("half", true)
	s.Printf("Remembered: %s\n", "x")
	s.Live("whole\n", false)
	s.Printf("y\n")
	require.Equal(t, "half\nRemembered: x\nwhole\ny\n", shown.String())
}

// A slow screen does not delay the call: missed output is reported, with the last lines of
// a command, in which nothing reaches the terminal unescaped.
func TestLiveOutputThatIsMissed(t *testing.T) {
	const dropped = "line\n[Some output was dropped because it came too fast"
	display, err := json.Marshal(tools.Display{ANSI: &tools.ANSIOutput{ANSI: "...\n" + strings.Repeat("more\n", 20) + "\x1b]0;x\athe very end\n"}})
	require.NoError(t, err)
	missed(t, nil, dropped+".]\n")
	missed(t, json.RawMessage(`{"text":"x"}`), dropped+".]\n")
	missed(t, display, dropped+". The last lines are:]\n"+strings.Repeat("more\n", 9)+"the very end\n")
}

// missed checks the end of the shown output of a call whose output came too fast.
func missed(t *testing.T, shown json.RawMessage, want string) {
	t.Helper()
	release := make(chan struct{})
	slow := &slowWriter{release: release}
	b := bus.New(bus.Options{Queue: 4})
	l, detach := display.AttachLive(t.Context(), b, display.NewScreen(slow), true, nil)
	s := &busSession{bus: b}
	s.run = func(_ context.Context, r scheduler.Request) scheduler.Response {
		for range 100 {
			_ = b.Publish(bus.ToolOutput{CallID: r.CallID, Chunk: "line\n"})
		}
		close(release)
		_ = b.Publish(bus.ToolCallsUpdate{ToolCalls: []bus.ToolCallState{{CallID: r.CallID, Status: bus.StatusSuccess, Display: shown}}})
		return scheduler.Response{}
	}
	watched{s, l}.Run(t.Context(), scheduler.Request{CallID: "1"})
	require.Less(t, strings.Count(slow.String(), "line\n"), 100)
	require.True(t, strings.HasSuffix(slow.String(), want), "%q", slow.String())
	detach()
	require.NoError(t, b.Close())
}

// slowWriter blocks until it is released.
type slowWriter struct {
	bytes.Buffer
	release chan struct{}
}

func (w *slowWriter) Write(p []byte) (int, error) {
	<-w.release
	return w.Buffer.Write(p)
}

// The result of a call that Ctrl-C has cancelled starts on a new line.
func TestLiveOutputOfCancelled(t *testing.T) {
	for started, want := range map[time.Time]string{{}: "", time.Unix(1, 0): "\n"} {
		var shown bytes.Buffer
		b := bus.New(bus.Options{})
		l, detach := display.AttachLive(t.Context(), b, display.NewScreen(&shown), true, nil)
		s := &busSession{bus: b, run: func(context.Context, scheduler.Request) scheduler.Response {
			_ = b.Publish(bus.ToolCallsUpdate{ToolCalls: []bus.ToolCallState{{CallID: "1", Status: bus.StatusCancelled, StartTime: started}}})
			return scheduler.Response{}
		}}
		watched{s, l}.Run(t.Context(), scheduler.Request{CallID: "1"})
		require.Equal(t, want, shown.String())
		detach()
		require.NoError(t, b.Close())
	}
}

// Waiting for output ends when there will be none.
func TestLiveOutputEnds(t *testing.T) {
	b := bus.New(bus.Options{})
	l, detach := display.AttachLive(t.Context(), b, display.NewScreen(new(bytes.Buffer)), true, nil)
	s := &busSession{bus: b, run: func(context.Context, scheduler.Request) scheduler.Response {
		detach()
		return scheduler.Response{Tool: "x"}
	}}
	require.Equal(t, "x", watched{s, l}.Run(t.Context(), scheduler.Request{CallID: "1"}).Tool)
	require.NoError(t, b.Close())
}
