package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/transcript"
)

// session is a Config in a directory of its own, without an approver.
type session struct {
	dir    string
	config *config.Config
	calls  *scheduler.Scheduler
}

// newSession creates a session below dir. change alters its Parameters; nil: it does not.
func newSession(ctx context.Context, dir string, change func(*config.Parameters)) (*session, error) {
	target, home := filepath.Join(dir, "target"), filepath.Join(dir, "home")
	if err := errors.Join(os.MkdirAll(target, 0o755), os.MkdirAll(home, 0o755)); err != nil {
		return nil, err
	}
	p := config.Parameters{TargetDir: target, Environment: config.Environment{HomeDir: home}, Policy: config.Policy{ApprovalMode: policy.ModeYolo}}
	if change != nil {
		change(&p)
	}
	c, err := config.New(p)
	if err != nil {
		return nil, err
	}
	if err := c.Initialize(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	calls, err := c.Scheduler()
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &session{target, c, calls}, nil
}

// call makes a call, which must succeed.
func (s *session) call(ctx context.Context, tool string, args any) error {
	raw, err := json.Marshal(args)
	if err != nil {
		return err
	}
	r := s.calls.Run(ctx, scheduler.Request{CallID: "c", Tool: tool, Args: raw})
	switch {
	case r.Status == scheduler.StatusSuccess:
		return nil
	case r.Result.Error != nil:
		return r.Result.Error
	}
	return fmt.Errorf("%s ended with status %s", tool, r.Status)
}

// sessions creates n sessions in one process, which all stay open until the end of the run.
func sessions(_ context.Context, dir string, n int) (work, error) {
	var open []*session
	closeAll := func() (err error) {
		for _, s := range open {
			err = errors.Join(err, s.config.Close())
		}
		open = nil
		return err
	}
	return work{reset: closeAll, close: closeAll, run: func(ctx context.Context) error {
		for range n {
			s, err := newSession(ctx, dir, nil)
			if err != nil {
				return err
			}
			open = append(open, s)
		}
		return nil
	}}, nil
}

// loadTranscript loads a recording of n messages. Each message of a recording is flushed, so the
// recording is written from the lines of its first two.
func loadTranscript(ctx context.Context, dir string, n int) (work, error) {
	store := transcript.New(transcript.Options{Dir: dir})
	const id = "growth"
	w, err := store.Create(ctx, transcript.Header{ID: id, Project: dir})
	if err != nil {
		return work{}, err
	}
	long := strings.Repeat("some words of a message ", 20)
	for _, role := range []string{"user", "model"} {
		content := fmt.Sprintf(`{"role":%q,"parts":[{"text":%q}]}`, role, long)
		if err := w.Append(ctx, transcript.Turn{Content: json.RawMessage(content)}); err != nil {
			return work{}, errors.Join(err, w.Close())
		}
	}
	path := w.Path()
	if err := w.Close(); err != nil {
		return work{}, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return work{}, err
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	var b bytes.Buffer
	b.Write(lines[0])
	place := `"id":"%d","at":%d`
	for i := range n {
		line, own := lines[1+i%2], fmt.Sprintf(place, 1+i%2, i%2)
		b.Write(bytes.Replace(line, []byte(own), fmt.Appendf(nil, place, i+1, i), 1))
	}
	return work{run: func(ctx context.Context) error {
		s, err := store.Load(ctx, id)
		if err == nil && len(s.Turns) != n {
			err = fmt.Errorf("%d turns, and problems %v", len(s.Turns), s.Problems)
		}
		return err
	}}, os.WriteFile(path, b.Bytes(), 0o600)
}
