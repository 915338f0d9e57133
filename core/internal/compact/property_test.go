package compact_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/internal/compact"
	"github.com/fettle-dev/fettle/core/model"
)

// someHistory returns a valid history of up to n prompts, which ends anywhere without an open call.
func someHistory(r *rand.Rand, n int) []model.Content {
	text := func() string { return long(fmt.Sprint("w", r.IntN(100)), 1+r.IntN(1<<r.IntN(14))) + "." }
	var h []model.Content
	for range r.IntN(n) {
		h = append(h, userTurn(text()))
		for range r.IntN(6) {
			asks, answers := model.Content{Role: model.RoleModel}, model.Content{Role: model.RoleUser}
			if r.IntN(3) == 0 {
				asks.Parts = append(asks.Parts, model.Part{Text: text(), Thought: true, Signature: []byte("s"), Provider: "gemini"})
			}
			for k := range 1 + r.IntN(3) {
				output := text()
				if r.IntN(8) == 0 {
					output = long("output", 12_000)
				}
				both := call(fmt.Sprint("c", len(h), "-", k), output)
				asks.Parts, answers.Parts = append(asks.Parts, both[0].Parts...), append(answers.Parts, both[1].Parts...)
			}
			if r.IntN(4) == 0 {
				answers.Parts = append(answers.Parts, model.TextPart(text()))
			}
			h = append(h, asks, answers)
		}
		h = append(h, modelTurn(text()))
	}
	switch {
	case len(h) == 0 || r.IntN(2) == 0:
		return h
	case len(h[len(h)-2].Responses()) > 0:
		return h[:len(h)-1] // within a prompt
	}
	return append(h, userTurn(text()))
}

// For any history and summary the result is valid and never longer, the tail is unchanged, and each
// call has its response (compacting checks the first two).
func TestAnyHistory(t *testing.T) {
	runs := 80
	if os.Getenv("FETTLE_FULL") == "1" {
		runs = 20_000
	}
	var seen [7]int
	for seed := range uint64(runs) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := compact.New(compact.Options{Keep: []float64{0, 0.1, 0.5, 0.9}[r.IntN(4)], AnswerTokens: 1 + r.IntN(4_000)})
		w := &writer{}
		h := someHistory(r, 8)
		for range 3 { // repeated compactions
			w.reply = long("s", r.IntN(1<<r.IntN(13)))
			n := len(w.requests)
			got, err := compacting(t, c, w, h, func(q *agent.CompactRequest) {
				q.Force = r.IntN(2) == 0
				q.Limit = 3_000 + r.IntN(100_000)
			})
			require.NoError(t, err, "seed %d", seed)
			require.LessOrEqual(t, len(w.requests), n+1, "one request at most")
			seen[got.Status]++
			switch got.Status {
			case agent.Compacted:
				requireTail(t, h, got.History)
			case agent.CompactionTruncated:
				require.Len(t, got.History, len(h))
			default:
				continue
			}
			h = got.History
			for _, turn := range someHistory(r, 3) {
				if h[len(h)-1].Role == turn.Role {
					break
				}
				h = append(h, turn)
			}
			h = agent.RepairHistory(h)
		}
	}
	for _, status := range []agent.CompactionStatus{agent.Compacted, agent.CompactionInflated, agent.CompactionEmpty, agent.CompactionNoop, agent.CompactionTruncated} {
		require.Positive(t, seen[status], "no run ended with %d: %v", status, seen)
	}
	t.Log(seen)
}

// requireTail requires that the end of the old history follows the summary.
func requireTail(t testing.TB, old, now []model.Content) {
	t.Helper()
	head := 1
	if len(now) > 1 && now[1].Text() == "I have read the summary and continue from there." {
		head = 2
	}
	tail := now[head:]
	require.Less(t, len(tail), len(old))
	require.Equal(t, asJSON(t, old[len(old)-len(tail):]), asJSON(t, append([]model.Content{}, tail...)))
	require.Contains(t, now[0].Text(), "<conversation_summary>")
}
