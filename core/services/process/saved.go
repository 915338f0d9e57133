package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// savedPattern is the pattern of the file names of saved outputs, see [os.CreateTemp].
const savedPattern = "output-*.txt"

// isSaved reports whether a file name matches savedPattern.
func isSaved(name string) bool {
	number, ok := strings.CutPrefix(name, "output-")
	if !ok {
		return false
	}
	number, ok = strings.CutSuffix(number, ".txt")
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
}

// tidy removes old saved outputs, according to Options. Files that cannot be removed stay, which is
// harmless.
func tidy(o *Options) {
	const recent = time.Hour
	entries, err := os.ReadDir(o.SaveDir)
	if err != nil {
		return
	}
	var kept []os.FileInfo
	total := int64(0)
	now := time.Now()
	remove := func(f os.FileInfo) bool { return os.Remove(filepath.Join(o.SaveDir, f.Name())) == nil }
	for _, e := range entries {
		f, err := e.Info()
		if err != nil || !isSaved(e.Name()) || !f.Mode().IsRegular() {
			continue
		}
		age := now.Sub(f.ModTime())
		if age > recent && o.SaveAge > 0 && age > o.SaveAge && remove(f) {
			continue
		}
		total += f.Size()
		if age > recent {
			kept = append(kept, f)
		}
	}
	slices.SortFunc(kept, func(a, b os.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, f := range kept {
		if o.SaveTotal < 0 || total <= o.SaveTotal {
			return
		}
		if remove(f) {
			total -= f.Size()
		}
	}
}
