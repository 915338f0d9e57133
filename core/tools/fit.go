package tools

// JSONBytes returns the length in bytes of the text of [JSON] of v, or 0 if v cannot be encoded.
func JSONBytes(v any) int {
	content, err := JSON(v)
	if err != nil {
		return 0
	}
	return len(content.String())
}
