package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Figure is a measured value of a contestant. Less is better. A wrong answer leaves no value.
type Figure struct {
	Key        string  `json:"key"`
	Contestant string  `json:"contestant"`
	Value      float64 `json:"value"`
	Failed     string  `json:"failed,omitempty"`
	Note       string  `json:"note,omitempty"`
}

// Measure is a work that ends with figures.
type Measure struct {
	Title string
	Text  string
	Keys  [][2]string // key of a figure and its title
	run   func(ctx context.Context, p *player, quick bool) ([]Figure, error)
}

func measures() []Measure {
	return []Measure{
		{
			"Lost updates", "Eight sessions change their own line of one file at the same time; after a refusal they read and try again, up to 20 times. Another program appends a line every 20 milliseconds. A change is lost if its call succeeded and the line is not in the file at the end, and given up after the last refusal. The retry that an answer may offer is not used, so a contestant that refuses gives up more changes, above all on a busy machine.",
			[][2]string{{"lost", "acknowledged changes that are lost, in 1,000"}, {"lost-appends", "lines of the other program that are lost, in 1,000"}, {"gave-up", "changes that were given up, in 1,000"}}, lostUpdates,
		},
		{
			"Kills", "The process is killed during a change of a file of 2 MB, at 20 moments from the beginning of the call to its end. Right is the file as it was or as it should be, and no other file. After a kill that left one, a new process makes the change, and the other files are counted again.",
			[][2]string{{"torn", "files that are neither old nor new, in 20"}, {"litter", "kills that left another file, in 20"}, {"litter-later", "of these, left after the next change"}}, kills,
		},
		{
			"Bytes of a task", "The bytes that a model writes and reads for a task with a file of 400 lines: all arguments and all texts of answers. Structured content of MCP is not counted. Four bytes are about one token.",
			[][2]string{{"task-one", "read and change a line"}, {"task-ten", "read and change ten lines, one after the other"}, {"task-stale", "read, and change a line after another writer changed another one, until both changes are there"}}, tasks,
		},
		{
			"Declarations", "The bytes that a model gets in each request to know all tools of the contestant. The contestants have different numbers of tools.",
			[][2]string{{"declarations", "names, descriptions and parameters of all tools"}, {"declarations-files", "of the tools that read and change a file"}}, declarations,
		},
	}
}

// lostUpdates lets sessions change one file.
func lostUpdates(ctx context.Context, p *player, quick bool) ([]Figure, error) {
	writers, rounds := 8, 10
	if quick {
		writers, rounds = 3, 5
	}
	root, err := os.MkdirTemp(p.lab.Dir, "lost-")
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(root, "case-1")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, target)
	var text strings.Builder
	for w := range writers {
		fmt.Fprintf(&text, "%swriter %d round 0\n", lines(10), w)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		return nil, err
	}
	var sessions []Session
	defer func() {
		for _, s := range sessions {
			_ = s.Close() // the figures are complete
		}
	}()
	errs := make([]error, writers)
	started := make([]Session, writers)
	var running sync.WaitGroup
	for w := range writers {
		running.Go(func() { started[w], errs[w] = p.start(ctx, root, Edits) })
	}
	running.Wait()
	for _, s := range started {
		if s != nil {
			sessions = append(sessions, s)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	all := make([]writer, writers)
	for w, s := range sessions {
		all[w].prefix = fmt.Sprintf("writer %d round ", w)
		running.Go(func() { errs[w] = p.write(ctx, s, path, &all[w], rounds) })
	}
	stop, appended := make(chan struct{}), make(chan int)
	go func() { appended <- appendLines(path, stop) }()
	running.Wait()
	close(stop)
	count := <-appended
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	lost, up := 0, 0
	for i := range all {
		all[i].find(string(data))
		lost, up = lost+all[i].lost, up+all[i].givenUp
	}
	missing := 0
	for i := range count {
		if !bytes.Contains(data, fmt.Appendf(nil, "appended %d\n", i)) {
			missing++
		}
	}
	per := func(n, of int) float64 { return float64(n) * 1000 / float64(max(1, of)) }
	changes := writers * rounds
	return []Figure{
		{Key: "lost", Value: per(lost, changes), Note: fmt.Sprintf("%d changes", changes)},
		{Key: "lost-appends", Value: per(missing, count), Note: fmt.Sprintf("%d lines", count)},
		{Key: "gave-up", Value: per(up, changes)},
	}, nil
}

// writer is a session that changes its own line.
type writer struct {
	prefix        string // of its line
	last          int    // its last acknowledged round
	lost, givenUp int
}

// find returns the writer's line in a text. If it is not the last acknowledged one, a change was lost.
func (w *writer) find(text string) (string, bool) {
	_, rest, ok := strings.Cut(text, w.prefix)
	round := 0
	if _, err := fmt.Sscan(rest, &round); !ok || err != nil {
		w.lost++
		return "", false
	}
	if round != w.last {
		w.lost, w.last = w.lost+1, round
	}
	return fmt.Sprintf("%s%d\n", w.prefix, round), true
}

// write changes the writer's line in each round.
func (p *player) write(ctx context.Context, s Session, path string, w *writer, rounds int) error {
	for round := 1; round <= rounds; round++ {
		done := false
		for try := 0; try < 20 && !done; try++ {
			var t traffic
			seen, err := p.read(ctx, &t, s, path)
			if err != nil {
				return err
			}
			data, err := os.ReadFile(path) // the text of the answer, without the format of the contestant
			if err != nil || seen.Refused || !strings.Contains(string(data), w.prefix) {
				time.Sleep(time.Millisecond) // another session has it open, empty or renamed
				continue
			}
			old, _ := w.find(string(data))
			call, err := p.operation(Do{Kind: Edit, After: strings.Replace(string(data), old, fmt.Sprintf("%s%d\n", w.prefix, round), 1)}, path, string(data), seen.Text)
			if err != nil {
				return err
			}
			a, err := t.call(ctx, s, call)
			if err == nil && a.Refused && p.Retry != nil {
				if again, ok := p.Retry(path, a.Text); ok {
					a, err = t.call(ctx, s, again)
				}
			}
			if err != nil {
				return err
			}
			if done = !a.Refused; done {
				w.last = round
			}
		}
		if !done {
			w.givenUp++
		}
	}
	return nil
}

// appendLines appends a line every 20 milliseconds, and returns their number.
func appendLines(path string, stop <-chan struct{}) int {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; {
		select {
		case <-stop:
			return n
		case <-tick.C:
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				continue // between two names of a replacement
			}
			if _, err := fmt.Fprintf(f, "appended %d\n", n); err == nil {
				n++
			}
			_ = f.Close() // the line is written
		}
	}
}

// kills kills a contestant during changes.
func kills(ctx context.Context, p *player, quick bool) ([]Figure, error) {
	times, size := 20, 20_000
	if quick {
		times, size = 3, 2_000
	}
	filler := strings.Repeat("x", 90)
	var b strings.Builder
	for i := range size {
		fmt.Fprintf(&b, "%s %d\n", filler, i)
	}
	before := b.String()
	after := strings.Replace(before, filler+" 10\n", strings.Repeat("y", 200)+"\n", 1)
	var whole time.Duration
	torn, litter, later := 0, 0, 0
	for i := -1; i < times; i++ { // the first call is not killed
		root, err := os.MkdirTemp(p.lab.Dir, "kill-")
		if err != nil {
			return nil, err
		}
		took, end, err := p.killed(ctx, root, before, after, whole*time.Duration(2*i+1)/time.Duration(2*times), i >= 0)
		if err != nil {
			return nil, err
		}
		if i < 0 {
			if whole = took; end[target].Text != after {
				return nil, fmt.Errorf("%w: it does not change a file of 2 MB", errNotOffered)
			}
			continue
		}
		if text := end[target].Text; text != before && text != after {
			torn++
		}
		if len(end) > 1 {
			litter++
			if end, err = p.next(ctx, root); err != nil {
				return nil, err
			}
			if len(end) > 1 {
				later++
			}
		}
		if err := os.RemoveAll(root); err != nil {
			return nil, err
		}
	}
	return []Figure{{Key: "torn", Value: float64(torn)}, {Key: "litter", Value: float64(litter)}, {Key: "litter-later", Value: float64(later)}}, nil
}

// next makes a change with a new process, in the directory of a killed one, and returns the files.
func (p *player) next(ctx context.Context, root string) (Tree, error) {
	s, err := p.start(ctx, root, Edits)
	if err != nil {
		return nil, err
	}
	defer s.Close() //nolint:errcheck // the change has ended
	dir := filepath.Join(root, "case-1")
	path := filepath.Join(dir, target)
	var t traffic
	seen, err := p.read(ctx, &t, s, path)
	if err != nil {
		return nil, err
	}
	before, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	call, err := p.operation(Do{Kind: Edit, After: string(before) + "the next change\n"}, path, string(before), seen.Text)
	if err == nil {
		_, err = t.call(ctx, s, call)
	}
	if err != nil {
		return nil, err
	}
	return found(dir)
}

// killed makes a change, kills the process after a delay, and returns the time of the call and the
// files.
func (p *player) killed(ctx context.Context, root, before, after string, delay time.Duration, kill bool) (time.Duration, Tree, error) {
	dir := filepath.Join(root, "case-1")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return 0, nil, err
	}
	s, err := p.start(ctx, root, Edits)
	if err != nil {
		return 0, nil, err
	}
	defer s.Close() //nolint:errcheck // it is killed
	path := filepath.Join(dir, target)
	var t traffic
	var seen Answer
	if p.Write != nil {
		seen, err = t.call(ctx, s, p.Write(path, before, ""))
	}
	if data, _ := os.ReadFile(path); err == nil && string(data) != before { // it has no such tool
		if err = os.WriteFile(path, []byte(before), 0o644); err == nil {
			seen, err = p.read(ctx, &t, s, path)
		}
	}
	if err != nil {
		return 0, nil, err
	}
	call, err := p.operation(Do{Kind: Edit, After: after}, path, before, seen.Text)
	if err != nil {
		return 0, nil, err
	}
	began := time.Now()
	if kill {
		timer := time.AfterFunc(delay, s.Kill)
		defer timer.Stop()
	}
	_, err = t.call(ctx, s, call)
	took := time.Since(began)
	if err != nil && !kill {
		return 0, nil, err
	}
	if kill {
		s.Kill()
	}
	_ = s.Close() // the files are final after it
	end, err := found(dir)
	return took, end, err
}

// tasks counts the bytes of tasks.
func tasks(ctx context.Context, p *player, _ bool) ([]Figure, error) {
	s, err := p.session(ctx, Edits)
	if err != nil {
		return nil, err
	}
	var all []Figure
	for _, task := range []struct {
		key     string
		changes int
		outside bool
	}{{"task-one", 1, false}, {"task-ten", 10, false}, {"task-stale", 1, true}} {
		f := Figure{Key: task.key}
		if f.Value, err = p.task(ctx, s, task.changes, task.outside); err != nil {
			f.Failed = firstOf(err.Error())
		}
		all = append(all, f)
	}
	return all, nil
}

func (p *player) task(ctx context.Context, s Session, changes int, outside bool) (float64, error) {
	dir, err := p.dir()
	if err != nil {
		return 0, err
	}
	path := filepath.Join(dir, target)
	source := func(i int) string { return fmt.Sprintf("\tvalue%d := compute(%d, options) // of the section\n", i, i) }
	var b strings.Builder
	for i := range 400 {
		b.WriteString(source(i))
	}
	text := b.String()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return 0, err
	}
	var t traffic
	seen, err := p.read(ctx, &t, s, path)
	if err != nil || seen.Refused {
		return 0, errors.Join(err, fmt.Errorf("it does not read the file: %s", short(seen.Text)))
	}
	want := text
	if outside {
		want = strings.Replace(want, source(20), "\t// theirs\n", 1)
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			return 0, err
		}
	}
	last := seen.Text
	for i := range changes {
		old, new := source(30+35*i), fmt.Sprintf("\tvalue%d := computed(options)\n", 30+35*i)
		want = strings.Replace(want, old, new, 1)
		for try := 0; ; try++ {
			call, err := p.operation(Do{Kind: Edit, After: strings.Replace(text, old, new, 1)}, path, text, last)
			if err != nil {
				return 0, err
			}
			a, err := t.call(ctx, s, call)
			if err == nil && a.Refused && p.Retry != nil {
				if again, ok := p.Retry(path, a.Text); ok {
					a, err = t.call(ctx, s, again)
				}
			}
			if err != nil {
				return 0, err
			}
			if !a.Refused {
				if last = a.Text; !hasState(last) {
					last = seen.Text
				}
				break
			}
			if try > 0 {
				return 0, fmt.Errorf("the change is refused after a new read: %s", short(a.Text))
			}
			if seen, err = p.read(ctx, &t, s, path); err != nil {
				return 0, err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return 0, err
			}
			text, last = string(data), seen.Text
		}
		text = strings.Replace(text, old, new, 1)
	}
	got, err := os.ReadFile(path)
	if err == nil && string(got) != want {
		err = errors.New("the file is wrong: " + difference(one(want), one(string(got))))
	}
	return float64(t.sent + t.received), err
}

// hasState reports whether an answer names the state of a file.
func hasState(s string) bool {
	return lastMatch(hashPattern(), s) != "" || lastMatch(headerPattern(), s) != ""
}

// declarations counts the bytes of the declarations.
func declarations(ctx context.Context, p *player, _ bool) ([]Figure, error) {
	s, err := p.session(ctx, Edits)
	if err != nil {
		return nil, err
	}
	text, err := s.Declarations(ctx)
	if err != nil {
		return nil, err
	}
	return []Figure{{Key: "declarations", Value: float64(len(text))}, {Key: "declarations-files", Value: float64(p.fileDeclarations(text))}}, nil
}

// fileDeclarations returns the size of the declarations of the tools that read and change a file.
func (p *player) fileDeclarations(text string) int {
	var all []struct {
		Name     string
		Function struct{ Name string }
	}
	var raw []json.RawMessage
	if json.Unmarshal([]byte(text), &all) != nil || json.Unmarshal([]byte(text), &raw) != nil {
		return len(text) // it has one tool
	}
	names := []string{p.Read("/c/a").Tool, p.Edit(Change{Path: "/c/a"}).Tool}
	if p.Write != nil {
		names = append(names, p.Write("/c/a", "", "").Tool)
	}
	n := 0
	for i, t := range all {
		if slices.Contains(names, t.Name+t.Function.Name) {
			n += len(raw[i])
		}
	}
	return n
}
