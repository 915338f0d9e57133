package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fettle-dev/fettle/core/tools"
)

// toolCounts are the sizes of the cases registry/KIND-N.
func toolCounts() []int { return []int{20, 1_000, 10_000} }

const budgetTools = 10_000 // tools; the size that the budgets of the registry apply to

func registryCases() []Case {
	var all []Case
	for _, kind := range []struct {
		key, title, what string
		most             float64
		ours             func(n int) func(context.Context, *Lab) (*Prepared, error)
		floor            *Contestant
	}{
		{"lookup", "a look-up", "One tool is found by its name.", 100, lookUp, &Contestant{"a Go map", Floor, mapLookUp}},
		{"first", "declarations listed after a change", "The declarations of all tools are listed after one tool was added and removed.", 10e6, listFirst, nil},
		{"cached", "declarations listed again", "The declarations of all tools are listed again without a change.", 50e3, listAgain, nil},
	} {
		for _, n := range toolCounts() {
			c := Case{ID: fmt.Sprintf("registry/%s-%d", kind.key, n), Title: kind.title + " among " + thousands(n) + " tools", Description: kind.what,
				Growth:      &Growth{Plot: "registry", Line: kind.title, X: float64(n)},
				Contestants: []Contestant{{"fettle", Ours, kind.ours(n)}}}
			if n == budgetTools {
				c.Budgets = []Budget{{Kind: Absolute, Most: kind.most}}
				if kind.floor != nil {
					c.Contestants = append(c.Contestants, *kind.floor)
				}
			}
			all = append(all, c)
		}
	}
	return all
}

// declared is a tool that is never called.
type declared struct{ spec tools.Spec }

func (d declared) Spec() tools.Spec { return d.spec }
func (d declared) Build(json.RawMessage) (tools.ToolInvocation, error) {
	return nil, errors.New("not callable")
}

func filled(n int) (*tools.Registry, error) {
	schema, err := tools.SchemaOf[arguments]("tool")
	if err != nil {
		return nil, err
	}
	r := tools.NewRegistry(tools.RegistryOptions{})
	for i := range n {
		name := fmt.Sprintf("tool_%d", i)
		err := r.Register(declared{tools.Spec{
			Name: name, Aliases: []string{name + "_alias"}, Description: "Does nothing.", Kind: tools.KindRead, Schema: schema.Raw(),
			Origin: tools.Origin{Group: tools.Group(i % 3), Server: fmt.Sprint(i % 7)},
		}})
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// inRegistry prepares work with a registry of n tools.
func inRegistry(n int, work func(r *tools.Registry) error) func(context.Context, *Lab) (*Prepared, error) {
	return func(context.Context, *Lab) (*Prepared, error) {
		r, err := filled(n)
		if err != nil {
			return nil, err
		}
		return &Prepared{InProcess: true, Run: timed(func(context.Context) error { return work(r) })}, nil
	}
}

func lookUp(n int) func(context.Context, *Lab) (*Prepared, error) {
	name := fmt.Sprintf("tool_%d", n*3/4)
	return inRegistry(n, func(r *tools.Registry) error {
		_, err := r.Lookup(name)
		return err
	})
}

func mapLookUp(context.Context, *Lab) (*Prepared, error) {
	all := map[string]*declared{}
	for i := range budgetTools {
		all[fmt.Sprintf("tool_%d", i)] = &declared{}
	}
	name := fmt.Sprintf("tool_%d", budgetTools*3/4)
	return &Prepared{InProcess: true, Run: timed(func(context.Context) error {
		if all[name] == nil {
			return errors.New("not found")
		}
		return nil
	})}, nil
}

func listAgain(n int) func(context.Context, *Lab) (*Prepared, error) {
	return inRegistry(n, func(r *tools.Registry) error { return hasDeclarations(r, n) })
}

func listFirst(n int) func(context.Context, *Lab) (*Prepared, error) {
	extra := declared{tools.Spec{Name: "extra", Description: "X.", Kind: tools.KindRead, Schema: []byte(`{}`)}}
	return inRegistry(n, func(r *tools.Registry) error {
		if err := r.Register(extra); err != nil { // invalidates the list
			return err
		}
		r.Unregister("extra")
		return hasDeclarations(r, n)
	})
}

func hasDeclarations(r *tools.Registry, n int) error {
	if got := len(r.Declarations()); got != n {
		return fmt.Errorf("%d declarations of %d tools", got, n)
	}
	return nil
}

// arguments have every kind of parameter.
type arguments struct {
	FilePath string         `json:"file_path" jsonschema:"minLength=1" jsonschema_description:"Path, absolute or not."`
	Limit    int            `json:"limit,omitempty" jsonschema:"minimum=1,maximum=2000" jsonschema_description:"Lines."`
	Ratio    float64        `json:"ratio,omitempty" jsonschema_description:"A ratio."`
	Deep     bool           `json:"deep,omitempty" jsonschema_description:"Go deep."`
	Mode     string         `json:"mode,omitempty" jsonschema:"enum=fast,enum=slow" jsonschema_description:"How."`
	Paths    []string       `json:"paths,omitempty" jsonschema_description:"Paths."`
	Edits    []replacement  `json:"edits,omitempty" jsonschema_description:"Edits."`
	Env      map[string]int `json:"env,omitempty" jsonschema_description:"Numbers."`
}

type replacement struct {
	Old string `json:"old" jsonschema_description:"Text to find."`
	New string `json:"new,omitempty" jsonschema_description:"Text to put in its place."`
}

// validArguments match the schema; wrongArguments do not. One of the latter is a number as text,
// which is repaired.
const (
	validArguments  = `{"file_path":"a/b.go","limit":200,"ratio":0.5,"deep":true,"mode":"fast","paths":["a","b"],"edits":[{"old":"x","new":"y"}],"env":{"A":1}}`
	wrongArguments  = `{"file_path":"a/b.go","limit":"200","ratio":0.5,"deep":true,"mode":"fast","paths":["a","b"],"edits":[{"old":"x","new":"y"}],"env":{"A":1}}`
	schemaByHand    = "decode into a struct"
	schemaReflected = "the schema of a struct"
)

func schemaCases() []Case {
	checks := func(args string) func(context.Context, *Lab) (*Prepared, error) {
		return func(context.Context, *Lab) (*Prepared, error) {
			s, err := tools.SchemaOf[arguments]("sample")
			if err == nil {
				err = s.Compile()
			}
			return &Prepared{InProcess: true, Run: timed(func(context.Context) error {
				_, err := s.Check(json.RawMessage(args))
				return err
			})}, err
		}
	}
	return []Case{
		{ID: "schema/validate", Title: "validation of eight parameters", Description: "Arguments are decoded and validated against a schema.",
			Contestants: []Contestant{
				{"fettle", Ours, checks(validArguments)},
				{"with a number sent as text, which is repaired", Part, checks(wrongArguments)},
				{schemaByHand, Floor, func(context.Context, *Lab) (*Prepared, error) {
					return &Prepared{InProcess: true, Run: timed(func(context.Context) error {
						var a arguments
						return json.Unmarshal([]byte(validArguments), &a)
					})}, nil
				}},
			}},
		{ID: "schema/compile", Title: schemaReflected + ", generated and compiled", Description: "The cost of the first use of a tool.",
			Contestants: []Contestant{{"fettle", Ours, func(context.Context, *Lab) (*Prepared, error) {
				return &Prepared{InProcess: true, Run: timed(func(context.Context) error {
					s, err := tools.SchemaOf[arguments]("sample")
					if err != nil {
						return err
					}
					return s.Compile()
				})}, nil
			}}}},
	}
}
