package shell

// Interprets reports whether a program, by its base name in any version, runs
// code in its arguments or its input.
func Interprets(program string) bool {
	_, found := interpreterOf(program)
	return found
}
