package settings

// For tests of the steps of an update.
var (
	ReplaceFile = replace
	ErrMoved    = errMoved
)
