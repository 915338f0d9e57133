package server

import (
	"encoding/json"
	"sync"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// promised returns a tool's output schema, which its results have to match; nil if
// it is not declared with one.
func (s *session) promised(spec tools.Spec, modern bool) *tools.Schema {
	if len(spec.OutputSchema) == 0 {
		return nil
	}
	o := s.srv.outputs.of(spec)
	if !modern && !o.objects {
		return nil
	}
	return o.schema
}

// fulfil returns a result that matches the tool's output schema, or a failure:
// the result's own, or that of a mismatch. A result without structured content,
// for example because some was removed, is a failure too: the schema leaves no
// other way to inform the client. An invalid schema is not checked.
//
// It also returns the structured content; nil: none.
func (s *session) fulfil(res tools.Result, spec tools.Spec, modern bool) (tools.Result, json.RawMessage) {
	if res.Error != nil {
		return res, nil
	}
	schema := s.promised(spec, modern)
	if schema == nil {
		return res, nil
	}
	given := structured(res)
	if given != nil {
		if err := schema.Compile(); err != nil {
			s.srv.log.Debug("results are not checked", "tool", spec.Name, "error", err)
			return res, given
		}
		if schema.Fits(given) == nil { // the validator's error quotes the result, which must not be logged
			return res, given
		}
	}
	s.srv.log.Warn("a result does not fit the output schema of its tool", "tool", spec.Name, "missing", given == nil)
	return res.WithError(fault.New(fault.ExecutionFailed, "server.call",
		"The call has run, but its result does not fit the output schema of "+spec.Name+". Its readable content follows.",
		"Do not repeat a call that changes something; continue with the content, or tell the user.")), nil
}

// maxOutputs is the maximum number of cached output schemas; it exceeds the
// number of tools of a server.
const maxOutputs = 1000

// outputs caches compiled output schemas, which are expensive to compile. The
// zero value is empty.
type outputs struct {
	mu   sync.Mutex
	made map[string]*output // by their text
}

// output is an output schema.
type output struct {
	schema  *tools.Schema // may be invalid
	objects bool          // see ofObjects
}

// of returns a tool's output schema.
func (o *outputs) of(spec tools.Spec) *output {
	o.mu.Lock()
	defer o.mu.Unlock()
	if known := o.made[string(spec.OutputSchema)]; known != nil {
		return known
	}
	schema, err := tools.ParseOutputSchema(spec.Name, spec.OutputSchema)
	if err != nil {
		schema = &tools.Schema{} // an invalid one
	}
	if len(o.made) >= maxOutputs || o.made == nil {
		o.made = map[string]*output{}
	}
	made := &output{schema, ofObjects(spec.OutputSchema)}
	o.made[string(spec.OutputSchema)] = made
	return made
}
