// Package ledger records the calls of workers as a chain: each entry contains the hash of the
// previous one, and is signed with the worker's NKey. [Verify] proves without the hub that no
// entry between two others is changed, missing or inserted. It does not know what the calls do.
package ledger

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
)

// Version is the version of the entries.
const Version = 1

// Event is the moment of a call that an entry records.
type Event string

// The events.
const (
	Begin  Event = "begin"  // the call was allowed, and starts
	End    Event = "end"    // the call has ended
	Answer Event = "answer" // an approver has answered a question
)

// File is a file of a call, with the hash of its content: lower-case hex SHA-256, "" if the file
// does not exist or was not read.
type File struct {
	Path string `json:"path"`
	Base string `json:"base,omitempty"` // at the begin
	New  string `json:"new,omitempty"`  // at the end
}

// Entry is one entry. Record sets V, Seq, Time, Worker and Previous.
type Entry struct {
	V         int       `json:"v"`
	Seq       uint64    `json:"seq"` // 1, 2, … in the chain of a worker
	Time      time.Time `json:"time"`
	Worker    string    `json:"worker"` // public NKey
	Workspace string    `json:"workspace"`
	Job       string    `json:"job"`
	Event     Event     `json:"event"`
	CallID    string    `json:"callId,omitempty"`
	Tool      string    `json:"tool,omitempty"`
	Arguments string    `json:"arguments,omitempty"` // SHA-256 of tool and arguments
	Files     []File    `json:"files,omitempty"`
	Actor     string    `json:"actor,omitempty"`    // who approved; policy: a rule allowed it
	Approval  string    `json:"approval,omitempty"` // the outcome of the approver
	Previous  string    `json:"previous"`           // hash of the previous entry; "": the first one
}

// Signed is an entry as it is stored: its exact bytes and their signature.
type Signed struct {
	Entry     json.RawMessage `json:"entry"`
	Signature string          `json:"signature"` // base64 of the NKey signature of the hash
}

// Hash returns the hash of the bytes of an entry: SHA-256 in hex.
func Hash(entry []byte) string {
	sum := sha256.Sum256(entry)
	return hex.EncodeToString(sum[:])
}

// Ledger appends to the chain of one worker. It is safe for concurrent use.
type Ledger struct {
	js      jetstream.JetStream
	stream  string
	subject string
	pair    nkeys.KeyPair
	public  string

	mu       sync.Mutex
	known    bool   // the fields below are those of the last entry
	seq      uint64 // of the chain
	sequence uint64 // of the stream
	previous string
}

// New returns the ledger of the worker with a key. subject is the worker's own in the stream.
func New(js jetstream.JetStream, stream, subject string, pair nkeys.KeyPair) (*Ledger, error) {
	public, err := pair.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("ledger: key: %w", err)
	}
	return &Ledger{js: js, stream: stream, subject: subject, pair: pair, public: public}, nil
}

// Record appends an entry, and returns once the server has stored it. Nothing is appended if
// another process has extended the chain meanwhile; a later call continues after it.
func (l *Ledger) Record(ctx context.Context, e Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.known {
		if err := l.last(ctx); err != nil {
			return err
		}
	}
	e.V, e.Seq, e.Time, e.Worker, e.Previous = Version, l.seq+1, time.Now().UTC(), l.public, l.previous
	raw, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("ledger: record: %w", err)
	}
	hash := Hash(raw)
	signature, err := l.pair.Sign([]byte(hash))
	if err != nil {
		return fmt.Errorf("ledger: sign: %w", err)
	}
	data, err := json.Marshal(Signed{raw, base64.StdEncoding.EncodeToString(signature)})
	if err != nil {
		return fmt.Errorf("ledger: record: %w", err)
	}
	l.known = false // until the outcome is certain
	ack, err := l.js.Publish(ctx, l.subject, data, jetstream.WithExpectLastSequencePerSubject(l.sequence), jetstream.WithMsgID(l.public+hash))
	if err != nil {
		return fmt.Errorf("ledger: record: %w", err)
	}
	l.known, l.seq, l.sequence, l.previous = true, e.Seq, ack.Sequence, hash
	return nil
}

// last reads the end of the chain.
func (l *Ledger) last(ctx context.Context) error {
	s, err := l.js.Stream(ctx, l.stream)
	if err != nil {
		return fmt.Errorf("ledger: open: %w", err)
	}
	m, err := s.GetLastMsgForSubject(ctx, l.subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		l.known, l.seq, l.sequence, l.previous = true, 0, 0, ""
		return nil
	}
	if err != nil {
		return fmt.Errorf("ledger: read the last entry: %w", err)
	}
	e, hash, err := check(m.Data)
	if err != nil {
		return err
	}
	if e.Worker != l.public {
		return errors.New("ledger: the last entry is not by this key: give the worker a new name and key, and verify the ledger")
	}
	l.known, l.seq, l.sequence, l.previous = true, e.Seq, m.Sequence, hash
	return nil
}

// check returns an entry with its hash, if its signature is valid.
func check(data []byte) (Entry, string, error) {
	var s Signed
	var e Entry
	if err := json.Unmarshal(data, &s); err != nil {
		return e, "", fmt.Errorf("ledger: read an entry: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(s.Entry))
	if err := d.Decode(&e); err != nil {
		return e, "", fmt.Errorf("ledger: read an entry: %w", err)
	}
	if e.V != Version {
		return e, "", fmt.Errorf("ledger: the entry %d has the version %d: verify it with the program of that version", e.Seq, e.V)
	}
	hash := Hash(s.Entry)
	signature, err := base64.StdEncoding.DecodeString(s.Signature)
	if err != nil {
		return e, hash, fmt.Errorf("ledger: the signature of the entry %d is malformed", e.Seq)
	}
	key, err := nkeys.FromPublicKey(e.Worker)
	if err != nil {
		return e, hash, fmt.Errorf("ledger: the entry %d has an invalid key", e.Seq)
	}
	if err := key.Verify([]byte(hash), signature); err != nil {
		return e, hash, fmt.Errorf("ledger: the signature of the entry %d is invalid", e.Seq)
	}
	return e, hash, nil
}

// Report is the result of [Verify].
type Report struct {
	Worker  string
	Entries int
	Expired uint64 // entries before the first one, which retention has removed
	Head    string // hash of the last entry
	Begun   int    // calls without an end
}

// Verify checks a chain: the stored entries of one worker, in order. key is the worker's public
// NKey; "": that of the first entry. head is the hash of an entry that the chain must contain, such
// as the head of an earlier run; "": none.
func Verify(entries [][]byte, key, head string) (Report, error) {
	r := Report{Worker: key}
	open := map[string]bool{}
	var seq uint64
	found := head == ""
	for i, data := range entries {
		e, hash, err := check(data)
		if err != nil {
			return r, err
		}
		if i == 0 {
			if r.Worker == "" {
				r.Worker = e.Worker
			}
			r.Expired = e.Seq - min(e.Seq, 1)
			seq = e.Seq
		}
		switch {
		case e.Worker != r.Worker:
			return r, fmt.Errorf("ledger: the entry %d is signed by another key", e.Seq)
		case e.Seq == 0 || e.Seq != seq:
			return r, fmt.Errorf("ledger: the entry %d is missing; %d follows", seq, e.Seq)
		case i > 0 && e.Previous != r.Head, e.Seq == 1 && e.Previous != "":
			return r, fmt.Errorf("ledger: the entry %d does not follow the previous one", e.Seq)
		}
		switch e.Event {
		case Begin:
			open[e.Job+" "+e.CallID] = true
		case End:
			delete(open, e.Job+" "+e.CallID)
		case Answer:
		}
		found = found || hash == head
		seq, r.Head = seq+1, hash
		r.Entries++
	}
	r.Begun = len(open)
	if !found {
		return r, errors.New("ledger: the chain does not contain the given head: entries at its end are missing, or retention has removed it")
	}
	return r, nil
}
