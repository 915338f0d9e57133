package bus_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/fettle-dev/fettle/core/bus"
)

// Measures from question to answer, with one front end that answers at once.
func BenchmarkAsk(b *testing.B) {
	m := bus.New(bus.Options{})
	bus.Subscribe(b.Context(), m, func(_ context.Context, q request) {
		_ = m.Publish(response{CorrelationID: q.CorrelationID, Confirmed: true})
	})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := bus.Ask(b.Context(), m, request{}); err != nil {
			b.Fatal(err)
		}
	}
	_ = m.Close()
}

func BenchmarkAskNobody(b *testing.B) {
	m := bus.New(bus.Options{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := bus.Ask(b.Context(), m, request{}); err == nil {
			b.Fatal("an answer")
		}
	}
}

// Measures from publishing to the end of the last handler. Nothing is dropped, because each burst is awaited.
func BenchmarkPublish(b *testing.B) {
	const burst = 128
	for _, listeners := range []int{0, 1, 10} {
		b.Run(fmt.Sprintf("listeners=%d", listeners), func(b *testing.B) {
			m := bus.New(bus.Options{Queue: burst})
			var received sync.WaitGroup
			for range listeners {
				bus.Subscribe(b.Context(), m, func(context.Context, bus.ToolOutput) { received.Done() })
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%burst == 0 {
					received.Wait()
				}
				received.Add(listeners)
				_ = m.Publish(bus.ToolOutput{CallID: "c", Chunk: "a line of output"})
			}
			received.Wait()
			if m.Dropped() > 0 {
				b.Fatal("dropped ", m.Dropped())
			}
			_ = m.Close()
		})
	}
}

func BenchmarkMarshal(b *testing.B) {
	m := filled(request{})
	b.ReportAllocs()
	for b.Loop() {
		data, err := bus.Marshal(m)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := bus.Unmarshal(data); err != nil {
			b.Fatal(err)
		}
	}
}
