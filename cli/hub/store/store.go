// Package store keeps jobs, their states and their logs in JetStream: a work queue with one
// consumer for each workspace, a bucket of states, a bucket of cancellations and a stream of logs.
// It writes no queue, lock or log of its own, and does not know how a job is run.
package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fettle-dev/fettle/cli/hub/natsbus"
)

// Version is the version of the values in the store.
const Version = 1

// Prefix begins the subjects of the hub.
const Prefix = natsbus.DefaultPrefix + "."

// Names of streams and buckets.
const (
	jobs         = "FETTLE_JOBS"
	logs         = "FETTLE_LOG"
	LedgerStream = "FETTLE_LEDGER"
	states       = "FETTLE_STATE"
	leases       = "FETTLE_LEASE"
	cancels      = "FETTLE_CANCEL"
)

// Status is the state of a job.
type Status string

// The states of a job. The last three are final.
const (
	Queued    Status = "queued"
	Running   Status = "running"
	Done      Status = "done"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Final reports whether a job in this state has ended.
func (s Status) Final() bool { return s == Done || s == Failed || s == Cancelled }

// Job is a prompt for a workspace, and its state.
type Job struct {
	V         int    `json:"v"`
	ID        string `json:"id"` // also of its session
	Workspace string `json:"workspace"`
	Prompt    string `json:"prompt"`
	By        string `json:"by"` // the submitter
	// Session is the job whose session a restore continues; "": its own. Restore is the checkpoint
	// to restore, such as 1 or 1.2; "": the job is a prompt.
	Session   string    `json:"session,omitempty"`
	Restore   string    `json:"restore,omitempty"`
	Submitted time.Time `json:"submitted"`

	Status   Status    `json:"status"`
	Worker   string    `json:"worker,omitempty"`
	Attempts int       `json:"attempts,omitempty"` // deliveries to a worker
	Updated  time.Time `json:"updated"`
	Answer   string    `json:"answer,omitempty"` // of the model, once done
	Error    string    `json:"error,omitempty"`
	// Unfinished are the calls that have started and whose end is not recorded.
	Unfinished []Unfinished `json:"unfinished,omitempty"`
}

// Unfinished is a call that may have had an effect.
type Unfinished struct {
	CallID string `json:"callId"`
	Tool   string `json:"tool"`
	Text   string `json:"text"`           // the description of the call
	Digest string `json:"digest"`         // of tool and arguments
	File   bool   `json:"file,omitempty"` // see IsFile
}

// IsFile reports whether the hashes of files settle the effect of the call.
func (u Unfinished) IsFile() bool { return u.File }

// Line is one line of the log of a job.
type Line struct {
	V    int       `json:"v"`
	Time time.Time `json:"time"`
	Kind string    `json:"kind"` // prompt, text, call, result, notice, question, state
	Text string    `json:"text"`
}

// ErrVersion is returned for a value that a newer program has written.
var ErrVersion = errors.New("store: a newer program has written this; update this program")

// ErrInvalid is returned for a value that is no job.
var ErrInvalid = errors.New("store: the value is no job")

// Retention limits what the streams keep.
type Retention struct {
	Log      time.Duration // age of logs and of the states of jobs; 0: 30 days
	Ledger   time.Duration // age of ledger entries; 0: forever
	Replicas int           // in a cluster; 0: 1
}

// Setup creates or updates the streams and buckets. It requires an administrator.
func Setup(ctx context.Context, js jetstream.JetStream, r Retention) error {
	if r.Log == 0 {
		r.Log = 30 * 24 * time.Hour
	}
	for _, c := range []jetstream.StreamConfig{
		{Name: jobs, Subjects: []string{Prefix + "job.*"}, Retention: jetstream.WorkQueuePolicy, Duplicates: time.Hour},
		{Name: logs, Subjects: []string{Prefix + "log.>"}, MaxAge: r.Log, AllowDirect: true},
		{Name: LedgerStream, Subjects: []string{Prefix + "ledger.*"}, MaxAge: r.Ledger, DenyDelete: true, DenyPurge: true, AllowDirect: true},
	} {
		c.Replicas = r.Replicas
		if _, err := js.CreateOrUpdateStream(ctx, c); err != nil {
			return fmt.Errorf("store: create the stream %s: %w", c.Name, err)
		}
	}
	for bucket, age := range map[string]time.Duration{states: r.Log, cancels: r.Log, leases: 0} {
		if _, err := js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: bucket, History: 1, TTL: age, Replicas: r.Replicas}); err != nil {
			return fmt.Errorf("store: create the bucket %s: %w", bucket, err)
		}
	}
	return nil
}

// Store is a connection to the streams. It is safe for concurrent use.
type Store struct {
	JS      jetstream.JetStream
	Leases  jetstream.KeyValue
	states  jetstream.KeyValue
	cancels jetstream.KeyValue

	mu         sync.Mutex
	workspaces map[string]string // by ID of a job
}

// requestTime is the time for an acknowledgement of the server.
const requestTime = 5 * time.Second

// Open returns the store of a connection.
func Open(ctx context.Context, nc *nats.Conn) (*Store, error) {
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(requestTime))
	if err != nil {
		return nil, fmt.Errorf("store: open: %w", err)
	}
	s := &Store{JS: js, workspaces: map[string]string{}}
	for bucket, kv := range map[string]*jetstream.KeyValue{leases: &s.Leases, states: &s.states, cancels: &s.cancels} {
		if *kv, err = js.KeyValue(ctx, bucket); err != nil {
			return nil, fmt.Errorf("store: open the bucket %s: %w", bucket, err)
		}
	}
	return s, nil
}

func key(workspace, id string) string { return workspace + "." + id }

// Submit queues a job. A job with the same ID is queued once.
func (s *Store) Submit(ctx context.Context, j Job) error {
	if err := errors.Join(natsbus.CheckToken(j.ID), natsbus.CheckToken(j.Workspace)); err != nil {
		return err
	}
	j.V, j.Status, j.Submitted = Version, Queued, time.Now().UTC()
	j.Updated = j.Submitted
	data, err := json.Marshal(j)
	if err != nil {
		return fmt.Errorf("store: submit: %w", err)
	}
	if _, err := s.states.Create(ctx, key(j.Workspace, j.ID), data); err != nil && !errors.Is(err, jetstream.ErrKeyExists) {
		return fmt.Errorf("store: submit: %w", err)
	}
	if _, err := s.JS.Publish(ctx, Prefix+"job."+j.Workspace, data, jetstream.WithMsgID(j.ID)); err != nil {
		return fmt.Errorf("store: submit: %w", err)
	}
	return nil
}

// ErrNoState is returned for a job whose state does not exist: it was never submitted, or retention
// has removed it.
var ErrNoState = errors.New("store: the job has no state; it has expired or was not submitted")

// Get returns a job and the revision of its state.
func (s *Store) Get(ctx context.Context, workspace, id string) (Job, uint64, error) {
	e, err := s.states.Get(ctx, key(workspace, id))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return Job{}, 0, ErrNoState
	}
	if err != nil {
		return Job{}, 0, fmt.Errorf("store: read the job %.40s: %w", id, err)
	}
	j, err := decode(e.Value())
	if err == nil && (j.ID != id || j.Workspace != workspace) {
		err = fmt.Errorf("%w: it is the state of another job", ErrInvalid)
	}
	return j, e.Revision(), err
}

func decode(data []byte) (Job, error) {
	var j Job
	if err := json.Unmarshal(data, &j); err != nil {
		return j, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if j.V > Version {
		return j, ErrVersion
	}
	if err := errors.Join(natsbus.CheckToken(j.ID), natsbus.CheckToken(j.Workspace)); j.V < 1 || err != nil {
		return j, fmt.Errorf("%w: its version is %d: %w", ErrInvalid, j.V, err)
	}
	return j, nil
}

// Put stores the state of a job, if its revision is still the given one.
func (s *Store) Put(ctx context.Context, j Job, revision uint64) (uint64, error) {
	j.Updated = time.Now().UTC()
	data, err := json.Marshal(j)
	if err != nil {
		return 0, fmt.Errorf("store: write the job %s: %w", j.ID, err)
	}
	r, err := s.states.Update(ctx, key(j.Workspace, j.ID), data, revision)
	if err != nil {
		return 0, fmt.Errorf("store: write the job %s: %w", j.ID, err)
	}
	return r, nil
}

// List returns all jobs, the newest first. Values of newer programs are omitted.
func (s *Store) List(ctx context.Context) ([]Job, error) { return s.list(ctx, ">") }

// list returns the jobs whose keys match a pattern, the newest first.
func (s *Store) list(ctx context.Context, keys string) ([]Job, error) {
	w, err := s.states.Watch(ctx, keys, jetstream.IgnoreDeletes())
	if err != nil {
		return nil, fmt.Errorf("store: list jobs: %w", err)
	}
	defer func() { _ = w.Stop() }()
	var all []Job
	for {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("store: list jobs: %w", ctx.Err())
		case e := <-w.Updates():
			if e == nil { // the current values are complete
				slices.SortFunc(all, func(a, b Job) int {
					if c := b.Submitted.Compare(a.Submitted); c != 0 {
						return c
					}
					return strings.Compare(a.ID, b.ID)
				})
				return all, nil
			}
			if j, err := decode(e.Value()); err == nil {
				all = append(all, j)
			}
		}
	}
}

// Find returns the job with an ID, or the only one whose ID begins with it.
func (s *Store) Find(ctx context.Context, ref string) (Job, error) {
	if natsbus.CheckToken(ref) == nil { // a whole ID needs no list of all jobs
		s.mu.Lock()
		workspace := s.workspaces[ref]
		s.mu.Unlock()
		if workspace != "" {
			if j, _, err := s.Get(ctx, workspace, ref); err == nil {
				return j, nil
			}
		}
		if found, err := s.list(ctx, key("*", ref)); err == nil && len(found) == 1 {
			s.remember(found[0])
			return found[0], nil
		}
	}
	all, err := s.List(ctx)
	if err != nil {
		return Job{}, err
	}
	var found []Job
	for _, j := range all {
		if j.ID == ref {
			return j, nil
		}
		if ref != "" && strings.HasPrefix(j.ID, ref) {
			found = append(found, j)
		}
	}
	if len(found) != 1 {
		return Job{}, fmt.Errorf("store: %d jobs have an ID that begins with %.40q: fettle-hub jobs lists them", len(found), ref)
	}
	return found[0], nil
}

// remembered is the number of jobs whose workspaces are remembered, for those that are followed.
const remembered = 10_000

func (s *Store) remember(j Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.workspaces) >= remembered {
		clear(s.workspaces)
	}
	s.workspaces[j.ID] = j.Workspace
}

// Cancel requests the end of a job: for good in the bucket, and at once if its worker is connected.
func (s *Store) Cancel(ctx context.Context, nc *nats.Conn, j Job, by string) error {
	if _, err := s.cancels.Put(ctx, j.ID, []byte(by)); err != nil {
		return fmt.Errorf("store: cancel the job %s: %w", j.ID, err)
	}
	return nc.Publish(Prefix+"cancel."+j.Workspace, []byte(j.ID))
}

// CancelledBy returns who has cancelled a job; "": no user.
func (s *Store) CancelledBy(ctx context.Context, id string) (string, error) {
	e, err := s.cancels.Get(ctx, id)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("store: read the cancellation of %s: %w", id, err)
	}
	return string(e.Value()), nil
}

// Queue returns the consumer of a workspace. wait is the time after which a job whose worker is
// silent is delivered again.
func (s *Store) Queue(ctx context.Context, workspace string, wait time.Duration) (jetstream.Consumer, error) {
	c, err := s.JS.CreateOrUpdateConsumer(ctx, jobs, jetstream.ConsumerConfig{
		Durable: workspace, FilterSubject: Prefix + "job." + workspace, AckPolicy: jetstream.AckExplicitPolicy, AckWait: wait, MaxAckPending: 1, MaxDeliver: -1,
	})
	if err != nil {
		return nil, fmt.Errorf("store: open the queue of %s: %w", workspace, err)
	}
	return c, nil
}

// Decode returns the job of a message of the queue of a workspace. A message that the server has
// sent out of a stream is refused: the subject of such a message is chosen by its reader.
func Decode(m jetstream.Msg, workspace string) (Job, error) {
	if m.Headers().Get(jetstream.StreamHeader) != "" {
		return Job{}, fmt.Errorf("%w: the message was copied from a stream", ErrInvalid)
	}
	j, err := decode(m.Data())
	if err == nil && j.Workspace != workspace {
		return j, fmt.Errorf("%w of the workspace %s: its workspace is %s", ErrInvalid, workspace, j.Workspace)
	}
	return j, err
}

// Log appends a line to the log of a job, and returns once it is stored.
func (s *Store) Log(ctx context.Context, workspace, id string, l Line) error {
	l.V = Version
	data, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("store: log: %w", err)
	}
	if _, err := s.JS.Publish(ctx, Prefix+"log."+workspace+"."+id, data); err != nil {
		return fmt.Errorf("store: log: %w", err)
	}
	return nil
}

// Read returns up to limit messages of a stream with a subject, from a sequence number on, and the
// number after the last one.
func (s *Store) Read(ctx context.Context, stream, subject string, from uint64, limit int) ([]jetstream.RawStreamMsg, uint64, error) {
	st, err := s.JS.Stream(ctx, stream)
	if err != nil {
		return nil, from, fmt.Errorf("store: read %s: %w", stream, err)
	}
	var all []jetstream.RawStreamMsg
	for len(all) < limit {
		m, err := st.GetMsg(ctx, max(from, 1), jetstream.WithGetMsgSubject(subject))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return all, from, nil
		}
		if err != nil {
			return all, from, fmt.Errorf("store: read %s: %w", stream, err)
		}
		all = append(all, *m)
		from = m.Sequence + 1
	}
	return all, from, nil
}

// Lines returns up to limit lines of the log of a job, from a number on, and the number after the
// last one.
func (s *Store) Lines(ctx context.Context, j Job, from uint64, limit int) ([]Line, uint64, error) {
	raw, next, err := s.Read(ctx, logs, Prefix+"log."+j.Workspace+"."+j.ID, from, limit)
	lines := make([]Line, 0, len(raw))
	for _, m := range raw {
		var l Line
		if json.Unmarshal(m.Data, &l) == nil && l.V <= Version {
			lines = append(lines, l)
		}
	}
	return lines, next, err
}
