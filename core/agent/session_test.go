package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// plain is a model that keeps no requests: it calls a tool once for each prompt.
type plain struct{ fake }

func newPlain() *plain {
	p := &plain{}
	p.answer = func(_ int, r *model.Request) stream {
		p.requests = nil
		if len(r.Contents[len(r.Contents)-1].Responses()) > 0 {
			return says(strings.Repeat("word ", 20))
		}
		return asks(call(fmt.Sprint(len(r.Contents)), "look", `{"text":"a"}`))
	}
	return p
}

// heap returns the memory in use.
func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// A session of 200 turns keeps its history, and no display or live output of tools, old requests,
// or loop detection state.
func TestMemoryOfALongSession(t *testing.T) {
	c := newClient(t, newPlain(), func(o *agent.Options) {
		o.NoLoopDetection = true
		o.Scheduler = &runner{run: func(context.Context, scheduler.Request) tools.Result {
			return tools.Result{LLMContent: tools.Text(strings.Repeat("x", 10_000)), ReturnDisplay: tools.TextDisplay(strings.Repeat("for people ", 50_000))}
		}}
	})
	run(t.Context(), c, "Do it.")
	before := heap()
	for range 200 {
		for range c.Run(t.Context(), text("Do it.")) {
		}
	}
	grown := heap() - before
	history, err := json.Marshal(c.History())
	require.NoError(t, err)
	require.Greater(t, len(history), 2_000_000)
	require.Less(t, grown, len(history)*3/2, "of %d bytes of history", len(history))
	runtime.KeepAlive(c)
}

// The cost of a turn does not grow with the history, except for passing it on. With 100 times the
// turns, the client's share of a request takes far less than 100 times as long.
func BenchmarkTurn(b *testing.B) {
	for _, turns := range []int{10, 1000} {
		b.Run(fmt.Sprint(turns), func(b *testing.B) {
			var history []model.Content
			for i := range turns / 2 {
				history = append(history, user(text("Do it.")), answer(text(fmt.Sprint("Done ", i))))
			}
			g := inOrder()
			c := newClient(b, g, func(o *agent.Options) { o.History, o.Limits.SessionTurns = history, 0 })
			b.ReportAllocs()
			for b.Loop() {
				for range c.Run(b.Context(), text("Do it.")) {
				}
				if len(c.History()) > turns+20 {
					b.StopTimer()
					require.NoError(b, c.SetHistory(b.Context(), history))
					g.requests = nil
					b.StartTimer()
				}
			}
		})
	}
}

// BenchmarkRepair measures the repair of a history that is invalid at its end, like that of a
// killed session.
func BenchmarkRepair(b *testing.B) {
	for _, turns := range []int{10, 1000} {
		b.Run(fmt.Sprint(turns), func(b *testing.B) {
			history := []model.Content{user(text("Do it."))}
			for i := range turns / 2 {
				history = append(history, answerOf(fmt.Sprint(i)), user(respPart(fmt.Sprint(i))))
			}
			history = append(history, answerOf("open"))
			b.ReportAllocs()
			for b.Loop() {
				agent.RepairHistory(history)
			}
		})
	}
}
