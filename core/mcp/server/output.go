package server

import (
	"sync"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// promises reports whether a tool is declared with an output schema, which its
// results have to match.
func promises(spec tools.Spec, modern bool) bool {
	return len(spec.OutputSchema) > 0 && (modern || ofObjects(spec.OutputSchema))
}

// fulfil returns a result that matches the tool's output schema, or a failure:
// the result's own, or that of a mismatch. A result without structured content,
// for example because some was removed, is a failure too: the schema leaves no
// other way to inform the client. An invalid schema is not checked.
func (s *session) fulfil(res tools.Result, spec tools.Spec, modern bool) tools.Result {
	if res.Error != nil || !promises(spec, modern) {
		return res
	}
	given := structured(res)
	if given != nil {
		schema := s.srv.outputs.of(spec)
		if err := schema.Compile(); err != nil {
			s.srv.log.Debug("results are not checked", "tool", spec.Name, "error", err)
			return res
		}
		if schema.Fits(given) == nil { // the validator's error quotes the result, which must not be logged
			return res
		}
	}
	s.srv.log.Warn("a result does not fit the output schema of its tool", "tool", spec.Name, "missing", given == nil)
	return res.WithError(fault.New(fault.ExecutionFailed, "server.call",
		"The call has run, but its result does not fit the output schema of "+spec.Name+". Its readable content follows.",
		"Do not repeat a call that changes something; continue with the content, or tell the user."))
}

// maxOutputs is the maximum number of cached output schemas; it exceeds the
// number of tools of a server.
const maxOutputs = 1000

// outputs caches compiled output schemas, which are expensive to compile. The
// zero value is empty.
type outputs struct {
	mu   sync.Mutex
	made map[string]*tools.Schema // by their text
}

// of returns a tool's output schema. It may be invalid.
func (o *outputs) of(spec tools.Spec) *tools.Schema {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := string(spec.OutputSchema)
	if schema := o.made[text]; schema != nil {
		return schema
	}
	schema, err := tools.ParseOutputSchema(spec.Name, spec.OutputSchema)
	if err != nil {
		schema = &tools.Schema{} // an invalid one
	}
	if len(o.made) >= maxOutputs || o.made == nil {
		o.made = map[string]*tools.Schema{}
	}
	o.made[text] = schema
	return schema
}
