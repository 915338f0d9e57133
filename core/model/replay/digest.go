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
	opAnswer = "answer" // Stream and Generate
	opCount  = "count"
)

// asked is the recorded form of a request: enough to find it again and to report differences.
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
	Kind  string `json:"what"`            // text, thought, data, call of NAME, answer of NAME
	Sum   sum    `json:"sum"`             // of the whole content
	Loose sum    `json:"loose"`           // of the content without volatile text
	Shows string `json:"shows,omitempty"` // the beginning of the content, for error messages
}

// sum is the beginning of a SHA-256.
type sum string

func sumOf(texts ...string) sum {
	h := sha256.New()
	for _, text := range texts {
		_, _ = h.Write([]byte(text)) // a hash never returns an error
		_, _ = h.Write([]byte{0})
	}
	return sum(hex.EncodeToString(h.Sum(nil)[:8]))
}

// digester creates the recorded form of requests. It caches expensive results, since each request
// repeats the conversation so far. It is safe for concurrent use.
type digester struct {
	hide mask

	mu    sync.Mutex
	loose map[sum]sum // Loose of a part, by its Sum
}

// of returns the recorded form of a request.
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

// settings returns the hash of the settings that most requests share; "" if all of them are left to
// the provider.
func settings(r *model.Request) sum {
	kept := struct {
		Temperature *float64         `json:"temperature,omitempty"`
		TopP        *float64         `json:"topP,omitempty"`
		Output      int              `json:"output,omitempty"`
		Choice      model.ToolChoice `json:"choice"`
		Schema      json.RawMessage  `json:"schema,omitempty"`
	}{r.Temperature, r.TopP, r.MaxOutputTokens, r.Choice, r.ResponseSchema}
	data, err := json.Marshal(kept)
	if err != nil { // a schema that is invalid JSON
		return sumOf(string(r.ResponseSchema))
	}
	if string(data) == `{"choice":{"Mode":"","Allowed":null}}` {
		return ""
	}
	return sumOf(string(data))
}

func (d *digester) piece(p *model.Part) piece {
	kind, text, id := "text", p.Text, ""
	switch {
	case p.Call != nil:
		kind, text, id = "call of "+p.Call.Name, string(p.Call.Args), p.Call.ID
	case p.Response != nil:
		kind, text, id = "answer of "+p.Response.Name, string(p.Response.Response), p.Response.ID
		for _, data := range p.Response.Data {
			text += dataText(&data)
		}
	case p.Data != nil:
		kind, text = "data", dataText(p.Data)
	case p.Thought:
		kind = "thought"
	}
	all := sumOf(kind, text, id, string(p.Signature), p.Provider)
	return piece{Kind: kind, Sum: all, Loose: d.looseSum(all, kind, text), Shows: d.hide.excerpt(text)}
}

func (d *digester) looseSum(all sum, kind, text string) sum {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known, ok := d.loose[all]; ok {
		return known
	}
	if d.loose == nil {
		d.loose = map[sum]sum{}
	}
	loose := sumOf(kind, steady(text))
	d.loose[all] = loose
	return loose
}

func dataText(d *model.Data) string {
	return d.MIMEType + " " + string(sumOf(string(d.Bytes))) + " " + d.Name
}

const (
	mostShown = 60            // characters of a text that are shown
	mostRead  = 8 * mostShown // bytes of a text that are searched for them
)

// excerpt returns the beginning of a text on one line.
func excerpt(text string) string {
	return escape.Clip(escape.OneLine(strings.ToValidUTF8(text[:min(len(text), mostRead)], "\uFFFD")), mostShown)
}

// volatile matches text that differs between runs of the same conversation: UUIDs, hashes, times,
// dates, durations, local ports and leading directories of paths. The replacement of a path keeps
// its last element.
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

// replacement is the substitute for the matches of an expression.
type replacement struct {
	find *regexp.Regexp
	put  string
}

// steady returns text with its volatile parts replaced.
func steady(text string) string {
	for _, v := range volatile() {
		text = v.find.ReplaceAllString(text, v.put)
	}
	return text
}
