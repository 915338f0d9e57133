package fork

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/transaction"
)

// Limits of a merge.
const (
	maxOperations = 1000      // files of a transaction
	maxSetBytes   = 256 << 20 // of a transaction
	attempts      = 10        // until other programs change no file between comparison and commit
	mountedWait   = 10 * time.Second
)

// MergeOptions configure [Fork.Merge]. Files, Committer and RecoveryDir are required.
type MergeOptions struct {
	Files       transaction.Files // of the directories, not of the fork
	Committer   *commit.Committer
	RecoveryDir string // of transactions
	// Ignored reports whether git ignores an absolute path. Nil: no path.
	Ignored        func(path string) bool
	IncludeIgnored bool // merge ignored files, too
	Markers        bool // write conflicts of kind Text with markers
	// Approve is called before files are changed, and again if another program has changed the planned changes since.
	// Its error ends the merge. Nil: approved.
	Approve func(*Report) error
	// Record runs a change of the absolute paths, so that it can be undone. Nil: they are only changed.
	Record func(ctx context.Context, paths []string, change func() error) error
	// Hook, if set, is called at each step of the transaction, for tests.
	Hook func(transaction.Step) error
}

// journal is the content of merge.json.
type journal struct {
	Version int       `json:"v"`
	Applied bool      `json:"applied"` // everything is in the directories
	Files   []planned `json:"files"`
}

// planned is a change of a merge.
type planned struct {
	Dir  int    `json:"dir"`
	Path string `json:"path"`
	Base state  `json:"base"` // the state before the merge
	Want state  `json:"want"`
	Fork state  `json:"fork"`
}

const journalFile = "merge.json"

// Merge makes the changes of the fork in its directories as they are now. All clean changes are one
// transaction, up to 1,000 files and 256 MB. Merged files leave the fork; conflicts stay in it, and
// files that git ignores unless they are included. A merge that was killed is completed by the next one.
// On return, none of its files is open.
//
// The report describes each file also with an error. Errors are *fault.Error: those of [Fork.Compare]
// and [transaction.Service.Commit], of Approve and Record, and execution_failed while a command runs in the fork.
func (f *Fork) Merge(ctx context.Context, o MergeOptions) (*Report, error) {
	unlock, err := f.pause(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	defer o.Committer.Wait()
	m := &merge{Fork: f, o: o, refused: make(map[place]string), sets: transaction.New(transaction.Options{
		Files: o.Files, Committer: o.Committer, RecoveryDir: o.RecoveryDir, MaxOperations: maxOperations, Hook: o.Hook,
	})}
	err = m.run(ctx)
	if err != nil {
		err = writeFailure(ctx, "merge", "The fork "+f.Name+" could not be merged", err)
	}
	return m.result(), err
}

// pause is Hold with a time limit.
func (f *Fork) pause(ctx context.Context) (unlock func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, mountedWait)
	defer cancel()
	unlock, err = f.Hold(waiting)
	if err != nil && ctx.Err() == nil && waiting.Err() != nil {
		return nil, fault.Wrap(fault.ExecutionFailed, "fork.merge", fmt.Sprintf("A command is running in the fork %s.", f.Name), "Wait until it has ended, or end it.", err)
	}
	return unlock, err
}

// merge is a merge in progress.
type merge struct {
	*Fork
	o     MergeOptions
	sets  *transaction.Service
	items []*item // the last comparison
	done  []*item // merged
	kept  []string
	// refused has the reasons why a transaction cannot change single files.
	refused map[place]string
}

func (m *merge) result() *Report {
	items := slices.Clone(m.done)
	for _, i := range m.items {
		if !slices.ContainsFunc(m.done, func(d *item) bool { return d.place == i.place }) {
			items = append(items, i)
		}
	}
	sortItems(items)
	r := m.report(items)
	r.KeptFiles = m.kept
	return r
}

func (m *merge) run(ctx context.Context) error {
	if _, err := m.sets.Recover(ctx); err != nil {
		return err
	}
	if m.o.Ignored != nil { // a .gitignore of the fork, merged first, decides about no file of this merge
		m.o.Ignored = remember(m.o.Ignored)
	}
	approved, stale := "", 0
	for {
		err := m.settle(ctx)
		if err != nil {
			return err
		}
		if m.items, err = m.compare(ctx, m.o.Ignored); err != nil {
			return err
		}
		m.leaveOut()
		plan := m.plan()
		if len(plan) == 0 {
			return m.leave(ctx)
		}
		if question := questionOf(plan); m.o.Approve != nil && question != approved {
			if err := m.o.Approve(m.result()); err != nil {
				return err
			}
			approved = question
		}
		refused := len(m.refused)
		err = m.recorded(ctx, plan)
		if err == nil {
			m.done = append(m.done, plan...)
			continue
		}
		if len(m.refused) > refused { // the rest can be merged
			continue
		}
		if stale++; !isStale(err) || stale == attempts {
			return err
		}
	}
}

// isStale reports whether another program has changed a file since the comparison.
func isStale(err error) bool {
	switch fault.CodeOf(err) {
	case fault.FileChangedSinceRead, fault.AttemptToCreateExist, fault.FileNotFound, fault.NotARegularFile, fault.PathIsNotADirectory:
		return true
	}
	return errors.Is(err, errStale)
}

var errStale = errors.New("another program has changed the file")

// remember returns a function that is called once for each argument.
func remember(is func(string) bool) func(string) bool {
	known := make(map[string]bool)
	return func(path string) bool {
		answer, ok := known[path]
		if !ok {
			answer = is(path)
			known[path] = answer
		}
		return answer
	}
}

// leaveOut makes conflicts of the files that a transaction cannot change, and of removals whose content
// stays in the fork.
func (m *merge) leaveOut() {
	for _, i := range m.items {
		if why := m.refused[i.place]; why != "" && (i.Verdict == Clean || i.Kind == Text) {
			i.Diff = ""
			i.alone(why)
			m.diffs(i)
		}
	}
	m.keepMoved(m.items, m.o)
}

// plan returns the first set of changes.
func (m *merge) plan() []*item {
	var plan []*item
	size := 0
	for _, i := range m.items {
		if i.Ignored && !m.o.IncludeIgnored {
			continue
		}
		if i.Verdict == Conflict && i.Kind == Text && m.o.Markers {
			m.mark(i)
		}
		if i.Verdict != Clean && !i.Marked {
			continue
		}
		if size += len(i.data); len(plan) == maxOperations || len(plan) > 0 && size > maxSetBytes {
			break
		}
		plan = append(plan, i)
	}
	return plan
}

// questionOf returns the changes that are to be approved, as text.
func questionOf(plan []*item) string {
	var b strings.Builder
	for _, i := range plan {
		fmt.Fprintf(&b, "%d %s %v\n%s", i.dir, i.Path, i.want, i.Diff)
	}
	return b.String()
}

// recorded makes the changes so that they can be undone.
func (m *merge) recorded(ctx context.Context, plan []*item) error {
	if m.o.Record == nil {
		return m.apply(ctx, plan)
	}
	var paths []string
	for _, i := range plan {
		paths = append(paths, filepath.Join(i.Dir, filepath.FromSlash(i.Path)))
	}
	return m.o.Record(ctx, paths, func() error { return m.apply(ctx, plan) })
}

// apply makes a set of changes.
func (m *merge) apply(ctx context.Context, plan []*item) error {
	j := journal{Version: version}
	var operations []transaction.Operation
	var of []*item // by operation
	for _, i := range plan {
		j.Files = append(j.Files, planned{i.dir, i.Path, i.now, i.want, i.fork})
		o, ok, err := m.operation(i)
		if err != nil {
			return err
		}
		if ok {
			operations, of = append(operations, o), append(of, i)
		}
	}
	if err := m.write(j); err != nil {
		return err
	}
	err := m.store.at(StepPlanned)
	if err == nil && len(operations) > 0 {
		var r transaction.Result
		r, err = m.sets.Commit(ctx, operations)
		m.kept = append(m.kept, r.KeptFiles...)
		for _, out := range r.Files {
			m.kept = append(m.kept, out.KeptFiles...)
		}
		if why := commit.ObstacleOf(err); why != "" && r.Failed >= 0 {
			m.refused[of[r.Failed].place] = why
		}
	}
	if err != nil {
		return errors.Join(err, m.unwrite())
	}
	// From here every error leaves merge.json, so that the next merge completes this one.
	if err := m.store.at(StepCommitted); err != nil {
		return err
	}
	for _, p := range j.Files {
		if err := m.finish(p); err != nil {
			return err
		}
	}
	j.Applied = true
	if err := m.write(j); err != nil {
		return err
	}
	if err := m.store.at(StepFinished); err != nil {
		return err
	}
	for _, i := range plan {
		i.Merged = true
	}
	if err := m.take(ctx, plan); err != nil {
		return err
	}
	return m.unwrite()
}

func (m *merge) write(j journal) error {
	data, err := json.Marshal(j)
	if err != nil {
		return err
	}
	return lockedfile.Replace(filepath.Join(m.dir, journalFile), append(data, '\n'))
}

func (m *merge) unwrite() error {
	if err := os.Remove(filepath.Join(m.dir, journalFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return m.store.at(StepClosed)
}

// operation returns the operation of a transaction for a change; false if the content stays, or for a link.
func (m *merge) operation(i *item) (o transaction.Operation, ok bool, err error) {
	if i.want.Kind == link || i.now.Kind == link || i.now.Kind == i.want.Kind && i.now.SHA256 == i.want.SHA256 {
		return o, false, nil
	}
	p, err := m.o.Files.Resolve(filepath.Join(i.Dir, filepath.FromSlash(i.Path)))
	if err != nil {
		return o, false, err
	}
	switch {
	case i.want.Kind == absent:
		return transaction.Operation{Kind: transaction.Delete, Path: p, Base: i.now.SHA256}, true, nil
	case i.now.Kind == absent:
		return transaction.Operation{Kind: transaction.Create, Path: p, Data: i.data}, true, nil
	}
	return transaction.Operation{Kind: transaction.Update, Path: p, Base: i.now.SHA256, Data: i.data}, true, nil
}

// finish sets the permissions of a merged file, or changes a link.
func (m *merge) finish(p planned) error {
	if p.Want.Kind == link || p.Base.Kind == link {
		return m.relink(p)
	}
	now := stateOf(m.Dirs[p.Dir], p.Path)
	if p.Want.Kind != regular || now.Mode == p.Want.Mode || !now.same(p.Want) {
		return nil // or another program has changed it since
	}
	root, err := os.OpenRoot(m.Dirs[p.Dir])
	if err != nil {
		return err
	}
	defer root.Close()
	return root.Chmod(filepath.FromSlash(p.Path), p.Want.Mode)
}

// settle completes a merge that was killed after its commit.
func (m *merge) settle(ctx context.Context) error {
	data, err := os.ReadFile(filepath.Join(m.dir, journalFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var j journal
	if err != nil || json.Unmarshal(data, &j) != nil || j.Version != version {
		return errors.Join(err, m.unwrite()) // the comparison decides
	}
	items, err := m.compare(ctx, nil)
	if err != nil {
		return err
	}
	var plan []*item
	for _, p := range j.Files {
		at := slices.IndexFunc(items, func(i *item) bool { return i.place == place{p.Dir, p.Path} })
		if at < 0 || !items[at].fork.equal(p.Fork) {
			continue
		}
		if p.Want.Kind == link || p.Base.Kind == link {
			if err := m.recoverLink(p); err != nil {
				return err
			}
		}
		now := stateOf(m.Dirs[p.Dir], p.Path)
		if !j.Applied && !now.same(p.Want) {
			continue
		}
		if !j.Applied {
			if err := m.finish(p); err != nil {
				return err
			}
		}
		i := items[at]
		i.Verdict, i.Kind, i.Reason, i.Merged, i.want = Clean, "", "", true, p.Want
		plan = append(plan, i)
	}
	if err := m.take(ctx, plan); err != nil {
		return err
	}
	m.done = append(m.done, plan...)
	return m.unwrite()
}

// leave removes from the fork those files that need no merge.
func (m *merge) leave(ctx context.Context) error {
	var settled []*item
	for _, i := range m.items {
		if i.Verdict == Unchanged && m.Mode == Overlay || i.Verdict == Identical {
			i.want = i.now
			settled = append(settled, i)
		}
	}
	return m.take(ctx, settled)
}
