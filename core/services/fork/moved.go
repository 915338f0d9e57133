package fork

import (
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/core/internal/lockedfile"
	"github.com/fettle-dev/fettle/core/services/textfile"
)

// keepMoved makes the removal of a file a conflict if its content is in a file that the merge leaves in
// the fork. Otherwise a merge of half a move would remove the content from the directories.
func (f *Fork) keepMoved(items []*item, o MergeOptions) {
	staying := make(map[string]*item) // by the hash of the content
	added := make(map[*item]lineCounts)
	for _, i := range items {
		if i.fork.Kind != regular || i.fork.SHA256 == i.base.SHA256 || i.fork.SHA256 == i.now.SHA256 || !i.stays(o) {
			continue
		}
		staying[i.fork.SHA256] = i
		if i.Verdict == Conflict && i.base.Kind == absent {
			data, _ := lockedfile.Read(filepath.Join(f.upper(i.dir), filepath.FromSlash(i.Path)), maxFile)
			added[i] = linesIn(i.Path, data)
		}
	}
	delete(staying, hashOf(nil))
	for _, i := range items {
		if i.Verdict != Clean || i.fork.Kind != absent || i.base.Kind != regular || i.stays(o) {
			continue
		}
		to := staying[i.base.SHA256]
		if to == nil && len(added) > 0 {
			data, _ := f.bases.bytes(i.base)
			removed := linesIn(i.Path, data)
			for _, a := range items {
				if added[a] != nil && removed.similar(added[a]) {
					to = a
					break
				}
			}
		}
		if to != nil {
			i.Diff = ""
			i.conflict(Moved, "Its content is in "+to.Path+", which stays in the fork.")
			f.diffs(i)
		}
	}
}

// stays reports whether a merge leaves the change in the fork.
func (i *item) stays(o MergeOptions) bool {
	if i.Ignored && !o.IncludeIgnored {
		return i.Verdict == Clean || i.Verdict == Conflict
	}
	return i.Verdict == Conflict && !(i.Kind == Text && o.Markers)
}

// lineCounts has the number of each line of a text.
type lineCounts map[string]int

// linesIn counts the lines of a text; none of what is not a text.
func linesIn(name string, data []byte) lineCounts {
	c := lineCounts{}
	if v, ok := textfile.VersionOf(name, data); ok {
		for l := range strings.Lines(v.Text) {
			c[l]++
		}
	}
	return c
}

func (c lineCounts) total() (n int) {
	for _, count := range c {
		n += count
	}
	return n
}

// similar reports whether two texts have half of their lines in common, as git recognizes a rename.
func (c lineCounts) similar(o lineCounts) bool {
	common := 0
	for l, n := range c {
		common += min(n, o[l])
	}
	return common > 0 && 2*common >= max(c.total(), o.total())
}
