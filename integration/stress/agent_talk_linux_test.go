package stress

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	loop "github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/agent/recordings"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/policy"
)

// reader is a model that reads a whole file for each prompt and then reports the
// versions and the prompt that it received.
type reader struct{}

func (reader) answer(r *model.Request) model.Part {
	last := r.Contents[len(r.Contents)-1]
	if answers := last.Responses(); len(answers) > 0 {
		return model.TextPart("It says " + string(answers[0].Response))
	}
	args := json.RawMessage(`{"file_path":"target","offset":0,"limit":2000}`)
	return model.Part{Call: &model.FunctionCall{ID: model.NewCallID(), Name: "read_file", Args: args}}
}

func (g reader) Stream(_ context.Context, r *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		yield(&model.Chunk{Parts: []model.Part{g.answer(r)}, Finish: model.FinishStop}, nil)
	}
}

func (g reader) Generate(ctx context.Context, r *model.Request) (*model.Response, error) {
	return model.Collect(g.Stream(ctx, r))
}

func (reader) CountTokens(_ context.Context, r *model.Request) (int, error) {
	return model.EstimateTokens(r), nil
}

// talker is an agent whose conversation is recorded.
type talker struct {
	config    *config.Config
	client    *loop.Client
	recording *recordings.Recording
}

// newTalker starts a conversation with this id, or resumes it.
func newTalker(ctx context.Context, dir, home, id string, resume bool) (*talker, error) {
	c, err := config.New(config.Parameters{
		TargetDir: dir, Environment: config.Environment{HomeDir: home}, Session: config.Session{ID: id}, Policy: config.Policy{ApprovalMode: policy.ModeYolo}, Conversation: config.Conversation{Models: model.Always(reader{}), Model: "reader", NoLoopDetection: true, Limits: loop.Limits{CompactAt: -1}},
	})
	if err != nil {
		return nil, err
	}
	if err := c.Initialize(ctx); err != nil {
		return nil, err
	}
	sessions, err := config.NewTranscripts(c, nil)
	if err != nil {
		return nil, err
	}
	t := &talker{config: c}
	var history []model.Content
	if resume {
		t.recording, _, history, err = sessions.Resume(ctx, c, id)
	} else {
		t.recording, err = sessions.Record(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	t.client, err = c.Converse(config.Opening{Recorder: t.recording, History: history})
	return t, err
}

// say runs a prompt and reports each event.
func (t *talker) say(ctx context.Context, prompt string, tell func(loop.Event)) error {
	for e := range t.client.Run(ctx, model.TextPart(prompt)) {
		tell(e)
		switch {
		case e.Err != nil:
			return e.Err
		case e.Type.Ends() && e.Type != loop.EventDone:
			return fmt.Errorf("ended with %s", e.Type)
		}
	}
	return nil
}

func (t *talker) close() error {
	err := t.recording.Close()
	if closeErr := t.config.Close(); err == nil {
		err = closeErr
	}
	return err
}

// talkForever runs a conversation and reports the recorded turns.
func talkForever(args []string) error {
	ctx := context.Background()
	t, err := newTalker(ctx, args[0], args[1], "talk", args[2] == "resume")
	if err != nil {
		return err
	}
	first := len(t.client.History())
	for n := first; ; n++ {
		fmt.Printf("begin %d\n", n)
		err := t.say(ctx, fmt.Sprintf("prompt %d", n), func(e loop.Event) {
			switch e.Type { // each is reported once its turn is recorded
			case loop.EventToolCall, loop.EventToolResponse, loop.EventFinished:
				fmt.Printf("turns %d\n", len(t.client.History()))
			}
		})
		if err != nil {
			return err
		}
		state, err := t.config.SessionStateService()
		if err != nil {
			return err
		}
		fmt.Printf("version %d\n", state.Current())
	}
}
