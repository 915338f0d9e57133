package main

import (
	"context"
	"encoding/json"
	"iter"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
)

// readsOnce is a model that has a file read, and then is done. It notes the
// heap when it is asked, which is when a turn holds most.
type readsOnce struct {
	args json.RawMessage
	peak uint64
}

func (g *readsOnce) Stream(_ context.Context, r *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		if g.peak > 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			g.peak = max(g.peak, m.HeapAlloc)
		}
		part := model.Part{Call: &model.FunctionCall{ID: "c", Name: "read_file", Args: g.args}}
		if len(r.Contents[len(r.Contents)-1].Responses()) > 0 {
			part = model.TextPart("Done.")
		}
		yield(&model.Chunk{Parts: []model.Part{part}, Finish: model.FinishStop}, nil)
	}
}

func (g *readsOnce) Generate(ctx context.Context, r *model.Request) (*model.Response, error) {
	return model.Collect(g.Stream(ctx, r))
}

func (g *readsOnce) CountTokens(_ context.Context, r *model.Request) (int, error) {
	return model.EstimateTokens(r), nil
}

// One prompt whose model reads a file of 1 MB and answers, beside the call
// alone: what the conversation adds to it. It is not recorded.
func BenchmarkAgentTurn(b *testing.B) {
	s := newSession(b, showsAll)
	s.write("f.go", source(1<<20))
	args := json.RawMessage(`{"file_path":"f.go","offset":0,"limit":1048576}`)
	g := &readsOnce{args: args}
	c, err := config.New(config.Parameters{
		TargetDir: s.dir, HomeDir: b.TempDir(), ApprovalMode: policy.ModeYolo, Limits: showsAll, Models: model.Always(g),
		Conversation: config.Conversation{Limits: agent.Limits{CompactAt: -1}},
	})
	require.NoError(b, err)
	require.NoError(b, c.Initialize(b.Context()))
	b.Cleanup(func() { require.NoError(b, c.Close()) })

	floor := func() { s.run(scheduler.Request{CallID: "c", Tool: "read_file", Args: args}) }
	ours := func() {
		client, err := c.Converse(config.Opening{})
		if err != nil {
			b.Fatal(err)
		}
		for e := range client.Run(b.Context(), model.TextPart("Read it.")) {
			if e.Err != nil {
				b.Fatal(e.Err)
			}
		}
		if n := len(client.History()); n != 4 {
			b.Fatalf("the history has %d turns", n)
		}
	}
	ours() // what is made once
	beside(b, floor, ours)
	b.ReportMetric(allocated(floor)/1e6, "MB-alloc/floor")
	b.ReportMetric(allocated(ours)/1e6, "MB-alloc/ours")
	before := uint64(heapBytes())
	g.peak = before
	ours()
	b.ReportMetric(float64(g.peak-before)/1e6, "MB-peak-heap")
}
