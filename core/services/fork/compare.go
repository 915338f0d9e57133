package fork

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/services/rebase"
	"github.com/fettle-dev/fettle/core/services/textfile"
)

// Verdict is the result of the comparison of a file.
type Verdict string

// Verdicts.
const (
	Unchanged Verdict = "unchanged" // the fork has the base
	Identical Verdict = "identical" // the directory has the fork's changes already
	Clean     Verdict = "clean"     // the change can be made
	Conflict  Verdict = "conflict"  // it cannot: see File.Kind
)

// Kind is the kind of a conflict.
type Kind string

// Kinds.
const (
	Text         Kind = "text"          // both changed the same or adjacent lines
	Binary       Kind = "binary"        // both changed a file that is no text, or too large
	Permissions  Kind = "mode"          // both changed the permissions
	Type         Kind = "type"          // a file, link or directory was replaced by another type
	LinkTarget   Kind = "link"          // both changed a link
	DeleteModify Kind = "delete_modify" // one side removed the file, the other one changed it
	UnknownBase  Kind = "unknown_base"  // the state that the fork started from is not known
	Alone        Kind = "alone"         // the file cannot be changed together with others, such as one with hard links
	Moved        Kind = "moved"         // the fork removed the file, and its content stays in the fork under another name
)

// File is a file that a fork has changed.
type File struct {
	Dir     string  `json:"dir"`  // of the workspace
	Path    string  `json:"path"` // relative to Dir, with slashes
	Verdict Verdict `json:"verdict"`
	Kind    Kind    `json:"kind,omitempty"`    // of a conflict
	Reason  string  `json:"reason,omitempty"`  // of a conflict, as a sentence
	Change  string  `json:"change,omitempty"`  // of the fork: added, modified, deleted
	Ignored bool    `json:"ignored,omitempty"` // git ignores it
	// Diff is the change of the directory that a merge makes. Fork and Workspace are the changes of both
	// sides of a conflict, from the base. Each is unified, and cut off after 64 KiB; for a file that is no text a sentence.
	Diff      string `json:"diff,omitempty"`
	Fork      string `json:"fork,omitempty"`
	Workspace string `json:"workspace,omitempty"`
	// Result of a merge.
	Merged bool `json:"merged,omitempty"` // the directory has the change now
	Marked bool `json:"marked,omitempty"` // it was written with conflict markers

	content []byte // see Calls
	written bool   // write_file alone makes the change
}

// Report is the comparison of a fork with its directories, or the result of a merge.
type Report struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Files []File `json:"files"` // sorted by directory and path; of a copy without the unchanged ones
	// KeptFiles contains the absolute names of files with bytes of another program that a merge has displaced.
	KeptFiles []string `json:"keptFiles,omitempty"`
}

// Conflicts returns the number of conflicts that are still in the fork.
func (r *Report) Conflicts() int {
	return r.count(func(f File) bool { return f.Verdict == Conflict && !f.Marked })
}

// Clean returns the number of changes that a merge would make, or has made.
func (r *Report) Clean() int { return r.count(func(f File) bool { return f.Verdict == Clean }) }

func (r *Report) count(is func(File) bool) (n int) {
	for _, f := range r.Files {
		if is(f) {
			n++
		}
	}
	return n
}

// item is a file with everything that a merge needs.
type item struct {
	changed
	File
	base, now state
	want      state  // the state after a merge; of clean files
	data      []byte // of want, if it is a regular file with another content
}

// Compare compares the changed files of the fork with the directories as they are now, as a merge does
// before it changes any. ignored, if not nil, reports whether git ignores an absolute path. Errors are *fault.Error: read_content_failure and
// cancelled.
func (f *Fork) Compare(ctx context.Context, ignored func(path string) bool) (*Report, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	items, err := f.compare(ctx, ignored)
	if err != nil {
		return nil, err
	}
	f.keepMoved(items, MergeOptions{})
	return f.report(items), nil
}

func (f *Fork) report(items []*item) *Report {
	r := &Report{ID: f.ID, Name: f.Name, Files: []File{}}
	for _, i := range items {
		if f.Mode == Overlay || i.Verdict != Unchanged { // a copy has all files
			r.Files = append(r.Files, i.File)
		}
	}
	return r
}

func (f *Fork) compare(ctx context.Context, ignored func(string) bool) ([]*item, error) {
	found, err := f.changes(ctx)
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return nil, fault.WasCancelled("fork.compare", err)
		}
		return nil, failed(fault.ReadContentFailure, "compare", fmt.Sprintf("The files of the fork %s cannot be read: %v.", f.Name, err), "", err)
	}
	var items []*item
	for p, c := range found {
		if err := ctx.Err(); err != nil {
			return nil, fault.WasCancelled("fork.compare", err)
		}
		i := &item{changed: *c, File: File{Dir: f.Dirs[p.dir], Path: p.path}, now: stateOf(f.Dirs[p.dir], p.path)}
		i.Ignored = ignored != nil && ignored(filepath.Join(i.Dir, filepath.FromSlash(i.Path)))
		f.judge(i)
		items = append(items, i)
	}
	sortItems(items)
	return items, nil
}

func sortItems(items []*item) {
	slices.SortFunc(items, func(a, b *item) int {
		return cmp.Or(cmp.Compare(a.dir, b.dir), strings.Compare(a.Path, b.Path))
	})
}

// judge decides about a file.
func (f *Fork) judge(i *item) {
	l, known := f.bases.at[i.place]
	if f.Mode == Copy {
		known = true // a file that the copy did not contain
	}
	i.base = l.state
	i.Change = "modified"
	switch {
	case i.fork.Kind == absent:
		i.Change = "deleted"
	case i.base.Kind == absent && known:
		i.Change = "added"
	}
	fork, now := i.fork, i.now
	switch {
	case known && l.Doubt == "" && fork.equal(i.base):
		i.Verdict = Unchanged
	case fork.equal(now):
		i.Verdict = Identical
	case fork.hard || now.hard:
		i.conflict(Type, "It, or a directory of its path, cannot be read as a file.")
	case !known:
		i.conflict(UnknownBase, "The fork has no record of the file that it changed.")
	case l.Doubt != "":
		i.conflict(UnknownBase, "The file that the fork changed is not known for certain: "+l.Doubt+".")
	case fork.Kind == special || now.Kind == special || fork.Kind == folder || now.Kind == folder:
		i.conflict(Type, "A directory or a special file is in its place.")
	case f.inPlaceOfDirectory(i):
		i.conflict(Type, "The fork has a directory in place of a file, or a file in place of a directory.")
	case fork.Kind != now.Kind && fork.Kind != absent && now.Kind != absent:
		i.conflict(Type, "One side is a file and the other one a link.")
	case now.equal(i.base):
		i.Verdict, i.want = Clean, fork
		i.want.info = nil
		if fork.Kind == regular && (now.Kind != regular || fork.SHA256 != now.SHA256) {
			i.load(f)
		}
	default:
		f.combine(i)
	}
	if i.Verdict == Unchanged {
		i.Change = ""
	}
	if i.Verdict == Clean && !i.want.same(i.now) {
		i.alone(commit.Obstacle(filepath.Join(i.Dir, filepath.FromSlash(i.Path)), i.want.Kind == absent || i.want.Kind == link))
	}
	f.diffs(i)
}

// alone makes an item a conflict, for a reason of [commit.Obstacle] unless it is "".
func (i *item) alone(why string) {
	if why != "" {
		i.conflict(Alone, "It "+why+", so it cannot be changed together with other files.")
	}
}

// inPlaceOfDirectory reports whether a parent directory of the file is a file below, or the other way round.
func (f *Fork) inPlaceOfDirectory(i *item) bool {
	for at := 0; ; {
		next := strings.IndexByte(i.Path[at:], '/')
		if next < 0 {
			return false
		}
		at += next
		if l, ok := f.bases.at[place{i.dir, i.Path[:at]}]; ok && (l.Kind == regular || l.Kind == link) {
			return true
		}
		if i.fork.Kind == absent { // the fork may have a file or link in place of the directory
			info, err := os.Lstat(filepath.Join(f.upper(i.dir), filepath.FromSlash(i.Path[:at])))
			if err == nil && !info.IsDir() && kindOf(info.Mode()) != special {
				return true
			}
		}
		at++
	}
}

func (i *item) conflict(k Kind, reason string) { i.Verdict, i.Kind, i.Reason = Conflict, k, reason }

// load reads the bytes of the fork's file.
func (i *item) load(f *Fork) {
	data, err := lockedfile.Read(filepath.Join(f.upper(i.dir), filepath.FromSlash(i.Path)), maxFile)
	switch {
	case errors.Is(err, lockedfile.ErrTooLarge):
		i.conflict(Binary, fmt.Sprintf("It has more than %d MB.", maxFile>>20))
	case err != nil || hashOf(data) != i.fork.SHA256:
		i.conflict(Type, "The fork's file cannot be read, or is being changed.")
	default:
		i.data = data
	}
}

// combine decides about a file that both sides have changed.
func (f *Fork) combine(i *item) {
	base, fork, now := i.base, i.fork, i.now
	switch {
	case fork.Kind == absent || now.Kind == absent:
		i.conflict(DeleteModify, "The "+map[bool]string{true: "fork", false: "workspace"}[fork.Kind == absent]+" removed the file that the other side changed.")
		return
	case base.Kind != absent && base.Kind != fork.Kind:
		i.conflict(Type, "Both sides changed the type of the file.")
		return
	case fork.Kind == link:
		i.conflict(LinkTarget, "Both sides changed the target of the link.")
		return
	case base.Kind == absent && fork.SHA256 != now.SHA256:
		i.conflict(Text, "Both sides added the file.")
		return
	}
	i.want = state{Kind: regular, Mode: fork.Mode, SHA256: fork.SHA256}
	switch {
	case fork.Mode == now.Mode:
	case fork.Mode == base.Mode:
		i.want.Mode = now.Mode
	case now.Mode != base.Mode || base.Kind == absent:
		i.conflict(Permissions, fmt.Sprintf("The fork changed the permissions to %v, the workspace to %v.", fork.Mode, now.Mode))
		return
	}
	i.Verdict = Clean
	switch {
	case fork.SHA256 == now.SHA256:
	case fork.SHA256 == base.SHA256:
		i.want.SHA256 = now.SHA256
	case now.SHA256 == base.SHA256:
		i.load(f)
	default:
		f.unite(i)
	}
	if i.Verdict == Clean && i.want.equal(now) { // each change of the fork is one of the directory, too
		i.Verdict, i.data = Identical, nil
	}
}

// unite makes the fork's change of a text in the current text.
func (f *Fork) unite(i *item) {
	v, ok := f.texts(i)
	if !ok {
		i.conflict(Binary, "Both sides changed a file that is not a text in one encoding, or is too large.")
		return
	}
	text, c := rebase.Merge(v.base.Text, v.fork.Text, v.now.Text)
	if c != nil {
		i.conflict(Text, c.Reason)
		return
	}
	v.now.Text = text
	if i.data, ok = v.now.Encode(i.Path); !ok {
		i.conflict(Binary, "The merged text cannot be written in the encoding of the file.")
		return
	}
	i.want.SHA256 = hashOf(i.data)
}

// versions are the three versions of a text file, in one encoding.
type versions struct{ base, fork, now textfile.Version }

// texts returns the versions of a file. ok is false unless it is text, in one encoding.
func (f *Fork) texts(i *item) (v versions, ok bool) {
	if i.base.Kind != regular || i.fork.Kind != regular || i.now.Kind != regular {
		return v, false
	}
	old, ok := f.bases.bytes(i.base)
	mine, failed := lockedfile.Read(filepath.Join(f.upper(i.dir), filepath.FromSlash(i.Path)), maxFile)
	theirs, failedToo := lockedfile.Read(filepath.Join(i.Dir, filepath.FromSlash(i.Path)), maxFile)
	if !ok || failed != nil || failedToo != nil || hashOf(mine) != i.fork.SHA256 || hashOf(theirs) != i.now.SHA256 {
		return v, false
	}
	var is [3]bool
	v.base, is[0] = textfile.VersionOf(i.Path, old)
	v.fork, is[1] = textfile.VersionOf(i.Path, mine)
	v.now, is[2] = textfile.VersionOf(i.Path, theirs)
	return v, is == [3]bool{true, true, true} && v.base.Encoding == v.fork.Encoding && v.base.Encoding == v.now.Encoding
}

// maxDiff is the number of bytes of a diff in a report.
const maxDiff = 64 << 10

// side is one side of a diff.
type side struct {
	textfile.Version
	absent, ok bool // ok: absent, or text
	data       []byte
}

// sideOf returns the side of a state.
func (i *item) sideOf(s state, read func() ([]byte, error)) side {
	switch s.Kind {
	case absent:
		return side{absent: true, ok: true}
	case link:
		return side{Version: textfile.Version{Text: "link to " + s.Target + "\n", Encoding: textfile.UTF8}, ok: true}
	case regular:
		data, err := read()
		v, ok := textfile.VersionOf(i.Path, data)
		return side{Version: v, ok: err == nil && ok, data: data}
	}
	return side{}
}

// diffs adds the diffs of a file to its report.
func (f *Fork) diffs(i *item) {
	if i.Verdict != Clean && i.Verdict != Conflict {
		return
	}
	now := i.sideOf(i.now, func() ([]byte, error) {
		return lockedfile.Read(filepath.Join(i.Dir, filepath.FromSlash(i.Path)), maxFile)
	})
	if i.Verdict == Clean {
		result := now
		if i.want.Kind != i.now.Kind || i.want.SHA256 != i.now.SHA256 || i.want.Target != i.now.Target {
			result = i.sideOf(i.want, func() ([]byte, error) { return i.data, nil })
		}
		i.call(result)
		i.Diff = diffText(i.Path, now, result)
		if i.want.Kind == regular && i.now.Kind == regular && i.want.Mode != i.now.Mode {
			i.Diff = fmt.Sprintf("old mode %o\nnew mode %o\n", i.now.Mode, i.want.Mode) + i.Diff
		}
		return
	}
	base := i.sideOf(i.base, func() ([]byte, error) {
		data, ok := f.bases.bytes(i.base)
		if !ok {
			return nil, fs.ErrNotExist
		}
		return data, nil
	})
	fork := i.sideOf(i.fork, func() ([]byte, error) {
		return lockedfile.Read(filepath.Join(f.upper(i.dir), filepath.FromSlash(i.Path)), maxFile)
	})
	i.Fork = diffText(i.Path, base, fork)
	i.Workspace = diffText(i.Path, base, now)
}

func diffText(path string, before, after side) string {
	if !before.ok || !after.ok {
		return "The content of " + path + " is not shown: it is not a text, or not known.\n"
	}
	oldName, newName := "a/"+path, "b/"+path
	if before.absent {
		oldName = "/dev/null"
	}
	if after.absent {
		newName = "/dev/null"
	}
	text := before.Recoding(after.Version) + patch.Between(before.Text, after.Text).Unified(oldName, newName)
	if len(text) > maxDiff {
		text = strings.ToValidUTF8(text[:maxDiff], "") + "\n… the diff is longer\n"
	}
	return text
}

// merged returns an error if a change of the fork is not in the directories.
func (f *Fork) merged(ctx context.Context) error {
	n, err := f.unmerged(ctx, nil)
	if err != nil {
		return err
	}
	if n > 0 {
		return fault.New(fault.RestoreRefused, "fork.drop", fmt.Sprintf("The fork %s has changes that are not merged (%d); nothing was removed.", f.Name, n),
			"Merge them with fettle forks merge, or discard them with fettle forks drop --force.")
	}
	return nil
}
