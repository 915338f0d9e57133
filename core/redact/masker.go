package redact

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// Shortest is the length, in bytes, below which a value is not masked, as it would
// be found everywhere.
const Shortest = 6

// Masker masks known values, and what has the shape of a secret. The zero value
// knows no values. It is safe for concurrent use and not copied after use.
type Masker struct {
	// Shortest is the length, in bytes, below which a value is not masked. 0: [Shortest].
	Shortest int

	mu       sync.Mutex
	values   []string
	replacer *strings.Replacer // of values; nil: not made, or there are none
}

// Add has values masked from now on, as they are, as they stand in a URL and in a JSON
// string, and in JSON that is itself a string, three deep. Those that are too short are
// left out.
func (m *Masker) Add(values ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range values {
		if len(v) >= cmp.Or(m.Shortest, Shortest) && !slices.Contains(m.values, v) {
			m.values, m.replacer = append(m.values, v), nil
		}
	}
}

// Values returns the values that were added.
func (m *Masker) Values() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.values)
}

// Text returns text with [Mark] in the place of secrets.
func (m *Masker) Text(text string) string {
	m.mu.Lock()
	if m.replacer == nil {
		m.replacer = Replacer(m.values, 0)
	}
	r := m.replacer
	m.mu.Unlock()
	if r != nil {
		text = r.Replace(text)
	}
	return Text(text)
}

// Replacer returns what puts [Mark] in the place of values of at least so many
// bytes, in the forms that they have in texts, in URLs, in JSON strings, and in JSON
// that is itself a string, three deep; nil if there are none.
func Replacer(values []string, shortest int) *strings.Replacer {
	const depth = 3 // of strings in JSON in strings
	var forms []string
	for _, s := range values {
		if len(s) < shortest {
			continue
		}
		level := []string{s}
		forms = append(forms, s, url.QueryEscape(s), url.PathEscape(s))
		for range depth {
			var next []string
			for _, f := range level {
				next = append(next, escaped(f, false), escaped(f, true))
			}
			slices.Sort(next)
			level = slices.Compact(next)
			forms = append(forms, level...)
		}
	}
	if forms == nil {
		return nil
	}
	// The longest first, so that a value which holds another goes as a whole.
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	var pairs []string
	for _, f := range slices.Compact(forms) {
		pairs = append(pairs, f, Mark)
	}
	return strings.NewReplacer(pairs...)
}

// escaped returns s as it stands inside a JSON string, with or without the
// escapes that encoding/json adds for HTML.
func escaped(s string, html bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	_ = e.Encode(s) // a string can be encoded
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(b.String()), `"`), `"`)
}

// Writer masks a stream. What is written is held back until its line is complete,
// a private key until its end, so that a secret which is split across writes is
// masked too. It is safe for concurrent use.
type Writer struct {
	w    io.Writer
	mask func(string) string

	mu   sync.Mutex
	held []byte
}

// NewWriter returns a Writer that writes to w. mask masks whole lines, as
// [Masker.Text] does; nil: [Text]. Whoever has it calls Close.
func NewWriter(w io.Writer, mask func(string) string) *Writer {
	if mask == nil {
		mask = Text
	}
	return &Writer{w: w, mask: mask}
}

// maxHeld is how much of a stream is held back, in bytes.
const maxHeld = 256 << 10

// Write implements io.Writer. The error is of an earlier part of the stream as
// well as of p.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = append(w.held, p...)
	ready := bytes.LastIndexByte(w.held, '\n') + 1
	if i := bytes.LastIndex(w.held[:ready], []byte("PRIVATE KEY")); i >= 0 {
		// The armor that begins last, and has not ended: its lines go together.
		line := bytes.LastIndexByte(w.held[:i], '\n') + 1
		begin := bytes.LastIndex(w.held[line:i], []byte("-----BEGIN "))
		if begin >= 0 && !bytes.Contains(w.held[line+begin:ready], []byte("-----END ")) && len(w.held)-line < maxArmor {
			ready = line
		}
	}
	if len(w.held)-ready > maxHeld {
		ready = len(w.held)
	}
	if ready == 0 {
		return len(p), nil
	}
	if err := w.flush(ready); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *Writer) flush(n int) error {
	text := w.mask(string(w.held[:n]))
	w.held = append(w.held[:0], w.held[n:]...)
	_, err := io.WriteString(w.w, text)
	return err
}

// Close writes what is held back. It does not close the writer below.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.held) == 0 {
		return nil
	}
	return w.flush(len(w.held))
}
