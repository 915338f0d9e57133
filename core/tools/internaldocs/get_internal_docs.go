package internaldocs

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// GetInternalDocsParams are the parameters of get_internal_docs.
type GetInternalDocsParams struct {
	Path string `json:"path,omitempty" jsonschema_description:"The path of a document in the list, such as policy.md. Omit it to get the list."`
}

const getInternalDocsDescription = "Returns the documentation of fettle itself, the program that you run in: its settings, policy, commands, tools and architecture. " +
	"Use it for questions about fettle, not for those about the user's project. " +
	"Without path the result is the list of all documents, each with its path and heading; with a path from that list it is the whole document, as Markdown."

func newGetInternalDocs() (*Factory, error) {
	return tools.NewFactory(tools.Definition[Services, GetInternalDocsParams]{
		Spec: tools.Spec{
			Name: GetInternalDocs, DisplayName: "GetInternalDocs", Description: getInternalDocsDescription,
			Kind: tools.KindRead, Parallel: true, OutputIsMarkdown: true,
		},
		Validate: func(_ Services, p GetInternalDocsParams) error {
			if p.Path != "" && (!fs.ValidPath(p.Path) || p.Path == "." || strings.ContainsAny(p.Path, "\\\x00")) {
				e := fault.New(fault.InvalidToolParams, "internaldocs.validate",
					fmt.Sprintf("%s is not the path of a document: paths are relative, with slashes, and contain no ..", quoted(p.Path)),
					"Call without a path for the list of documents.")
				e.Short = "Invalid arguments"
				return e
			}
			return nil
		},
		Build: func(s Services, p GetInternalDocsParams, params json.RawMessage) (tools.ToolInvocation, error) {
			return &getInternalDocs{s.Docs, p.Path, params}, nil
		},
	})
}

type getInternalDocs struct {
	docs   fs.FS
	path   string
	params json.RawMessage
}

func (g *getInternalDocs) Params() json.RawMessage { return g.params }

func (g *getInternalDocs) Description() string {
	if g.path == "" {
		return "List fettle's documents"
	}
	return "Read fettle's document " + quoted(g.path)
}

func (g *getInternalDocs) Locations() []tools.Location { return nil }

func (g *getInternalDocs) Confirmation(context.Context) (*tools.Confirmation, error) { return nil, nil }

func (g *getInternalDocs) Execute(ctx context.Context, _ tools.Output) (tools.Result, error) {
	documents, err := g.list(ctx)
	if err != nil {
		return failed(ctx, err), nil
	}
	if g.path == "" {
		return g.contents(documents), nil
	}
	for _, d := range documents {
		if d.path == g.path {
			return tools.Result{LLMContent: tools.Text(d.text), ReturnDisplay: tools.TextDisplay("Read " + d.path)}, nil
		}
	}
	return tools.Fail(g.unknown(documents)), nil
}

type document struct {
	path string
	text string
}

// list reads all documents, sorted by path.
func (g *getInternalDocs) list(ctx context.Context) ([]document, error) {
	var documents []document
	err := fs.WalkDir(g.docs, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || entry.IsDir() || path.Ext(name) != ".md" {
			return err
		}
		text, err := fs.ReadFile(g.docs, name)
		documents = append(documents, document{name, string(text)})
		return err
	})
	return documents, err
}

// contents returns the list of the documents.
func (g *getInternalDocs) contents(documents []document) tools.Result {
	var b strings.Builder
	b.WriteString("The documents of fettle; pass a path to read one:\n")
	for _, d := range documents {
		fmt.Fprintf(&b, "\n- %s", d.path)
		if h := d.heading(); h != "" {
			b.WriteString(": " + h)
		}
	}
	return tools.Result{
		LLMContent:    tools.Text(b.String()),
		ReturnDisplay: tools.TextDisplay(fmt.Sprintf("Listed %d documents", len(documents))),
	}
}

// heading returns the first heading of the document, or "".
func (d document) heading() string {
	for line := range strings.Lines(d.text) {
		if text, ok := strings.CutPrefix(line, "# "); ok {
			return strings.TrimSpace(text)
		}
	}
	return ""
}

// unknown returns the error for an unknown path, with similar paths.
func (g *getInternalDocs) unknown(documents []document) *fault.Error {
	const most = 5
	var near []string
	for _, d := range documents {
		if alike(g.path, d.path) && len(near) < most {
			near = append(near, d.path)
		}
	}
	remedy := "Call without a path for the list of documents."
	if len(near) > 0 {
		remedy = "Did you mean " + strings.Join(near, " or ") + "? " + remedy
	}
	return fault.New(fault.ExecutionFailed, "internaldocs.read", "There is no document "+quoted(g.path)+".", remedy)
}

// alike reports whether the name of one document contains that of the other, or two of their words have the same
// beginning.
func alike(a, b string) bool {
	a, b = stem(a), stem(b)
	if strings.Contains(a, b) || strings.Contains(b, a) {
		return true
	}
	const begins = 4 // letters
	for _, word := range words(a) {
		for _, other := range words(b) {
			if len(word) >= begins && strings.HasPrefix(other, word[:begins]) {
				return true
			}
		}
	}
	return false
}

func stem(name string) string {
	return strings.ToLower(strings.TrimSuffix(path.Base(name), path.Ext(name)))
}

func words(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' || r == ' ' || r == '.' })
}

// quoted returns a path for a message.
func quoted(name string) string { return escape.Quote(escape.Clip(name, 120)) }

func failed(ctx context.Context, err error) tools.Result {
	if ctx.Err() != nil {
		return tools.Fail(fault.Wrap(fault.Cancelled, "internaldocs.read", "The call was cancelled.", "", err))
	}
	return tools.Fail(fault.Wrap(fault.ExecutionFailed, "internaldocs.read", "The documents could not be read: "+err.Error()+".",
		"Use the documentation on the web.", err))
}
