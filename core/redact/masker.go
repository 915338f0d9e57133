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

// Shortest is the length in bytes below which a value is not masked, since it would match
// everywhere.
const Shortest = 6

// Masker masks known values, and text with the shape of a secret. The zero value knows no values.
// It is safe for concurrent use and must not be copied after first use.
type Masker struct {
	// Shortest is the length in bytes below which a value is not masked. 0: [Shortest].
	Shortest int

	mu       sync.Mutex
	values   []string
	replacer *strings.Replacer // of values; nil: not built, or there are no values
}

// Add adds values to mask from now on. They are masked as they are, as encoded in a URL and in a
// JSON string, and in JSON within JSON strings, three levels deep. Values that are too short are
// ignored.
func (m *Masker) Add(values ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range values {
		if len(v) >= cmp.Or(m.Shortest, Shortest) && !slices.Contains(m.values, v) {
			m.values, m.replacer = append(m.values, v), nil
		}
	}
}

// Values returns the added values.
func (m *Masker) Values() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.values)
}

// Text returns text with [Mark] in place of secrets.
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

// Replacer returns a replacer that puts [Mark] in place of values of at least shortest bytes. It
// replaces them as they are, as encoded in URLs and in JSON strings, and in JSON within JSON
// strings, three levels deep. It returns nil if there are no such values.
func Replacer(values []string, shortest int) *strings.Replacer {
	const depth = 3 // levels of JSON within JSON strings
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
	// The longest first, so that a value that contains another one is replaced as a whole.
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	var pairs []string
	for _, f := range slices.Compact(forms) {
		pairs = append(pairs, f, Mark)
	}
	return strings.NewReplacer(pairs...)
}

// escaped returns s encoded as the inside of a JSON string, with or without the HTML escapes of
// encoding/json.
func escaped(s string, html bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	_ = e.Encode(s) // a string can be encoded
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(b.String()), `"`), `"`)
}

// Writer masks a stream. It buffers each line until it is complete, and a private key until its
// end, so that a secret that is split between writes is masked too. It is safe for concurrent use.
type Writer struct {
	w    io.Writer
	mask func(string) string

	mu       sync.Mutex
	buffered []byte
}

// NewWriter returns a Writer that writes to w. mask masks whole lines, as [Masker.Text] does; nil:
// [Text]. The caller must call Close.
func NewWriter(w io.Writer, mask func(string) string) *Writer {
	if mask == nil {
		mask = Text
	}
	return &Writer{w: w, mask: mask}
}

// maxBuffered is the limit of the buffer in bytes.
const maxBuffered = 256 << 10

// Write implements io.Writer. The error may be of an earlier part of the stream.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buffered = append(w.buffered, p...)
	ready := bytes.LastIndexByte(w.buffered, '\n') + 1
	if i := bytes.LastIndex(w.buffered[:ready], []byte("PRIVATE KEY")); i >= 0 {
		// The lines of the last armor without an end stay together.
		line := bytes.LastIndexByte(w.buffered[:i], '\n') + 1
		begin := bytes.LastIndex(w.buffered[line:i], []byte("-----BEGIN "))
		if begin >= 0 && !bytes.Contains(w.buffered[line+begin:ready], []byte("-----END ")) && len(w.buffered)-line < maxArmor {
			ready = line
		}
	}
	if len(w.buffered)-ready > maxBuffered {
		ready = len(w.buffered)
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
	text := w.mask(string(w.buffered[:n]))
	w.buffered = append(w.buffered[:0], w.buffered[n:]...)
	_, err := io.WriteString(w.w, text)
	return err
}

// Close writes the buffered text. It does not close the underlying writer.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.buffered) == 0 {
		return nil
	}
	return w.flush(len(w.buffered))
}
