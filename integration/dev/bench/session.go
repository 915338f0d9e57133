package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// session is a Config in a directory of its own without an approver. Its clock is so late that no
// file is racily clean. It has a tool noop that does nothing.
type session struct {
	dir    string
	config *config.Config
	calls  *scheduler.Scheduler
}

// showsAll returns limits within which one call shows every file of the cases.
func showsAll() filestate.Limits {
	return filestate.Limits{Lines: 1 << 20, Bytes: 8 << 20, ResultBytes: -1}
}

// newSession creates a session. Each change may alter its Parameters.
func newSession(ctx context.Context, lab *Lab, change ...func(*config.Parameters)) (*session, error) {
	noop, err := tools.Define("noop", "Does nothing.", tools.KindRead,
		func(context.Context, file.ReadFileParams) (tools.Result, error) {
			return tools.Result{LLMContent: tools.Text("done")}, nil
		})
	if err != nil {
		return nil, err
	}
	dir, err := lab.TempDir("session")
	if err != nil {
		return nil, err
	}
	home, err := lab.TempDir("session-home")
	if err != nil {
		return nil, err
	}
	p := config.Parameters{
		TargetDir: dir, Environment: config.Environment{HomeDir: home, Now: func() time.Time { return time.Now().Add(time.Hour) }}, Policy: config.Policy{ApprovalMode: policy.ModeYolo}, Session: config.Session{Limits: showsAll()},
		Tools: config.Tools{Own: []tools.DeclarativeTool{noop}},
	}
	for _, f := range change {
		f(&p)
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
	return &session{dir: dir, config: c, calls: calls}, nil
}

// write writes a file in the session's directory and returns its path.
func (s *session) write(name, content string) (string, error) {
	path := filepath.Join(s.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, []byte(content), 0o644)
}

// call makes a call, which must succeed.
func (s *session) call(ctx context.Context, r scheduler.Request) (scheduler.Response, error) {
	response := s.calls.Run(ctx, r)
	if response.Status == scheduler.StatusSuccess {
		return response, nil
	}
	if response.Result.Error != nil {
		return response, response.Result.Error
	}
	return response, fmt.Errorf("%s ended with status %s", r.Tool, response.Status)
}

func request(tool string, args any) (scheduler.Request, error) {
	raw, err := json.Marshal(args)
	return scheduler.Request{CallID: "c", Tool: tool, Args: raw}, err
}

// caller prepares a call that is repeated in a session that setup has prepared.
func caller(tool string, args any, setup func(ctx context.Context, s *session) error, change ...func(*config.Parameters)) func(context.Context, *Lab) (*Prepared, error) {
	return func(ctx context.Context, lab *Lab) (*Prepared, error) {
		r, err := request(tool, args)
		if err != nil {
			return nil, err
		}
		s, err := newSession(ctx, lab, change...)
		if err != nil {
			return nil, err
		}
		if setup != nil {
			if err := setup(ctx, s); err != nil {
				return nil, errors.Join(err, s.config.Close())
			}
		}
		return &Prepared{InProcess: true, Close: s.config.Close, Run: timed(func(ctx context.Context) error {
			_, err := s.call(ctx, r)
			return err
		})}, nil
	}
}
