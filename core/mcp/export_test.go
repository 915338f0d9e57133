package mcp

// LimitText sets the bytes of text that the model receives of one answer.
func (o *Options) LimitText(n int) { o.maxText = n }
