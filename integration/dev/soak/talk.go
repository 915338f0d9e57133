package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/model"
)

// speaker is a model. For each prompt it reads the file a.txt, delegates the read to an agent if
// the prompt requests that, and then returns the result.
type speaker struct{}

func (speaker) answer(r *model.Request) model.Part {
	if r.Purpose == model.PurposeCompact {
		return model.TextPart("A file was read, again and again.")
	}
	last := r.Contents[len(r.Contents)-1]
	call := func(name string, args any) model.Part {
		raw, _ := json.Marshal(args) // of plain values
		return model.Part{Call: &model.FunctionCall{ID: model.NewCallID(), Name: name, Args: raw}}
	}
	answered := len(last.Responses()) > 0
	switch {
	case answered && r.Purpose == model.PurposeSubagent:
		return call("complete_task", map[string]any{"result": "I have read it."})
	case answered:
		return model.TextPart("It says " + string(last.Responses()[0].Response))
	case strings.Contains(last.Text(), "delegate"):
		return call("generalist", map[string]any{"query": "Read it."})
	}
	return call("read_file", map[string]any{"file_path": "a.txt", "offset": 0, "limit": 2000})
}

// Stream implements [model.Generator].
func (g speaker) Stream(_ context.Context, r *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		yield(&model.Chunk{Parts: []model.Part{g.answer(r)}, Finish: model.FinishStop}, nil)
	}
}

// Generate implements [model.Generator].
func (g speaker) Generate(ctx context.Context, r *model.Request) (*model.Response, error) {
	return model.Collect(g.Stream(ctx, r))
}

// CountTokens implements [model.Generator].
func (speaker) CountTokens(_ context.Context, r *model.Request) (int, error) {
	return model.EstimateTokens(r), nil
}

// say runs a prompt to its end and returns the answer.
func say(ctx context.Context, c *agent.Client, prompt string) (text string, err error) {
	for e := range c.Run(ctx, model.TextPart(prompt)) {
		text += e.Text
		if e.Type.Ends() && e.Type != agent.EventDone {
			return text, fmt.Errorf("the prompt %q ended as %s: %w", prompt, e.Type, e.Err)
		}
	}
	return text, nil
}

// talk runs a recorded conversation with an agent, a compaction and hooks, ends it,
// resumes it in another session, and deletes it.
func talk(ctx context.Context, s *soak, r *rand.Rand) error {
	var heard atomic.Int64
	speaks := func(p *config.Parameters) {
		p.Conversation.Models, p.Conversation.Model = model.Always(speaker{}), "speaker"
		p.Conversation.NoLoopDetection = true
		for _, e := range []hooks.Event{hooks.BeforeTool, hooks.AfterTool, hooks.BeforeModel} {
			p.Hooks.Functions = append(p.Hooks.Functions, hooks.Hook{Event: e, Name: "soak " + string(e), Run: func(context.Context, hooks.Input) (hooks.Output, error) {
				heard.Add(1)
				return hooks.Output{}, nil
			}})
		}
		file := "[[hooks.BeforeTool]]\nmatcher = \"generalist\"\nhooks = [{type = \"command\", command = \"cat > /dev/null; echo '{}'\", name = \"program\"}]\n"
		if err := os.WriteFile(filepath.Join(p.Environment.HomeDir, ".fettle", "hooks.toml"), []byte(file), 0o600); err != nil {
			s.report("hooks", err)
		}
	}
	return s.short(ctx, speaks, func(c *session) error {
		content := strings.Repeat("a line of text\n", 200)
		if err := os.WriteFile(filepath.Join(c.dir, "a.txt"), []byte(content), 0o644); err != nil {
			return err
		}
		transcripts, err := config.NewTranscripts(c.Config, nil)
		if err != nil {
			return err
		}
		recording, err := transcripts.Record(ctx, c.Config)
		if err != nil {
			return err
		}
		client, err := c.Converse(config.Opening{Recorder: recording, Agents: transcripts})
		if err != nil {
			return errors.Join(err, recording.Close())
		}
		prompts := []string{"read", "read again", "delegate", "read once more", "and again"}
		for _, prompt := range prompts[:2+r.IntN(4)] {
			text, err := say(ctx, client, prompt)
			if err == nil && prompt != "delegate" && !strings.Contains(text, "a line of text") {
				err = fmt.Errorf("%q has the answer %q", prompt, clip(text))
			}
			if err != nil {
				return errors.Join(err, recording.Close())
			}
		}
		if _, err := client.Compress(ctx, true); err != nil {
			return errors.Join(err, recording.Close())
		}
		turns := len(client.History())
		if err := recording.Close(); err != nil {
			return err
		}
		if heard.Load() == 0 {
			return errors.New("no hook ran")
		}
		again, err := s.open(ctx, c.dir, filepath.Join(filepath.Dir(c.dir), "home"), speaks)
		if err != nil {
			return err
		}
		err = resumed(ctx, again, c.SessionID(), turns)
		return errors.Join(err, again.Close(), transcripts.Delete(ctx, c.SessionID()))
	})
}

// resumed continues a conversation.
func resumed(ctx context.Context, c *session, id string, turns int) error {
	transcripts, err := config.NewTranscripts(c.Config, nil)
	if err != nil {
		return err
	}
	recording, _, history, err := transcripts.Resume(ctx, c.Config, id)
	if err != nil {
		return err
	}
	if len(history) != turns {
		return errors.Join(fmt.Errorf("%d turns are recorded, want %d", len(history), turns), recording.Close())
	}
	client, err := c.Converse(config.Opening{Recorder: recording, History: history, Agents: transcripts})
	if err == nil {
		_, err = say(ctx, client, "go on")
	}
	return errors.Join(err, recording.Close())
}

// slash runs a command file that mentions a file and runs a command line.
func slash(ctx context.Context, s *soak, r *rand.Rand) error {
	return s.short(ctx, nil, func(c *session) error {
		word := fmt.Sprint("word", r.IntN(1000))
		file := filepath.Join(filepath.Dir(c.dir), "home", ".fettle", "commands", "look.toml")
		err := errors.Join(os.WriteFile(file, []byte("description = 'Looks.'\nprompt = 'Look at @{a.txt} for {{args}}.'\n"), 0o600),
			os.WriteFile(filepath.Join(c.dir, "a.txt"), []byte("what is in "+word+"\n"), 0o644))
		if err != nil {
			return err
		}
		set, problems, err := c.SlashCommands(ctx)
		if err != nil || len(problems) > 0 {
			return fmt.Errorf("commands: %v: %w", problems, err)
		}
		got, err := set.Parse("/look "+word).Run(ctx, &commands.Context{})
		if err != nil {
			return err
		}
		if prompt, is := got.(commands.SubmitPrompt); !is || !strings.Contains(prompt.Content.String(), "what is in "+word) || !strings.Contains(prompt.Content.String(), "for "+word) {
			return fmt.Errorf("the command returned %+v", got)
		}
		return nil
	})
}
