package bus

// Types lists the types of all messages.
func Types() []Type {
	types := make([]Type, len(messages))
	for i, row := range messages {
		types[i] = row.name
	}
	return types
}
