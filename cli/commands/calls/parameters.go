package calls

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
)

// Parameter describes one parameter of a tool, from its schema.
type Parameter struct {
	Name        string // with its path, such as todos[].status
	Kind        string // such as "array of string"
	Required    bool
	DefaultsTo  string   // "" if there is no default
	Bounds      []string // such as "at least 1"
	Description string   // without the default
}

// facts returns the type, the necessity and the bounds of the parameter in one line.
func (p Parameter) facts() string {
	facts := []string{p.Kind}
	if p.Required {
		facts = append(facts, "required")
	}
	facts = append(facts, p.Bounds...)
	if p.DefaultsTo != "" {
		facts = append(facts, "default "+p.DefaultsTo)
	}
	return strings.Join(facts, ", ")
}

// valueSchema is the subset of JSON schema that built-in tools use.
type valueSchema struct {
	Type        string            `json:"type"`
	Description string            `json:"description"`
	Default     json.RawMessage   `json:"default"`
	Enum        []json.RawMessage `json:"enum"`
	Pattern     string            `json:"pattern"`
	Minimum     json.Number       `json:"minimum"`
	Maximum     json.Number       `json:"maximum"`
	MinLength   *int              `json:"minLength"`
	MaxLength   *int              `json:"maxLength"`
	MinItems    *int              `json:"minItems"`
	MaxItems    *int              `json:"maxItems"`
	Items       json.RawMessage   `json:"items"`
	Properties  json.RawMessage   `json:"properties"`
	Required    []string          `json:"required"`
}

// ParametersIn lists the parameters of a schema in order, each object followed by its
// members.
func ParametersIn(schema json.RawMessage) ([]Parameter, error) { return below("", schema) }

func below(place string, schema json.RawMessage) ([]Parameter, error) {
	var s valueSchema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, err
	}
	names, values, err := display.Members(s.Properties)
	if err != nil {
		return nil, err
	}
	var all []Parameter
	for i, name := range names {
		p, err := parameterOf(place+name, values[i])
		if err != nil {
			return nil, err
		}
		for _, required := range s.Required {
			p.Required = p.Required || required == name
		}
		inner, err := inside(p.Name, values[i])
		if err != nil {
			return nil, err
		}
		all = append(append(all, p), inner...)
	}
	return all, nil
}

// inside lists the parameters of an object, or of the objects in an array.
func inside(place string, schema json.RawMessage) ([]Parameter, error) {
	var s valueSchema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, err
	}
	if s.Items != nil {
		return inside(place+"[]", s.Items)
	}
	return below(place+".", schema)
}

func parameterOf(name string, schema json.RawMessage) (Parameter, error) {
	var s valueSchema
	if err := json.Unmarshal(schema, &s); err != nil {
		return Parameter{}, err
	}
	kind, err := kindIn(s)
	p := Parameter{Name: name, Kind: kind, Bounds: s.bounds()}
	p.Description, p.DefaultsTo = splitDefault(s.Description)
	if s.Default != nil {
		p.DefaultsTo = string(s.Default)
	}
	return p, err
}

// kindIn returns the type of a value, such as "array of string".
func kindIn(s valueSchema) (string, error) {
	kind := cmp.Or(s.Type, "any")
	if s.Items == nil {
		return kind, nil
	}
	var items valueSchema
	if err := json.Unmarshal(s.Items, &items); err != nil {
		return "", err
	}
	of, err := kindIn(items)
	return kind + " of " + of, err
}

func (s valueSchema) bounds() []string {
	var all []string
	if len(s.Enum) > 0 {
		values := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			values[i] = string(v)
		}
		all = append(all, "one of "+strings.Join(values, " "))
	}
	all = append(all, between("", text(s.Minimum), text(s.Maximum))...)
	all = append(all, between(" character", count(s.MinLength), count(s.MaxLength))...)
	all = append(all, between(" item", count(s.MinItems), count(s.MaxItems))...)
	if s.Pattern != "" {
		all = append(all, "matches "+s.Pattern)
	}
	return all
}

// between describes the bounds of a count of something, or of a value if of is empty.
func between(of, least, most string) []string {
	if n := cmp.Or(most, least); of != "" && n != "1" {
		of += "s"
	}
	switch {
	case least != "" && most != "":
		return []string{least + " to " + most + of}
	case least != "":
		return []string{"at least " + least + of}
	case most != "":
		return []string{"at most " + most + of}
	}
	return nil
}

func text(n json.Number) string { return n.String() }

func count(n *int) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}

// splitDefault splits a final sentence "Default: x." from a description.
func splitDefault(description string) (rest, defaultsTo string) {
	const mark = "Default: "
	at := strings.LastIndex(description, mark)
	if at < 0 || strings.Contains(strings.TrimSuffix(description[at:], "."), ". ") {
		return description, ""
	}
	return strings.TrimSpace(description[:at]), strings.TrimSuffix(description[at+len(mark):], ".")
}
