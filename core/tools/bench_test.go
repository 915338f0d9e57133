package tools_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// noop is a bound tool with three parameters that does nothing.
func noop(b testing.TB) tools.DeclarativeTool {
	b.Helper()
	type params struct {
		FilePath string `json:"file_path" jsonschema_description:"A path."`
		Offset   int    `json:"offset,omitempty" jsonschema:"minimum=0" jsonschema_description:"First line."`
		Limit    int    `json:"limit,omitempty" jsonschema:"minimum=1" jsonschema_description:"Lines."`
	}
	f, err := tools.NewFactory(tools.Definition[struct{}, params]{
		Spec: tools.Spec{Name: "read_file", Description: "Reads nothing.", Kind: tools.KindRead},
		Build: func(_ struct{}, _ params, text json.RawMessage) (tools.ToolInvocation, error) {
			return fixed{params: text}, nil
		},
	})
	require.NoError(b, err)
	require.NoError(b, f.Compile())
	return f.Bind(struct{}{})
}

// The overhead of a call: look up, validate, decide, schedule. Budget: 30 µs and 150 allocations.
func BenchmarkCallOverhead(b *testing.B) {
	r := tools.NewRegistry(tools.RegistryOptions{})
	require.NoError(b, r.Register(noop(b)))
	s := scheduler.New(scheduler.Options{Tools: r, Mode: func() policy.ApprovalMode { return policy.ModeDefault }})
	for name, args := range map[string]string{
		"fitting":  `{"file_path":"internal/server/handler.go","offset":100,"limit":200}`,
		"repaired": `{"file_path":"internal/server/handler.go","offset":"100","limit":200}`,
	} {
		request := scheduler.Request{CallID: "c", Tool: "read_file", Args: json.RawMessage(args)}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if response := s.Run(b.Context(), request); response.Status != scheduler.StatusSuccess {
					b.Fatal(response.Result.Error)
				}
			}
		})
	}
}

// A test checks the number of allocations, because it does not depend on the machine.
func TestCallOverheadAllocations(t *testing.T) {
	r := tools.NewRegistry(tools.RegistryOptions{})
	require.NoError(t, r.Register(noop(t)))
	s := scheduler.New(scheduler.Options{Tools: r})
	request := scheduler.Request{Tool: "read_file", Args: json.RawMessage(`{"file_path":"a/b.go","offset":100,"limit":200}`)}
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { s.Run(t.Context(), request) }), 150.0)
}

const manyTools = 10_000

func fill(b *testing.B, r *tools.Registry) {
	b.Helper()
	shared := noop(b).Spec()
	for i := range manyTools {
		spec := shared
		spec.Name = fmt.Sprintf("tool_%d", i)
		spec.Aliases = []string{spec.Name + "_alias"}
		spec.Origin = tools.Origin{Group: tools.Group(i % 3), Server: fmt.Sprint(i % 7)}
		if err := r.Register(specOnly{spec}); err != nil {
			b.Fatal(err)
		}
	}
}

// Budget 10 ms for 10,000 tools.
func BenchmarkRegistryDeclarationsFirst(b *testing.B) {
	r := tools.NewRegistry(tools.RegistryOptions{})
	fill(b, r)
	extra := specOnly{tools.Spec{Name: "extra", Description: "X.", Kind: tools.KindRead, Schema: []byte(`{}`)}}
	for b.Loop() {
		if err := r.Register(extra); err != nil { // invalidates the cached listing
			b.Fatal(err)
		}
		if len(r.Declarations()) != manyTools+1 {
			b.Fatal("wrong number of declarations")
		}
		r.Unregister("extra")
	}
}

// Budget 50 µs for 10,000 tools.
func BenchmarkRegistryDeclarationsCached(b *testing.B) {
	r := tools.NewRegistry(tools.RegistryOptions{})
	fill(b, r)
	for b.Loop() {
		if len(r.Declarations()) != manyTools {
			b.Fatal("wrong number of declarations")
		}
	}
}

// Budget 100 ns among 10,000 tools.
func BenchmarkRegistryLookup(b *testing.B) {
	r := tools.NewRegistry(tools.RegistryOptions{})
	fill(b, r)
	for name, word := range map[string]string{"name": "tool_7777", "alias": "tool_7777_alias"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := r.Lookup(word); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRegistryRegister(b *testing.B) {
	for b.Loop() {
		fill(b, tools.NewRegistry(tools.RegistryOptions{}))
	}
}

// The cost of binding, which each session has for each tool.
func BenchmarkFactoryBind(b *testing.B) {
	f := greeterFactory(b)
	s := new(services)
	b.ReportAllocs()
	for b.Loop() {
		f.Bind(s)
	}
}

func BenchmarkSchemaOf(b *testing.B) {
	for b.Loop() {
		if _, err := tools.SchemaOf[sample]("sample"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSchemaCompile(b *testing.B) {
	for b.Loop() {
		s, err := tools.SchemaOf[sample]("sample")
		if err == nil {
			err = s.Compile()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
