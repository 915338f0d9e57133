package mutation_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/mutation"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// to requests a whole new text.
func to(p workspace.Path, text string) mutation.Request {
	return mutation.Request{Path: p, Verb: verb, Compute: func(mutation.Base) (mutation.Change, *fault.Error) {
		return mutation.Change{Text: text}, nil
	}}
}

// latin1 encodes text with Latin-1 characters only.
func latin1(text string) string {
	var b strings.Builder
	for _, r := range text {
		b.WriteByte(byte(r))
	}
	return b.String()
}

const german = "Grüße aus Köln,\nzwei Straßen weiter für fünf Euro,\nschöne Fußgängerzone, Äpfel und Öl\n"

// FS-08, FS-19: a text whose bytes would decode to a different text, or be detected as binary, is
// not written.
func TestTextThatWouldNotReadBack(t *testing.T) {
	for name, tt := range map[string]struct {
		base, text string
		absent     bool
		message    string
		remedy     string
	}{
		"legacy text that happens to be UTF-8": {base: latin1(german), text: "GrÃ¼Ã\u009fe\n", message: "iso-8859-1", remedy: "UTF-8 with a shell command"},
		"legacy text too short to detect":      {base: latin1(german), text: "\u0081 \u008d", message: "iso-8859-1", remedy: "UTF-8 with a shell command"},
		"NUL":                                  {base: "text\n", text: "te\x00xt\n", message: "utf-8", remedy: "NUL"},
		"NUL in UTF-16":                        {base: "\xff\xfea\x00\n\x00", text: "a\x00b\n", message: "utf-16le", remedy: "NUL"},
		"NUL in a new file":                    {absent: true, text: "te\x00xt\n", message: "utf-8", remedy: "NUL"},
		"control characters":                   {base: "text\n", text: "\x01\x02\x03\n", message: "utf-8", remedy: "control"},
		"a binary signature":                   {absent: true, text: "%PDF-1.4\n", message: "utf-8", remedy: "binary"},
		"a mark at the head of a new file":     {absent: true, text: "\ufefftext\n", message: "U+FEFF", remedy: "Leave"},
		"a mark at the head of a file without": {base: "text\n", text: "\ufefftext\n", message: "U+FEFF", remedy: "Leave"},
	} {
		t.Run(name, func(t *testing.T) {
			fx := newFixture(t)
			p := fx.path("a.txt")
			if !tt.absent {
				p = fx.known("a.txt", tt.base)
			}
			plan := fx.Plan(t.Context(), to(p, tt.text))
			requireRefusal(t, plan.Refused(), fault.FileWriteFailure, "")
			require.Contains(t, plan.Refused().Message, tt.message)
			require.Contains(t, plan.Refused().Remedy, tt.remedy)
			out := fx.Commit(t.Context(), plan)
			require.NotNil(t, out.Err)
			if tt.absent {
				require.NoFileExists(t, p.String())
				return
			}
			require.Equal(t, tt.base, fx.content(p))
			require.True(t, out.State.Shown(), "a refusal of a known file shows the latest state")
		})
	}
}

// The state reported after a write equals the result of a read, and is a valid base for the next
// change.
func TestWhatIsReportedIsWhatIsRead(t *testing.T) { // FS-08
	for name, tt := range map[string]struct{ base, text, reported, bytes string }{
		"legacy":                            {latin1(german), german + "größer\n", german + "größer\n", latin1(german + "größer\n")},
		"legacy that becomes ASCII":         {latin1(german), "Koeln\n", "Koeln\n", "Koeln\n"},
		"a copied mark":                     {"\ufeffold\n", "\ufeffnew\n", "new\n", "\ufeffnew\n"},
		"a copied mark in UTF-16":           {"\xff\xfeo\x00\n\x00", "\ufeffn\n", "n\n", "\xff\xfen\x00\n\x00"},
		"a file that has two marks":         {"\ufeff\ufeffold\n", "\ufeffnew\n", "\ufeffnew\n", "\ufeff\ufeffnew\n"},
		"a mark elsewhere, which is text":   {"old\n", "new\ufeff\n", "new\ufeff\n", "new\ufeff\n"},
		"NUL beyond the inspected bytes":    {"old\n", strings.Repeat("a", 9000) + "\x00\n", strings.Repeat("a", 9000) + "\x00\n", strings.Repeat("a", 9000) + "\x00\n"},
		"escapes, such as terminal colours": {"old\n", "\x1b[1mnew\x1b[0m\n", "\x1b[1mnew\x1b[0m\n", "\x1b[1mnew\x1b[0m\n"},
	} {
		t.Run(name, func(t *testing.T) {
			fx := newFixture(t)
			p := fx.known("a.txt", tt.base)
			plan := fx.Plan(t.Context(), to(p, tt.text))
			require.Nil(t, plan.Refused())
			require.Equal(t, tt.reported, plan.NewText())
			out := fx.Commit(t.Context(), plan)
			require.Nil(t, out.Err)
			require.Equal(t, tt.reported, *out.State.Content)
			require.Equal(t, tt.bytes, fx.content(p))
			read, err := fx.state.Read(t.Context(), filestate.ReadRequest{Path: p, Repeat: true})
			require.NoError(t, err)
			require.Equal(t, *out.State.Content, *read.State.Content)
			require.Equal(t, *out.State.SHA256, *read.State.SHA256)
		})
	}
}

// The hash of empty content needs no read, so it does not reveal the later content of an empty file
// that was never read.
func TestEmptyHashShowsNothingLater(t *testing.T) { // FS-29, PR-17
	for name, seen := range map[string]bool{"never read": false, "read": true} {
		t.Run(name, func(t *testing.T) {
			fx := newFixture(t)
			p := fx.write("a.txt", "")
			if seen {
				p = fx.known("a.txt", "")
			}
			r := to(p, "mine\n")
			r.Proof = filestate.EmptySHA256
			plan := fx.Plan(t.Context(), r)
			require.Nil(t, plan.Refused())
			require.NoError(t, os.WriteFile(p.String(), []byte("secret\n"), 0o644))
			out := fx.Commit(t.Context(), plan)
			requireRefusal(t, out.Err, fault.FileChangedSinceRead, fault.Changed)
			require.Equal(t, "secret\n", fx.content(p))
			require.Equal(t, seen, out.State.Shown())
		})
	}
}
