package readonly

import (
	"strings"

	"github.com/fettle-dev/fettle/core/policy/shell"
)

// kind checks an operand or the value of an option, and notes the paths that it
// names. It returns the reason why the word is not known to be harmless, "" if it is.
func (c *check) kind(kind string, w shell.Word) string {
	isNot := func(what string) string { return w.Text + " is not known to be a harmless " + what + " of " + c.name }
	switch kind {
	case "num", "word", "text":
	case "read", "names":
		c.reads(w)
	case "dir":
		if !w.Static {
			return "the working directory " + w.Text + " of " + c.name + " is not known"
		}
		c.reads(w)
		c.dir = c.use.Reads[len(c.use.Reads)-1].Path.Text
	case "path":
		if mayLeave(w) {
			c.reads(w)
		}
	case "plus":
		if !strings.HasPrefix(known(w), "+") {
			return isNot("operand")
		}
	case "letters":
		const harmless = "acfghjlmnrsuvwxHLTX0123456789 "
		if !w.Static || strings.Trim(w.Text, harmless) != "" {
			return isNot("operand")
		}
	case "columns":
		if !w.Static || !isColumns(w.Text) {
			return isNot("list of columns")
		}
	case "format":
		if !w.Static || strings.Contains(w.Text, "%G") || strings.Contains(w.Text, "signature") {
			return isNot("format")
		}
	case "script":
		if text, ok := literal(w); !ok || !shell.SedReadsOnly(text) {
			return isNot("script")
		}
	case "awk":
		if text, ok := literal(w); !ok || !shell.AwkReadsOnly(text) {
			return isNot("program")
		}
	case "filter":
		if name := filterName(w); name != "" {
			return "the filter of " + c.name + " may use " + name
		}
	default:
		return isNot(kind)
	}
	return ""
}

// literal returns the text of a word in which bash expands at most numbers, with 0
// in their places.
func literal(w shell.Word) (string, bool) {
	if w.Static {
		return w.Text, true
	}
	if w.Pattern || len(w.Shapes) == 0 {
		return "", false
	}
	text := strings.ReplaceAll(w.Shapes[0], shell.HoleNumber, "0")
	return text, !strings.ContainsAny(text, shell.HoleText+shell.HoleWord+shell.HoleName)
}

// mayLeave reports whether a revision or path of git may be a file outside of the
// working directory.
func mayLeave(w shell.Word) bool {
	s := known(w)
	return !w.Static && s == "" || strings.HasPrefix(s, "/") || strings.HasPrefix(s, "~") || s == ".." || strings.HasPrefix(s, "../") || strings.Contains(s, "/../") || strings.HasSuffix(s, "/..")
}

// isColumns reports whether a list of columns for ps has known names only, without
// the environment.
func isColumns(s string) bool {
	for field := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ',' || r == ' ' }) {
		name, _, _ := strings.Cut(strings.TrimLeft(field, "+-"), "=")
		name, _, _ = strings.Cut(name, ":")
		if !strings.Contains(" %cpu %mem args bsdstart bsdtime c class cls cmd comm command cp cputime cputimes drs egid egroup elapsed etime etimes euid euser f fgid fgroup flags fname fuid fuser gid group lstart lwp maj_flt min_flt ni nice nlwp pcpu pgid pgrp pid pmem ppid pri psr rgid rgroup rss rssize rsz rtprio ruid ruser s sess sgi_p sid size spid stackp start start_time stat state stime sz thcount tid time times tname tt tty ucmd ucomm uid uname user vsize vsz wchan ", " "+name+" ") {
			return false
		}
	}
	return true
}

// filterName returns the resource that a filter of jq may use besides its input: the
// environment or other files. It returns "" if there is none.
func filterName(w shell.Word) string {
	if !w.Static {
		return "something that is not known"
	}
	s := w.Text
	for i := 0; i < len(s); {
		start := i
		for i < len(s) && (s[i] == '_' || s[i] >= 'a' && s[i] <= 'z' || s[i] >= 'A' && s[i] <= 'Z' || s[i] >= '0' && s[i] <= '9') {
			i++
		}
		if i == start {
			i++
			continue
		}
		field := start > 0 && s[start-1] == '.' && (start == 1 || s[start-2] != '.')
		switch name := s[start:i]; name {
		case "env", "ENV", "import", "include", "input_filename", "modulemeta", "get_search_list", "__prog_args", "__prog_name", "input_line_number":
			if !field {
				return name
			}
		}
	}
	return ""
}
