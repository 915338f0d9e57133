package settings

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// Unread returns the problems of whole files that are not in force though they
// are there, and that the person or the machine relies on: the user's and the
// machine's settings files and the person's own .env file; and of values there that
// are not understood and may have taken a tool away. Each may have held something
// that protects.
func (r *Result) Unread() []fault.Problem {
	var all []fault.Problem
	for _, p := range r.Problems {
		if (p.Kind == KindSyntax || p.Kind == KindFileRead || p.Open && restricts(p.Key)) && relied(p.Layer) {
			all = append(all, p)
		}
	}
	return all
}

// restricting are the keys of lists that take something away: what of them is not
// understood may be anything.
var restricting = []string{"tools.exclude", "tools.confirmationRequired", "mcp.excluded"}

// restricts reports whether a value, by its path, is or belongs to a list that takes
// something away.
func restricts(path string) bool {
	return slices.ContainsFunc(restricting, func(key string) bool { return path == key || strings.HasPrefix(path, key+".") })
}

// asksInstead says what is done where a file may have held what protects.
const asksInstead = " As it may hold what protects you, the approval modes yolo and auto_edit count as default, and every call that changes " +
	"something, runs a program or reaches the network is asked about."

// relied reports whether a layer's whole files are relied on. That of the
// environment has none but the person's own .env file.
func relied(l Layer) bool {
	return slices.Contains([]Layer{LayerSystemDefaults, LayerUser, LayerSystem, LayerEnvironment}, l)
}

// unreadOwn is unread for a file that is relied on, or that holds servers alone.
func unreadOwn(ctx context.Context, f File, err error) fault.Problem {
	p := unread(f, err)
	if !relied(f.Layer) {
		return p
	}
	p.Message += asksInstead
	if mentions(ctx, f.Path, "sandbox") {
		p.Key = "tools.sandbox"
	}
	return p
}

// scanned is how much of a file that cannot be used is looked through.
const scanned = 64 << 20

// mentions reports whether a regular file holds a word of small letters, in any
// case, as UTF-8 or UTF-16, and with letters that are written as \uXXXX. One that
// cannot be opened is not known to.
func mentions(ctx context.Context, path, word string) bool {
	file, err := lockedfile.Open(path)
	if err != nil {
		return false
	}
	defer file.Close() //nolint:errcheck // nothing was written
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return false
	}
	const chunk = 1 << 16
	overlap := 2 * len(`\u0000`) * len(word) // as long as the word can be, in UTF-16 and escaped
	held := make([]byte, 0, chunk+overlap)
	for rest := int64(scanned); rest > 0 && ctx.Err() == nil; rest -= chunk {
		n, err := io.ReadFull(file, held[len(held):len(held)+chunk])
		held = held[:len(held)+n]
		if bytes.Contains(lettersOf(held), []byte(word)) {
			return true
		}
		if err != nil {
			return false
		}
		held = held[:copy(held, held[len(held)-overlap:])]
	}
	return false
}

var escapedLetter = regexp.MustCompile(`\\u00([2-7][0-9a-f])`)

// lettersOf returns a text in small letters, without the zero bytes that UTF-16
// puts between them and with those that are escaped.
func lettersOf(text []byte) []byte {
	plain := bytes.ToLower(bytes.ReplaceAll(text, []byte{0}, nil))
	return bytes.ToLower(escapedLetter.ReplaceAllFunc(plain, func(m []byte) []byte {
		code, err := strconv.ParseUint(string(m[len(m)-2:]), 16, 8)
		if err != nil {
			return m // two digits are a number
		}
		return []byte{byte(code)}
	}))
}

// empty is the problem of a file that holds nothing at all, as one does that
// was cut off when it was saved.
func empty(f File) fault.Problem {
	return fault.Problem{Path: f.Path, Layer: f.Layer, Kind: KindEmpty, Severity: Warning,
		Message: "It is empty: nothing is set by it.", Remedy: "Restore it if it held something, or remove it."}
}
