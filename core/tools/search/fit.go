package search

import "github.com/fettle-dev/fettle/core/tools"

// besides returns the size of the JSON text of r without its files, including everything that explain may add except the
// reason for missing matches.
func (r *searchResult) besides() int {
	bare := *r
	bare.Files, bare.More = []fileResult{}, true
	const withheldNote = 200
	return tools.JSONBytes(bare) + withheldNote
}

// trim omits the last lines, and files without any, until the JSON text of the files takes at most room bytes. It
// reports whether anything was omitted.
func (r *searchResult) trim(room int) (cut bool) {
	for i, file := range r.Files {
		size := tools.JSONBytes(file) + len(",")
		if size <= room {
			room -= size
			continue
		}
		kept := r.Files[:i]
		if part, some := file.within(room); some {
			kept = append(kept, part)
		}
		r.Files = kept
		r.count()
		return true
	}
	return false
}

// within returns the file with as many of its first lines as fit, and whether a match is among them.
func (f fileResult) within(room int) (part fileResult, some bool) {
	part = fileResult{FilePath: f.FilePath, Lines: []lineResult{}, More: true}
	room -= tools.JSONBytes(part) + len(`"lines":[],,`)
	for i, line := range f.Lines {
		if room -= tools.JSONBytes(line) + len(","); room < 0 {
			break
		}
		part.Lines = f.Lines[:i+1]
		some = some || !line.Context
	}
	return part, some
}

// count counts the matches that are shown.
func (r *searchResult) count() {
	r.Matches = 0
	for _, file := range r.Files {
		if file.Lines == nil { // names only
			r.Matches++
		}
		for _, line := range file.Lines {
			if !line.Context {
				r.Matches++
			}
		}
	}
}
