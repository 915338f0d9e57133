package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// callTime is the maximum time of a call.
const callTime = 30 * time.Second

// Result is the end of a case for a contestant.
type Result struct {
	Case       string  `json:"case"`
	Contestant string  `json:"contestant"`
	Verdict    Verdict `json:"verdict"`
	Why        string  `json:"why,omitempty"`
	Answer     string  `json:"answer,omitempty"` // its beginning
	Sent       int     `json:"sent"`             // bytes that a model writes
	Received   int     `json:"received"`         // bytes that a model reads
	MS         float64 `json:"ms"`               // time of the judged call
	Remedy     Verdict `json:"remedy,omitempty"` // after a refusal: the end after the step that the answer names
	Calls      int     `json:"calls,omitempty"`  // made for the remedy
}

// player runs cases with one contestant. It keeps a session for each mode.
type player struct {
	*Contestant
	lab      *Lab
	root     string // directory of all sessions
	sessions map[Mode]Session
	dirs     int
}

func newPlayer(l *Lab, c *Contestant) (*player, error) {
	root, err := os.MkdirTemp(l.Dir, "work-")
	return &player{Contestant: c, lab: l, root: root, sessions: map[Mode]Session{}}, err
}

func (p *player) close() {
	for m, s := range p.sessions {
		_ = s.Close() // its process has ended in any case
		delete(p.sessions, m)
	}
}

// session returns the session of a mode.
func (p *player) session(ctx context.Context, m Mode) (Session, error) {
	if s := p.sessions[m]; s != nil {
		return s, nil
	}
	s, err := p.start(ctx, p.root, m)
	if err != nil {
		return nil, err
	}
	p.sessions[m] = s
	return s, nil
}

// start starts a session in root whose refusals are all marked as such.
func (p *player) start(ctx context.Context, root string, m Mode) (Session, error) {
	s, err := p.Start(ctx, p.lab, root, m)
	if err != nil || p.Refusal == "" {
		return s, err
	}
	pattern, err := regexp.Compile(p.Refusal)
	return &markedSession{s, pattern}, err
}

// markedSession is a session of a contestant that reports some refusals as plain text.
type markedSession struct {
	Session
	refusal *regexp.Regexp
}

func (s *markedSession) Call(ctx context.Context, c Call) (Answer, error) {
	a, err := s.Session.Call(ctx, c)
	a.Refused = a.Refused || s.refusal.MatchString(a.Text)
	return a, err
}

// drop ends a session that no longer answers.
func (p *player) drop(m Mode) {
	if s := p.sessions[m]; s != nil {
		s.Kill()
		_ = s.Close() // it was killed
		delete(p.sessions, m)
	}
}

// dir creates the directory of a case.
func (p *player) dir() (string, error) {
	p.dirs++
	dir := filepath.Join(p.root, fmt.Sprintf("case-%d", p.dirs))
	return dir, os.Mkdir(dir, 0o755)
}

// traffic counts what a model writes and reads in calls.
type traffic struct{ sent, received, calls int }

func (t *traffic) call(ctx context.Context, s Session, c Call) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	a, err := s.Call(ctx, c)
	t.sent, t.received, t.calls = t.sent+c.size(), t.received+len(a.Text), t.calls+1
	return a, err
}

// read reads a file to its end, and returns all answers.
func (p *player) read(ctx context.Context, t *traffic, s Session, path string) (Answer, error) {
	a, err := t.call(ctx, s, p.Read(path))
	for all := a; err == nil && !all.Refused && p.More != nil; {
		next, ok := p.More(path, a.Text)
		if !ok {
			return all, nil
		}
		a, err = t.call(ctx, s, next)
		all = Answer{all.Text + a.Text, a.Refused}
		if err != nil || a.Refused {
			return all, err
		}
	}
	return a, err
}

// operation returns the contestant's call for an operation.
func (p *player) operation(do Do, path, before, seen string) (Call, error) {
	switch {
	case do.Kind == Edit && p.Edit != nil:
		c := changeOf(path, before, do.After)
		c.Seen = seen
		return p.Edit(c), nil
	case do.Kind == Write && p.Write != nil:
		return p.Write(path, do.After, seen), nil
	case do.Kind == Patch && p.Patch != nil:
		return p.Patch(path, do.Diff, seen), nil
	case do.Kind == Replace && p.Replace != nil:
		return p.Replace(path, do.Old, do.New), nil
	case do.Kind == Shell && p.Shell != nil:
		return p.Shell(do.Command, filepath.Dir(path)), nil
	}
	return Call{}, errNotOffered
}

// play runs a case.
func (p *player) play(ctx context.Context, c *Case) Result {
	r := Result{Case: c.ID, Contestant: p.Name}
	mode := Edits
	if c.Unasked {
		mode = Default
	}
	err := p.try(ctx, c, mode, &r)
	switch {
	case errors.Is(err, errNotOffered):
		r.Verdict = None
	case err != nil:
		r.Verdict, r.Why = Wrong, "no answer: "+firstOf(err.Error())
		p.drop(mode)
	}
	return r
}

func (p *player) try(ctx context.Context, c *Case, mode Mode, r *Result) error {
	if _, err := p.operation(c.Do, target, "", ""); err != nil {
		return err
	}
	dir, err := p.dir()
	if err != nil {
		return err
	}
	if err := c.Files.put(dir); err != nil {
		return err
	}
	if c.Do.Kind == Shell {
		if out, err := exec.CommandContext(ctx, "git", "-C", dir, "init", "-q").CombinedOutput(); err != nil {
			return fmt.Errorf("git init: %w: %s", err, out)
		}
	}
	s, err := p.session(ctx, mode)
	if err != nil {
		return err
	}
	var t traffic
	path, seen := filepath.Join(dir, target), ""
	if !c.Unread {
		a, err := p.read(ctx, &t, s, path)
		switch {
		case err != nil:
			return err
		case a.Refused:
			r.Verdict, r.Answer = Refused, short(a.Text) // it does not open the file
			return nil
		}
		seen = a.Text
	}
	if err := c.Outside.put(dir); err != nil {
		return err
	}
	before := c.Files[target].Text
	if link := c.Files[target].Link; link != "" {
		before = c.Files[link].Text
	}
	call, err := p.operation(c.Do, path, before, seen)
	if err != nil {
		return err
	}
	began := time.Now()
	a, err := t.call(ctx, s, call)
	r.MS = float64(time.Since(began).Microseconds()) / 1000
	r.Sent, r.Received = t.sent, t.received
	if err != nil {
		return err
	}
	got, err := found(dir)
	if err != nil {
		return err
	}
	r.Verdict, r.Why = c.judge(a, got)
	if r.Verdict != Done {
		r.Answer = short(strings.ReplaceAll(a.Text, p.root, "DIR"))
	}
	if r.Verdict == Refused && len(c.Done) > 0 && c.Do.Kind != Shell {
		if err := p.remedy(ctx, c, s, path, a.Text, r); err != nil {
			p.drop(mode) // the verdict of the case stands
		}
	}
	return nil
}

// remedyCalls is the maximum number of calls after a refusal.
const remedyCalls = 3

// remedy does what a model does after a refusal: it makes the retry that the answer offers, or else
// reads the file again and makes the change to the text that it finds, so that both changes are in the
// file. It records the end.
func (p *player) remedy(ctx context.Context, c *Case, s Session, path, refusal string, r *Result) error {
	call, offered := Call{}, false
	if p.Retry != nil {
		call, offered = p.Retry(path, refusal)
	}
	var t traffic
	if !offered {
		seen, err := p.read(ctx, &t, s, path)
		if err != nil || seen.Refused {
			return err
		}
		now, err := os.ReadFile(path)
		if err != nil {
			return nil //nolint:nilerr // the file does not exist any more
		}
		name := target
		if link := c.Files[target].Link; link != "" {
			name = link
		}
		do := Do{Kind: Edit, After: c.Done[0][name].Text}
		if c.Do.Kind == Write {
			do.Kind = Write
		}
		if call, err = p.operation(do, path, string(now), seen.Text); err != nil || do.After == string(now) {
			return nil //nolint:nilerr // it has no tool for the step, or there is nothing left to do
		}
	}
	a, err := t.call(ctx, s, call)
	if err != nil {
		return err
	}
	got, err := found(filepath.Dir(path))
	if err != nil {
		return err
	}
	if r.Calls = t.calls; t.calls <= remedyCalls {
		r.Remedy, _ = c.judge(a, got)
	}
	return nil
}

func firstOf(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
