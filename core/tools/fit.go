package tools

// JSONBytes returns how many bytes the text of [JSON] of v has; 0 where v cannot be
// encoded.
func JSONBytes(v any) int {
	content, err := JSON(v)
	if err != nil {
		return 0
	}
	return len(content.String())
}
