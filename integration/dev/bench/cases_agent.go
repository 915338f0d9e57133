package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/model"
)

// oneReadModel is a model that requests one read and then ends.
type oneReadModel struct{ args json.RawMessage }

func (g oneReadModel) Stream(_ context.Context, r *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		part := model.Part{Call: &model.FunctionCall{ID: "c", Name: "read_file", Args: g.args}}
		if len(r.Contents[len(r.Contents)-1].Responses()) > 0 {
			part = model.TextPart("Done.")
		}
		yield(&model.Chunk{Parts: []model.Part{part}, Finish: model.FinishStop}, nil)
	}
}

func (g oneReadModel) Generate(ctx context.Context, r *model.Request) (*model.Response, error) {
	return model.Collect(g.Stream(ctx, r))
}

func (g oneReadModel) CountTokens(_ context.Context, r *model.Request) (int, error) {
	return model.EstimateTokens(r), nil
}

func agentCases() []Case {
	const size = 1 << 20
	args := json.RawMessage(`{"file_path":"f.go","offset":0,"limit":1048576}`)
	return []Case{{ID: "agent/turn", Title: "a prompt whose model reads 1 MB and answers", Description: "A new conversation, two requests to a model in this process, one call; nothing is recorded.",
		Contestants: []Contestant{
			{"fettle", Ours, func(ctx context.Context, lab *Lab) (*Prepared, error) {
				s, err := newSession(ctx, lab, func(p *config.Parameters) {
					p.Conversation = config.Conversation{Models: model.Always(oneReadModel{args}), Limits: agent.Limits{CompactAt: -1}}
				})
				if err != nil {
					return nil, err
				}
				if _, err := s.write("f.go", source(size)); err != nil {
					return nil, errors.Join(err, s.config.Close())
				}
				return &Prepared{InProcess: true, Close: s.config.Close, Run: timed(func(ctx context.Context) error { return converse(ctx, s.config) })}, nil
			}},
			{"the call alone", Part, readWhole(size)},
		}}}
}

func converse(ctx context.Context, c *config.Config) error {
	client, err := c.Converse(config.Opening{})
	if err != nil {
		return err
	}
	for e := range client.Run(ctx, model.TextPart("Read it.")) {
		if e.Err != nil {
			return e.Err
		}
	}
	if n := len(client.History()); n != 4 {
		return fmt.Errorf("the history has %d turns", n)
	}
	return nil
}
