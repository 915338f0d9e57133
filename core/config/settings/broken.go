package settings

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// Unread returns the problems of whole files that exist but have no effect
// although the user or the machine relies on them, namely the user's and the
// machine's settings files and the user's own .env file, and of invalid values
// there that may have restricted tools. Each may have contained a protection.
func (r *Result) Unread() []fault.Problem {
	var all []fault.Problem
	for _, p := range r.Problems {
		if (p.Kind == KindSyntax || p.Kind == KindFileRead || p.Open && restricts(p.Key)) && relied(p.Layer) {
			all = append(all, p)
		}
	}
	return all
}

// restricting lists the keys of lists that restrict: the intent of an invalid
// value is unknown.
var restricting = []string{"tools.exclude", "tools.confirmationRequired", "mcp.excluded"}

// restricts reports whether a value, by its path, is or belongs to such a list.
func restricts(path string) bool {
	return slices.ContainsFunc(restricting, func(key string) bool { return path == key || strings.HasPrefix(path, key+".") })
}

// asksInstead describes the effect of a file that may have contained a
// protection.
const asksInstead = " Because it may contain settings that protect you, the approval modes yolo, auto and auto_edit count as default, and every call that changes " +
	"something, runs a program or uses the network requires approval."

// relied reports whether a layer's whole files are relied on. In the layer of the
// environment only the user's own .env file is.
func relied(l Layer) bool {
	return slices.Contains([]Layer{LayerSystemDefaults, LayerUser, LayerSystem, LayerEnvironment}, l)
}

// unreadOwn is unread for a file that is relied on, or that contains only
// servers.
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

// scanned is the maximum number of scanned bytes of an invalid file.
const scanned = 64 << 20

// mentions reports whether a regular file contains a lower-case word in any case,
// in UTF-8 or UTF-16, including letters written as \uXXXX. It reports false for a
// file that cannot be opened.
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
	overlap := 2 * len(`\u0000`) * len(word) // the maximum length of the word, in UTF-16 and escaped
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

var escapedLetter = lazyregexp.New(`\\u00([2-7][0-9a-f])`)

// lettersOf returns a text in lower case, without the zero bytes of UTF-16 and
// with escapes decoded.
func lettersOf(text []byte) []byte {
	plain := bytes.ToLower(bytes.ReplaceAll(text, []byte{0}, nil))
	return bytes.ToLower(escapedLetter().ReplaceAllFunc(plain, func(m []byte) []byte {
		code, err := strconv.ParseUint(string(m[len(m)-2:]), 16, 8)
		if err != nil {
			return m // two digits are a number
		}
		return []byte{byte(code)}
	}))
}

// empty returns the problem of an empty file, for example one whose saving was
// interrupted.
func empty(f File) fault.Problem {
	return fault.Problem{Path: f.Path, Layer: f.Layer, Kind: KindEmpty, Severity: Warning,
		Message: "It is empty and sets nothing.", Remedy: "Restore its content, or remove it."}
}
