package elicit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/escape"
)

// formField is one field of an MCP server's elicitation form: a property of its
// restricted schema.
type formField struct {
	name     string
	required bool
	formProperty
}

// formProperty is the schema of a field.
type formProperty struct {
	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Default     json.RawMessage `json:"default"`

	Format    string `json:"format"`
	MinLength *int   `json:"minLength"`
	MaxLength *int   `json:"maxLength"`

	Minimum *float64 `json:"minimum"`
	Maximum *float64 `json:"maximum"`

	Enum      []string     `json:"enum"`
	EnumNames []string     `json:"enumNames"`
	OneOf     []formChoice `json:"oneOf"`

	Items *struct {
		Enum  []string     `json:"enum"`
		AnyOf []formChoice `json:"anyOf"`
		OneOf []formChoice `json:"oneOf"`
	} `json:"items"`
	MinItems *int `json:"minItems"`
	MaxItems *int `json:"maxItems"`
}

// formChoice is one option of a field.
type formChoice struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// maxFormFields is the maximum number of fields of a form.
const maxFormFields = 50

// formFields parses the schema of a form, in its order; a missing schema has no
// fields.
func formFields(schema json.RawMessage) ([]formField, error) {
	if len(schema) == 0 {
		return nil, nil
	}
	var form struct {
		Type       string          `json:"type"`
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := json.Unmarshal(schema, &form); err != nil {
		return nil, err
	}
	if form.Type != "" && form.Type != "object" {
		return nil, fmt.Errorf("its schema has the type %q instead of object", form.Type)
	}
	if len(form.Properties) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(form.Properties))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("its properties are not an object")
	}
	var fields []formField
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		f := formField{name: name.(string)}
		if err := d.Decode(&f.formProperty); err != nil {
			return nil, fmt.Errorf("the field %q: %w", f.name, err)
		}
		if f.required = slices.Contains(form.Required, f.name); len(fields) == maxFormFields {
			return nil, fmt.Errorf("it has more than %d fields", maxFormFields)
		}
		switch f.Type {
		case "string", "number", "integer", "boolean", "array":
		default:
			return nil, fmt.Errorf("the field %q has the type %q", f.name, f.Type)
		}
		if f.Type == "array" && len(f.choices()) == 0 {
			return nil, fmt.Errorf("the field %q is a list without options", f.name)
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// choices returns the options of a field, nil for free text.
func (f *formField) choices() []formChoice {
	switch {
	case f.Items != nil && len(f.Items.AnyOf) > 0:
		return f.Items.AnyOf
	case f.Items != nil && len(f.Items.OneOf) > 0:
		return f.Items.OneOf
	case f.Items != nil:
		return plainChoices(f.Items.Enum, nil)
	case len(f.OneOf) > 0:
		return f.OneOf
	}
	return plainChoices(f.Enum, f.EnumNames)
}

func plainChoices(values, titles []string) []formChoice {
	choices := make([]formChoice, len(values))
	for i, v := range values {
		choices[i].Const = v
		if i < len(titles) {
			choices[i].Title = titles[i]
		}
	}
	return choices
}

// label returns the displayed text of a choice.
func (c formChoice) label() string {
	if c.Title != "" {
		return c.Title
	}
	return c.Const
}

// question returns the question for the field.
func (f *formField) question() bus.UserQuestion {
	title := cmp.Or(f.Title, f.name)
	text := title
	if f.Description != "" {
		text += " (" + strings.TrimSuffix(f.Description, ".") + ")"
	}
	if !f.required {
		text += ", optional"
	}
	q := bus.UserQuestion{Question: text + "?", Header: escape.Clip(title, 16), Type: bus.QuestionText}
	q.Optional = !f.required
	if f.Default != nil {
		q.Default = f.shownDefault()
	}
	switch choices := f.choices(); {
	case f.Type == "boolean":
		q.Type = bus.QuestionYesNo
	case len(choices) > 0:
		q.Type, q.MultiSelect = bus.QuestionChoice, f.Type == "array"
		for _, c := range choices {
			o := bus.UserOption{Label: c.label()}
			if c.Title != "" && c.Title != c.Const {
				o.Description = c.Const
			}
			q.Options = append(q.Options, o)
		}
	}
	return q
}

// shownDefault returns the displayed default: for choices, their labels.
func (f *formField) shownDefault() string {
	var values []string
	if json.Unmarshal(f.Default, &values) != nil {
		var one any
		_ = json.Unmarshal(f.Default, &one) // it was part of valid JSON
		text, isText := one.(string)
		if !isText {
			return string(f.Default)
		}
		values = []string{text}
	}
	for i, v := range values {
		for _, c := range f.choices() {
			if c.Const == v {
				values[i] = c.label()
			}
		}
	}
	return strings.Join(values, ", ")
}

// value parses an answer; nil for an omitted field. wrong describes a mistake to
// the user; "": the answer is valid.
func (f *formField) value(answer string) (v any, wrong string) {
	if answer = strings.TrimSpace(answer); answer == "" {
		switch {
		case f.Default != nil:
			return f.Default, ""
		case f.required:
			return nil, "A value is required."
		}
		return nil, ""
	}
	switch f.Type {
	case "boolean":
		return f.boolean(answer)
	case "integer", "number":
		return f.number(answer)
	case "array":
		return f.several(answer)
	}
	if choices := f.choices(); len(choices) > 0 {
		c, ok := chosen(choices, answer)
		if !ok {
			return nil, fmt.Sprintf("Choose one of the options, not %q.", answer)
		}
		return c, ""
	}
	return answer, f.fits(answer)
}

func (f *formField) boolean(answer string) (v any, wrong string) {
	switch strings.ToLower(answer) {
	case "y", "yes", "true", "on", "1":
		return true, ""
	case "n", "no", "false", "off", "0":
		return false, ""
	}
	return nil, fmt.Sprintf("Answer yes or no, not %q.", answer)
}

func (f *formField) number(answer string) (v any, wrong string) {
	n, err := strconv.ParseFloat(answer, 64)
	switch {
	case err != nil || math.IsNaN(n) || math.IsInf(n, 0) || !json.Valid([]byte(answer)):
		return nil, fmt.Sprintf("%q is not a number.", answer)
	case f.Type == "integer" && n != math.Trunc(n):
		return nil, fmt.Sprintf("%s is not an integer.", answer)
	case f.Minimum != nil && n < *f.Minimum:
		return nil, fmt.Sprintf("%s is less than %v.", answer, *f.Minimum)
	case f.Maximum != nil && n > *f.Maximum:
		return nil, fmt.Sprintf("%s is more than %v.", answer, *f.Maximum)
	}
	return json.RawMessage(answer), "" // exact
}

// several parses the chosen options, which are joined by commas and may contain
// commas themselves.
func (f *formField) several(answer string) (v any, wrong string) {
	choices := f.choices()
	picked := []string{}
	for rest := answer; ; {
		if rest = strings.TrimLeft(rest, ", \t\r\n"); rest == "" {
			break
		}
		c, n := longest(choices, rest)
		if n == 0 {
			part, _, _ := strings.Cut(rest, ",")
			return nil, fmt.Sprintf("Choose among the options; %q is not one of them.", strings.TrimSpace(part))
		}
		if !slices.Contains(picked, c) {
			picked = append(picked, c)
		}
		rest = rest[n:]
	}
	switch n := len(picked); {
	case f.MinItems != nil && n < *f.MinItems:
		return nil, fmt.Sprintf("Choose at least %d.", *f.MinItems)
	case f.MaxItems != nil && n > *f.MaxItems:
		return nil, fmt.Sprintf("Choose at most %d.", *f.MaxItems)
	}
	return picked, ""
}

// longest returns the choice with which answer begins, and its length in bytes:
// the longest sequence of comma-separated parts that is a choice. 0: there is
// none.
func longest(choices []formChoice, answer string) (string, int) {
	for end := len(answer); end > 0; end = strings.LastIndexByte(answer[:end], ',') {
		if c, ok := chosen(choices, strings.TrimSpace(answer[:end])); ok {
			return c, end
		}
	}
	return "", 0
}

func chosen(choices []formChoice, answer string) (string, bool) {
	for _, c := range choices {
		if answer == c.label() || answer == c.Const {
			return c.Const, true
		}
	}
	for _, c := range choices {
		if strings.EqualFold(answer, c.label()) || strings.EqualFold(answer, c.Const) {
			return c.Const, true
		}
	}
	return "", false
}

// fits validates a text for its field.
func (f *formField) fits(text string) (wrong string) {
	n := utf8.RuneCountInString(text)
	switch {
	case f.MinLength != nil && n < *f.MinLength:
		return fmt.Sprintf("At least %d characters are required.", *f.MinLength)
	case f.MaxLength != nil && n > *f.MaxLength:
		return fmt.Sprintf("At most %d characters are allowed.", *f.MaxLength)
	}
	var err error
	switch f.Format {
	case "email":
		_, err = mail.ParseAddress(text)
	case "uri":
		if u, e := url.Parse(text); e != nil || u.Scheme == "" {
			err = errors.New("no scheme")
		}
	case "date":
		_, err = time.Parse(time.DateOnly, text)
	case "date-time":
		_, err = time.Parse(time.RFC3339, text)
	}
	if err != nil {
		return fmt.Sprintf("%q is not a valid %s.", text, f.Format)
	}
	return ""
}
