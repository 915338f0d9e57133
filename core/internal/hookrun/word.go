package hookrun

import (
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/core/policy/shell"
)

// resolved is a word of a command, as far as its value is known.
type resolved struct{ shell.Word }

func resolvedAll(words []shell.Word) []resolved {
	all := make([]resolved, len(words))
	for i, w := range words {
		all[i] = resolved{w}
	}
	return all
}

// unknown reports whether the word has parts whose value is unknown.
func (w resolved) unknown() bool { return !w.Static && !w.Pattern }

// texts returns the possible values of the word.
func (w resolved) texts() []string {
	if w.Text == "" || !w.Static {
		return nil
	}
	return append(w.Candidates[:len(w.Candidates):len(w.Candidates)], w.Text)
}

// name returns the name of a program, without its directory.
func (w resolved) name() string {
	if !w.Static {
		return ""
	}
	return strings.TrimSuffix(filepath.Base(w.Text), ".exe")
}
