package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/fettle-dev/fettle/core/tools/host"
)

// schemaKey is the key under which the original schema of a question is kept: the
// SDK's representation loses the order of the fields, in which the user is asked.
const schemaKey = "fettle/requestedSchema"

// keepSchema adds a copy of a question's schema to its params.
func keepSchema(params []byte) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(params, &fields) != nil || len(fields["requestedSchema"]) == 0 {
		return params
	}
	var meta map[string]json.RawMessage
	if json.Unmarshal(fields["_meta"], &meta) != nil || meta == nil {
		meta = map[string]json.RawMessage{}
	}
	meta[schemaKey] = encode(string(fields["requestedSchema"]))
	fields["_meta"] = encode(meta)
	return encode(fields)
}

// elicit asks the user on behalf of the server. If the user cannot answer, the
// server receives cancel; an answer that does not match the schema is not sent.
func (s *session) elicit(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	p := r.Params
	e := host.Elicitation{Message: p.Message, URL: p.URL, ID: p.ElicitationID}
	if text, ok := p.Meta[schemaKey].(string); ok && p.URL == "" {
		e.Schema = json.RawMessage(text)
	} else if p.RequestedSchema != nil {
		e.Schema = json.RawMessage(encode(p.RequestedSchema))
	}
	if bytes.Equal(bytes.TrimSpace(e.Schema), []byte("null")) {
		e.Schema = nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	type outcome struct {
		answer host.Elicited
		err    error
	}
	asked := make(chan outcome, 1)
	go func() { // the handler may ignore ctx; the session does not wait for it
		var o outcome
		if err := guard(func() error { o.answer, o.err = s.h.Elicit(ctx, e); return nil }); err != nil {
			o.err = err
		}
		asked <- o
	}()
	var o outcome
	select {
	case o = <-asked:
	case <-ctx.Done():
		return nil, ctx.Err() // the answer is no longer needed
	}
	if o.err != nil {
		s.d.o.Logger.DebugContext(ctx, "mcp: a server's question was not answered", "server", s.name)
		return &sdk.ElicitResult{Action: string(host.ElicitCancel)}, nil
	}
	switch o.answer.Action {
	case host.ElicitAccept:
	case host.ElicitDecline:
		return &sdk.ElicitResult{Action: string(host.ElicitDecline)}, nil
	default:
		return &sdk.ElicitResult{Action: string(host.ElicitCancel)}, nil
	}
	if e.URL != "" {
		return &sdk.ElicitResult{Action: string(host.ElicitAccept)}, nil
	}
	content, err := fill(e.Schema, o.answer.Content)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the answer does not fit the requested schema: " + err.Error()}
	}
	return &sdk.ElicitResult{Action: string(host.ElicitAccept), Content: content}, nil
}

// fill returns an answer with the schema's defaults for omitted fields. The error
// describes a mismatch with the schema.
func fill(schema, answer []byte) (map[string]any, error) {
	content := map[string]any{}
	if len(bytes.TrimSpace(answer)) > 0 {
		d := json.NewDecoder(bytes.NewReader(answer))
		d.UseNumber()
		if d.Decode(&content) != nil {
			return nil, errors.New("it is not an object")
		}
	}
	if content == nil {
		content = map[string]any{}
	}
	if len(schema) > 0 {
		var s struct {
			Properties map[string]struct {
				Default json.RawMessage `json:"default"`
			} `json:"properties"`
		}
		if err := json.Unmarshal(schema, &s); err != nil {
			return nil, errors.New("the schema is not valid JSON")
		}
		for name, property := range s.Properties {
			if value, given := content[name]; (!given || value == nil) && len(property.Default) > 0 {
				var v any
				d := json.NewDecoder(bytes.NewReader(property.Default))
				d.UseNumber()
				if d.Decode(&v) == nil {
					content[name] = v
				}
			} else if given && value == nil {
				delete(content, name) // null means omitted
			}
		}
	}
	for name, value := range content {
		content[name] = number(value)
	}
	return content, check(schema, content)
}

// number converts a JSON number for the SDK; integers stay exact.
func number(v any) any {
	n, ok := v.(json.Number)
	if !ok {
		return v
	}
	if i, err := n.Int64(); err == nil {
		return i
	}
	f, err := n.Float64()
	if err != nil {
		return string(n)
	}
	return f
}

// check returns the mismatches of content with a schema.
func check(schema []byte, content map[string]any) error {
	if len(schema) == 0 {
		return nil
	}
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	c.AssertFormat = true
	c.LoadURL = noURL
	if err := c.AddResource("fettle:///elicitation", bytes.NewReader(schema)); err != nil {
		return errors.New("the schema is not valid JSON")
	}
	compiled, err := c.Compile("fettle:///elicitation")
	if err != nil {
		return errors.New("the schema is invalid")
	}
	var plain any // the validator's own types
	if err := json.Unmarshal(encode(content), &plain); err != nil {
		return errors.New("it cannot be encoded as JSON")
	}
	var invalid *jsonschema.ValidationError
	if err := compiled.Validate(plain); errors.As(err, &invalid) {
		for len(invalid.Causes) > 0 {
			invalid = invalid.Causes[0]
		}
		return errors.New(strings.TrimSpace(strings.TrimPrefix(invalid.InstanceLocation, "/") + " " + invalid.Message))
	} else if err != nil {
		return errors.New("it cannot be checked")
	}
	return nil
}

// noURL keeps the validator from loading references to other documents.
func noURL(string) (io.ReadCloser, error) { return nil, errors.New("a schema may not load another") }
