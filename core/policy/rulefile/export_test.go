package rulefile

// For tests of what Append is made of.
var (
	Merge    = merge
	Replace  = replace
	Lock     = lock
	ErrMoved = errMoved
)
