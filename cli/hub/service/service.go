// Package service answers the requests of users: submit a job, list jobs, read a log or a ledger,
// cancel a job. The user's name is the last token of the subject, which the server's permissions
// enforce, so that only this package and the workers use JetStream. Several services may run on a
// cluster; each request is answered by one.
package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fettle-dev/fettle/cli/hub/keys"
	"github.com/fettle-dev/fettle/cli/hub/natsbus"
	"github.com/fettle-dev/fettle/cli/hub/store"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
)

// Version is the version of requests and responses.
const Version = 1

// Methods of requests.
const (
	Submit = "submit"
	Cancel = "cancel"
	Jobs   = "jobs"
	Logs   = "logs"
	Ledger = "ledger"
	// Restore submits a job that restores a checkpoint of an ended job.
	Restore = "restore"
)

const (
	maxPrompt  = 256 << 10        // bytes
	maxJobs    = 500              // in a list
	maxLines   = 200              // in a response
	maxListed  = 300              // runes of a prompt or an answer in a list
	limit      = 32               // requests at once
	handleTime = 20 * time.Second // of one request
)

// Request is a request of a user.
type Request struct {
	V         int    `json:"v"`
	ID        string `json:"id,omitempty"`        // of a job; for logs and cancel its beginning
	Workspace string `json:"workspace,omitempty"` // of submit
	Prompt    string `json:"prompt,omitempty"`    // of submit
	Restore   string `json:"restore,omitempty"`   // of restore: the checkpoint of the job ID
	Worker    string `json:"worker,omitempty"`    // of ledger; "": list the workers
	From      uint64 `json:"from,omitempty"`      // of logs and ledger: the Next of the last response
}

// Response is the response to a [Request].
type Response struct {
	V       int          `json:"v"`
	Error   string       `json:"error,omitempty"`
	Job     *store.Job   `json:"job,omitempty"`
	Jobs    []store.Job  `json:"jobs,omitempty"`
	Lines   []store.Line `json:"lines,omitempty"`
	Workers []string     `json:"workers,omitempty"`
	Entries [][]byte     `json:"entries,omitempty"` // of a ledger, as stored
	Next    uint64       `json:"next,omitempty"`
}

// Service answers requests. Its methods are those of the requests, for callers in the same process.
type Service struct {
	nc    *nats.Conn
	store *store.Store
	sub   *nats.Subscription
	stop  context.CancelFunc
	slots chan struct{}
	work  sync.WaitGroup
}

// Start answers requests until Close.
func Start(ctx context.Context, nc *nats.Conn, st *store.Store) (*Service, error) {
	ctx, cancel := context.WithCancel(ctx)
	s := &Service{nc: nc, store: st, stop: cancel, slots: make(chan struct{}, limit)}
	var err error
	if s.sub, err = nc.QueueSubscribe(store.Prefix+"api.*.*", "fettle-hub", func(m *nats.Msg) {
		select {
		case s.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		s.work.Go(func() {
			defer func() { <-s.slots }()
			s.handle(ctx, m)
		})
	}); err != nil {
		cancel()
		return nil, fmt.Errorf("service: start: %w", err)
	}
	return s, nil
}

// Close ends the service.
func (s *Service) Close() error {
	s.stop()
	err := s.sub.Unsubscribe()
	s.work.Wait()
	if errors.Is(err, nats.ErrConnectionClosed) {
		return nil
	}
	return err
}

func (s *Service) handle(ctx context.Context, m *nats.Msg) {
	ctx, cancel := context.WithTimeout(ctx, handleTime)
	defer cancel()
	tokens := strings.Split(strings.TrimPrefix(m.Subject, store.Prefix), ".") // api, method, user
	// The permissions of the sender do not cover the subject of the reply, which the hub may publish
	// to. The server itself sends messages out of streams, to any subject that a reader names.
	if !strings.HasPrefix(m.Reply, keys.Inbox(tokens[2])+".") || m.Header.Get(jetstream.StreamHeader) != "" {
		return
	}
	r, err := s.answer(ctx, tokens[1], tokens[2], m.Data)
	r.V = Version
	if err != nil {
		r = Response{V: Version, Error: err.Error()}
	}
	data, err := json.Marshal(r)
	if err == nil {
		_ = m.Respond(data) // without a reply the client's request ends with its time
	}
}

func (s *Service) answer(ctx context.Context, method, user string, data []byte) (Response, error) {
	var q Request
	if err := json.Unmarshal(data, &q); err != nil {
		return Response{}, errors.New("the request is not valid JSON")
	}
	if q.V != Version {
		return Response{}, fmt.Errorf("the request has the version %d and the hub has %d: update the older program", q.V, Version)
	}
	return s.Do(ctx, method, user, q)
}

// Do runs a request of a user.
func (s *Service) Do(ctx context.Context, method, user string, q Request) (r Response, err error) {
	switch method {
	case Submit:
		return s.submit(ctx, user, q)
	case Jobs:
		all, err := s.store.List(ctx)
		for i := range all {
			all[i].Prompt, all[i].Answer = shortened(all[i].Prompt), shortened(all[i].Answer)
		}
		return Response{Jobs: all[:min(len(all), maxJobs)]}, err
	case Logs:
		j, err := s.store.Find(ctx, q.ID)
		if err != nil {
			return r, err
		}
		lines, next, err := s.store.Lines(ctx, j, q.From, maxLines)
		return Response{Job: &j, Lines: lines, Next: next}, err
	case Cancel:
		j, err := s.store.Find(ctx, q.ID)
		if err != nil {
			return r, err
		}
		if j.Status.Final() {
			return r, fmt.Errorf("the job %s has ended already: it is %s", j.ID, j.Status)
		}
		return Response{Job: &j}, s.store.Cancel(ctx, s.nc, j, user)
	case Ledger:
		return s.ledger(ctx, q)
	case Restore:
		return s.restore(ctx, user, q)
	}
	return r, fmt.Errorf("the method %.40q is unknown", method)
}

func shortened(text string) string {
	if utf8.RuneCountInString(text) <= maxListed {
		return text
	}
	return string([]rune(text)[:maxListed-1]) + "…"
}

func (s *Service) submit(ctx context.Context, user string, q Request) (Response, error) {
	j := store.Job{ID: q.ID, Workspace: q.Workspace, Prompt: q.Prompt, By: user}
	if j.ID == "" {
		j.ID = bus.NewID()
	}
	switch {
	case strings.TrimSpace(q.Prompt) == "":
		return Response{}, errors.New("the prompt is empty")
	case len(q.Prompt) > maxPrompt || !utf8.ValidString(q.Prompt):
		return Response{}, fmt.Errorf("the prompt must be UTF-8 text of at most %d bytes", maxPrompt)
	case natsbus.CheckToken(q.Workspace) != nil:
		return Response{}, fmt.Errorf("the workspace %.140q is invalid: use letters, digits, - and _", q.Workspace)
	}
	return Response{Job: &j}, s.store.Submit(ctx, j)
}

func (s *Service) restore(ctx context.Context, user string, q Request) (Response, error) {
	if _, err := checkpoint.ParseSelection(q.Restore); err != nil {
		return Response{}, err
	}
	of, err := s.store.Find(ctx, q.ID)
	if err != nil {
		return Response{}, err
	}
	if !of.Status.Final() || of.Restore != "" {
		return Response{}, fmt.Errorf("the job %s is %s: only an ended prompt can be restored", of.ID, of.Status)
	}
	j := store.Job{ID: bus.NewID(), Workspace: of.Workspace, By: user, Session: of.ID, Restore: q.Restore, Prompt: "Restore the checkpoint " + q.Restore + " of the job " + of.ID + "."}
	return Response{Job: &j}, s.store.Submit(ctx, j)
}

func (s *Service) ledger(ctx context.Context, q Request) (Response, error) {
	if q.Worker == "" {
		stream, err := s.store.JS.Stream(ctx, store.LedgerStream)
		if err != nil {
			return Response{}, err
		}
		info, err := stream.Info(ctx, jetstream.WithSubjectFilter(store.Prefix+"ledger.*"))
		if err != nil {
			return Response{}, err
		}
		var names []string
		for subject := range info.State.Subjects {
			names = append(names, strings.TrimPrefix(subject, store.Prefix+"ledger."))
		}
		slices.Sort(names)
		return Response{Workers: names}, nil
	}
	if err := natsbus.CheckToken(q.Worker); err != nil {
		return Response{}, err
	}
	raw, next, err := s.store.Read(ctx, store.LedgerStream, store.Prefix+"ledger."+q.Worker, q.From, maxLines)
	r := Response{Next: next}
	for _, m := range raw {
		r.Entries = append(r.Entries, m.Data)
	}
	return r, err
}

// Call sends a request as a user, and returns the response.
func Call(ctx context.Context, nc *nats.Conn, user, method string, q Request) (Response, error) {
	q.V = Version
	data, err := json.Marshal(q)
	if err != nil {
		return Response{}, fmt.Errorf("service: %s: %w", method, err)
	}
	ctx, cancel := context.WithTimeout(ctx, handleTime)
	defer cancel()
	m, err := nc.RequestWithContext(ctx, store.Prefix+"api."+method+"."+user, data)
	if err != nil {
		return Response{}, fmt.Errorf("service: the hub does not answer the request %s; it may lack the permission or fettle-hub serve may not run: %w", method, err)
	}
	var r Response
	if err := json.Unmarshal(m.Data, &r); err != nil || r.V != Version {
		return Response{}, fmt.Errorf("service: the response to %s has another version: update the older program", method)
	}
	if r.Error != "" {
		return r, errors.New(r.Error)
	}
	return r, nil
}
