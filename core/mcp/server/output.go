package server

import (
	"sync"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// promises reports whether a tool is declared with a schema of its results, which
// a result then has to fit.
func promises(spec tools.Spec, modern bool) bool {
	return len(spec.OutputSchema) > 0 && (modern || ofObjects(spec.OutputSchema))
}

// fulfil returns a result that is what its tool is declared with, or a failure:
// the one that it is, or that it is not so. What has nothing for programs any
// more, as one that something was taken out of, is a failure too: the schema
// leaves a client no other way to learn of it. A schema that cannot be used
// cannot be broken.
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
		if schema.Fits(given) == nil { // what it says else quotes the result, which is not for a log
			return res
		}
	}
	s.srv.log.Warn("a result is not as its tool promises", "tool", spec.Name, "missing", given == nil)
	return res.WithError(fault.New(fault.ExecutionFailed, "server.call",
		"The call has run, but its result is not as the output schema of "+spec.Name+" promises. What there is to read of it follows.",
		"Do not repeat a call that changes something; go on with what follows, or tell the user."))
}

// maxOutputs is how many schemas of results are kept; more than one server has.
const maxOutputs = 1000

// outputs are schemas of results that were used before, since one is dear to
// make. The zero value has none.
type outputs struct {
	mu   sync.Mutex
	made map[string]*tools.Schema // by their text
}

// of returns a tool's schema of results. It may not compile.
func (o *outputs) of(spec tools.Spec) *tools.Schema {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := string(spec.OutputSchema)
	if schema := o.made[text]; schema != nil {
		return schema
	}
	schema, err := tools.ParseOutputSchema(spec.Name, spec.OutputSchema)
	if err != nil {
		schema = &tools.Schema{} // which does not compile
	}
	if len(o.made) >= maxOutputs || o.made == nil {
		o.made = map[string]*tools.Schema{}
	}
	o.made[text] = schema
	return schema
}
