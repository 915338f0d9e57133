package tools

// Kinds lists every kind.
func Kinds() []Kind { return kinds() }
