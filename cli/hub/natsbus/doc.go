// Package natsbus connects the message bus of a session to NATS, so that front ends on other
// machines see its events and answer its questions.
//
// [Attach] runs beside the session, and [Watch] in a front end. The data of each message is the
// JSON of package bus, unchanged; its headers have the version of the protocol, the session and a
// sequence number. The subjects below the prefix are:
//
//	event.SESSION          events, from the session
//	ask.SESSION            questions and their ends, from the session
//	answer.SESSION.ACTOR   answers: requests to the session
//	hello                  from a front end: the sessions repeat their open questions
//
// The name of the answering user is part of the subject, so that a NATS server can enforce it
// with permissions. An answer contains the digest of the question as the front end received it;
// an answer to anything else is refused. The first answer ends the question, and a question
// without an answer within its time ends without an approver, which is a no.
//
// A session never waits for a front end or for the server: events that cannot be sent are dropped
// and counted, and the sequence numbers show the gap to each front end. The package does not know
// what a session is beyond its bus, nor how users are authenticated.
//
// Replies go only to subjects that begin with _INBOX, as those of nats.go do, also with
// nats.CustomInboxPrefix("_INBOX_NAME").
package natsbus

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/fettle-dev/fettle/core/bus"
)

// Version is the version of the protocol. A message with another version is refused.
const Version = "1"

// DefaultPrefix begins all subjects, unless options set another prefix.
const DefaultPrefix = "fettle.v" + Version

// The headers of messages.
const (
	headerVersion = "Fettle-Version"
	headerSession = "Fettle-Session"
	headerSeq     = "Fettle-Seq"     // of an event: 1, 2, …, dropped ones included
	headerDropped = "Fettle-Dropped" // number of events dropped so far
	headerKind    = "Fettle-Kind"    // on ask: a question, its end, or the begin of the session
	headerID      = "Fettle-Id"      // correlation id of a question
	headerExpires = "Fettle-Expires" // end of the time for an answer, RFC 3339
	headerReason  = "Fettle-Reason"  // of the end of a question: a code
	headerActor   = "Fettle-Actor"   // who answered
	headerDigest  = "Fettle-Digest"  // of an answer: digest of the question
	headerError   = "Fettle-Error"   // of a reply to an answer: a code; absent: accepted
)

// The values of headerKind.
const (
	kindStarted  = "started" // the session is connected anew: its earlier questions have ended
	kindQuestion = "question"
	kindSettled  = "settled"
)

// Errors of an answer, in addition to those of package bus.
var (
	// ErrDigest is returned for an answer to a question that differs from the open one.
	ErrDigest = errors.New("natsbus: the answer is for a question with another content")
	// ErrOutcome is returned for an outcome that the question does not offer.
	ErrOutcome = errors.New("natsbus: the question does not offer this outcome")
	// ErrVersion is returned for a message of another version of the protocol.
	ErrVersion = errors.New("natsbus: the other side uses another version of the protocol; update the older program")
	// ErrRefused is returned if [Options].Answered refuses an answer, for example because it cannot
	// be recorded. The question stays open.
	ErrRefused = errors.New("natsbus: the session cannot record the answer now; answer again later")
	// ErrGone is returned if no session receives the answer.
	ErrGone = errors.New("natsbus: the session is not connected; retry once it is")
)

// codes are the errors that cross the network.
func codes() map[string]error {
	return map[string]error{
		"answered": bus.ErrAnswered, "withdrawn": bus.ErrWithdrawn, "unknown": bus.ErrUnknownQuestion, "invalid": bus.ErrInvalid,
		"closed": bus.ErrClosed, "digest": ErrDigest, "outcome": ErrOutcome, "refused": ErrRefused, "version": ErrVersion, "no-approver": bus.ErrNoApprover,
	}
}

// codeOf returns the code of an error; "invalid" for an unknown one.
func codeOf(err error) string {
	for code, one := range codes() {
		if errors.Is(err, one) {
			return code
		}
	}
	return "invalid"
}

// errorOf returns the error of a code.
func errorOf(code string) error {
	if err, ok := codes()[code]; ok {
		return err
	}
	return fmt.Errorf("%w: code %.40q", bus.ErrInvalid, code)
}

// Digest returns the digest of a question as it was received: SHA-256 in hex over the session and
// the data of the message.
func Digest(session string, data []byte) string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "fettle question %s\n%s\n", Version, session)
	_, _ = h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

// CheckToken returns an error if a name cannot be one token of a subject: 1 to 128 letters, digits
// and the characters - and _.
func CheckToken(name string) error {
	bad := strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
	if name == "" || len(name) > 128 || bad {
		return fmt.Errorf("natsbus: the name %.140q is invalid: use 1 to 128 letters, digits, - and _", name)
	}
	return nil
}

// CheckSession returns an error if id is not one or more tokens that are joined by dots. The first
// tokens can group sessions, so that the server's permissions apply to a group.
func CheckSession(id string) error {
	for token := range strings.SplitSeq(id, ".") {
		if err := CheckToken(token); err != nil {
			return err
		}
	}
	return nil
}

// fromStream reports whether a server with JetStream sent the message out of a stream. A user who
// may read a stream chooses the subject of such a message, so it proves nothing about its sender.
func fromStream(m *nats.Msg) bool { return m.Header.Get(nats.JSStream) != "" }

// inboxes begins the subjects to which a session replies. The sender of a request chooses the
// subject of its reply, so other subjects could be written in the name of the session.
const inboxes = "_INBOX"

// message returns a message with the headers that each one has.
func message(subject, session string, data []byte) *nats.Msg {
	m := nats.NewMsg(subject)
	m.Header.Set(headerVersion, Version)
	m.Header.Set(headerSession, session)
	m.Data = data
	return m
}
