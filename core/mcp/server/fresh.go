package server

import (
	"encoding/json"
	"errors"

	"github.com/fettle-dev/fettle/core/fault"
)

// fresh returns an empty result that states, in revision 2026-07-28, whether it
// is complete or requires input. The SDK has no setter for that field but decodes
// it from JSON.
func fresh[R any, P interface {
	*R
	json.Unmarshaler
}](modern, asks bool) P {
	p := P(new(R))
	mark := `{"resultType":"complete"}`
	if asks {
		mark = `{"resultType":"input_required"}`
	}
	if modern {
		_ = p.UnmarshalJSON([]byte(mark)) // it is valid
	}
	return p
}

// faultOf returns the fault in err, or nil.
func faultOf(err error) *fault.Error {
	var f *fault.Error
	errors.As(err, &f)
	return f
}
