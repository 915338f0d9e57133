package replay

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/model"
)

// The operations of a Generator.
const (
	opAnswer = "answer" // in pieces or at once
	opCount  = "count"
)

// asked is what a recording keeps of a request: enough to find it again and to
// say what differs.
type asked struct {
	Operation string        `json:"op"`
	Model     string        `json:"model,omitempty"`
	Purpose   model.Purpose `json:"purpose,omitempty"`
	System    sum           `json:"system,omitempty"`
	Settings  sum           `json:"settings,omitempty"` // numbers, choice of tools, schema of the answer
	Tools     []tool        `json:"tools,omitempty"`
	Turns     []turn        `json:"turns,omitempty"`
}

// tool is a declaration.
type tool struct {
	Name string `json:"name"`
	Sum  sum    `json:"sum"`
}

// turn is a turn of the conversation.
type turn struct {
	Role  model.Role `json:"role"`
	Parts []piece    `json:"parts,omitempty"`
}

// piece is a part of a turn.
type piece struct {
	What  string `json:"what"`            // text, thought, data, call of NAME, answer of NAME
	Sum   sum    `json:"sum"`             // of all of it
	Loose sum    `json:"loose"`           // of what is not volatile
	Shows string `json:"shows,omitempty"` // its beginning, for people
}

// sum is the beginning of a SHA-256.
type sum string

func sumOf(texts ...string) sum {
	h := sha256.New()
	for _, text := range texts {
		_, _ = h.Write([]byte(text)) // a hash does not fail
		_, _ = h.Write([]byte{0})
	}
	return sum(hex.EncodeToString(h.Sum(nil)[:8]))
}

// digester makes digests. As each request repeats the conversation so far, it
// keeps what takes time. It is safe for concurrent use.
type digester struct {
	hide mask

	mu    sync.Mutex
	loose map[sum]sum // of a part, by its Sum
}

// of returns what is kept of a request.
func (d *digester) of(operation string, r *model.Request) asked {
	a := asked{
		Operation: operation, Model: r.Model, Purpose: cmp.Or(r.Purpose, model.PurposeMain),
		Settings: settings(r),
	}
	if r.System != "" {
		a.System = sumOf(r.System)
	}
	for _, t := range r.Tools {
		a.Tools = append(a.Tools, tool{t.Name, sumOf(t.Description, string(t.Parameters))})
	}
	for _, c := range r.Contents {
		to := turn{Role: c.Role}
		for i := range c.Parts {
			to.Parts = append(to.Parts, d.piece(&c.Parts[i]))
		}
		a.Turns = append(a.Turns, to)
	}
	return a
}

// settings sums up what is the same in most requests; "" where all of it is
// left to the provider.
func settings(r *model.Request) sum {
	kept := struct {
		Temperature *float64         `json:"temperature,omitempty"`
		TopP        *float64         `json:"topP,omitempty"`
		Output      int              `json:"output,omitempty"`
		Choice      model.ToolChoice `json:"choice"`
		Schema      json.RawMessage  `json:"schema,omitempty"`
	}{r.Temperature, r.TopP, r.MaxOutputTokens, r.Choice, r.ResponseSchema}
	data, err := json.Marshal(kept)
	if err != nil { // a schema that is no JSON
		return sumOf(string(r.ResponseSchema))
	}
	if string(data) == `{"choice":{"Mode":"","Allowed":null}}` {
		return ""
	}
	return sumOf(string(data))
}

func (d *digester) piece(p *model.Part) piece {
	what, text, id := "text", p.Text, ""
	switch {
	case p.Call != nil:
		what, text, id = "call of "+p.Call.Name, string(p.Call.Args), p.Call.ID
	case p.Response != nil:
		what, text, id = "answer of "+p.Response.Name, string(p.Response.Response), p.Response.ID
		for _, data := range p.Response.Data {
			text += dataText(&data)
		}
	case p.Data != nil:
		what, text = "data", dataText(p.Data)
	case p.Thought:
		what = "thought"
	}
	all := sumOf(what, text, id, string(p.Signature), p.Provider)
	return piece{What: what, Sum: all, Loose: d.looseSum(all, what, text), Shows: d.hide.excerpt(text)}
}

func (d *digester) looseSum(all sum, what, text string) sum {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known, ok := d.loose[all]; ok {
		return known
	}
	if d.loose == nil {
		d.loose = map[sum]sum{}
	}
	loose := sumOf(what, steady(text))
	d.loose[all] = loose
	return loose
}

func dataText(d *model.Data) string {
	return d.MIMEType + " " + string(sumOf(string(d.Bytes))) + " " + d.Name
}

const (
	mostShown = 60            // characters of a text that are shown
	mostRead  = 8 * mostShown // bytes of it that are looked at
)

// excerpt is the beginning of a text on one line.
func excerpt(text string) string {
	return escape.Clip(escape.OneLine(strings.ToValidUTF8(text[:min(len(text), mostRead)], "\uFFFD")), mostShown)
}

// volatile is what differs from one run to the next though nothing has changed:
// UUIDs, hashes, times, dates, durations, ports on this machine and the directories
// that a path begins with. What stands for them keeps the last element of paths.
var volatile = sync.OnceValue(func() []replacement {
	return []replacement{
		{regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "<id>"},
		{regexp.MustCompile(`(?i)\b[0-9a-f]{32,64}\b`), "<hash>"},
		{regexp.MustCompile(`\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?\b`), "<time>"},
		{regexp.MustCompile(`\b\d+(?:\.\d+)?\s?(?:ns|µs|ms|s|seconds)\b`), "<duration>"},
		{regexp.MustCompile(`\b(localhost|127\.0\.0\.1):\d+\b`), "$1:<port>"},
		{regexp.MustCompile(`(?:[A-Za-z]:)?(?:[/\\]+[^/\\\s"'<>|:*?,;()\[\]{}]+)+[/\\]+([^/\\\s"'<>|:*?,;()\[\]{}]+)`), "<path>/$1"},
	}
})

// replacement is what stands for what an expression finds.
type replacement struct {
	find *regexp.Regexp
	put  string
}

// steady returns text without what is volatile.
func steady(text string) string {
	for _, v := range volatile() {
		text = v.find.ReplaceAllString(text, v.put)
	}
	return text
}
